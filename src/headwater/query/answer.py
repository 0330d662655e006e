"""Answers: a statement in the SQL of views, over the rows of views, wherever they are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from headwater.query.engine import Collected, Engine, Relation
from headwater.query.pushdown import direct, needed
from headwater.query.statement import Statement, annotate
from headwater.query.typed import Typed
from headwater.query.values import Opaque, answered, handed, handed_schema
from headwater.query.writer import Writer, shown_names
from headwater.store import Condition, Order, Selection


@dataclass(frozen=True)
class Readable:
    """A view that can be read: its columns, which selections its store knows, and the rows that one chooses."""

    schema: pa.Schema
    can: Callable[[Condition | Order], bool]
    read: Callable[[Selection], Iterator[pa.Table]]


Views = Mapping[str, Readable]
"""The views that a statement reads, by their names in lower case."""


def answer(statement: Statement, views: Views, engine: Engine, now: datetime, limit: int | None = None) -> pa.Table:
    """The answer to a statement, at most so many rows. `now` is what the statement calls so."""
    schemas = {view: readable.schema for view, readable in views.items()}
    typed = annotate(statement, schemas)
    names = shown_names(statement.tree, typed.columns_of[id(statement.tree)])
    can = next(iter(views.values())).can if views else _cannot
    selected = direct(statement, schemas, now, can)
    if selected is None:
        return _computed(statement, typed, views, engine, now, names, limit)
    selection, shown = selected
    (view,) = views.values()
    rows = select(view, selection, engine, limit)
    return pa.Table.from_arrays([rows[column] for column in shown], names=names)  # an answer's columns may all be NULL


def select(view: Readable, selection: Selection, engine: Engine, limit: int | None = None) -> pa.Table:
    """The rows that a selection chooses, by the view's store alone."""
    most = min((count for count in (selection.limit, limit) if count is not None), default=None)
    columns = [field for field in view.schema if selection.columns is None or field.name in selection.columns]
    collected = Collected(pa.schema(columns), engine.limits, most)
    for part in view.read(replace(selection, limit=most)) if most != 0 else ():
        if collected.add(part):
            break
    return collected.table()


def _cannot(_: Condition | Order) -> bool:
    return False


def _computed(
    statement: Statement, typed: Typed, views: Views, engine: Engine, now: datetime, names: list[str], limit: int | None
) -> pa.Table:
    """The answer that DuckDB computes over the rows that the statement needs."""
    opaque = Opaque()
    times = Counter(table.name.lower() for table in statement.tables())
    schemas = {view: readable.schema for view, readable in views.items()}
    relations = {view: f"relation_{number}" for number, view in enumerate(views)}
    handed_over = [
        _relation(relations[view], shown, needed(statement, view, schemas, now, shown.can), opaque, times[view] > 1)
        for view, shown in views.items()
    ]
    if len(views) > 1:  # a store's transaction isn't kept waiting while rows of another view are computed with
        handed_over = [replace(relation, again=True) for relation in handed_over]
    text = Writer(typed, relations, now).statement(statement)
    kinds = [kind for _, kind in typed.columns_of[id(statement.tree)]]
    return answered(engine.answer(text, handed_over, limit), names, kinds, opaque)


def _relation(name: str, view: Readable, selection: Selection, opaque: Opaque, again: bool) -> Relation:
    wanted = [field for field in view.schema if selection.columns is None or field.name in selection.columns]
    schema = handed_schema(pa.schema(wanted))

    def batches() -> Iterator[pa.RecordBatch]:
        for table in view.read(selection):
            yield from handed(table, schema, opaque)

    return Relation(name, schema, batches, again)
