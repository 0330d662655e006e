"""Tables in queries: their rows as a statement asks for them, folded from the changelog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import pyarrow as pa
from sqlglot import exp

from headwater.log.table import NOW, TableLog, Version
from headwater.model import INSTANT
from headwater.query import Readable
from headwater.query.constant import values_of
from headwater.query.refusal import refused
from headwater.query.statement import Past
from headwater.store import Condition, Order, Selection
from headwater.store.selection import can_choose, chosen


def readable_table(table: TableLog, past: Past | None, now: datetime, commit: int) -> Readable:
    """A table at a commit as a statement reads it, or as of an instant; `now` is what the statement calls so."""
    return readable_version(table, version_of(past, now) if past else NOW, commit)


def readable_version(table: TableLog, version: Version, commit: int) -> Readable:
    """A table at a commit, or as it was before that."""
    return Readable(table.schema, partial(_can, table.schema), partial(_rows, table, version, commit))


def readable_rows(rows: pa.Table) -> Readable:
    """Rows that are at hand."""

    def read(selection: Selection) -> Iterator[pa.Table]:
        shown = tuple(name for name in rows.schema.names if selection.columns is None or name in selection.columns)
        kept = chosen(rows, Selection(shown, selection.conditions))
        yield kept.slice(selection.offset, selection.limit)

    return Readable(rows.schema, partial(_can, rows.schema), read)


def _rows(table: TableLog, version: Version, commit: int, selection: Selection) -> Iterator[pa.Table]:
    """The rows that the conditions of a selection choose."""
    conditions = selection.conditions
    named = {condition.column for condition in conditions}
    shown = [name for name in table.schema.names if selection.columns is None or name in selection.columns]
    reads = [name for name in table.schema.names if name in named or name in shown]
    of_keys = tuple(condition for condition in conditions if condition.column in table.table.primary_key)
    keep = _choosing(of_keys) if of_keys else None
    rows = table.rows(version, reads, keep, commit)
    yield chosen(rows, Selection(tuple(shown), conditions)).slice(selection.offset, selection.limit)


def _choosing(conditions: tuple[Condition, ...]) -> Callable[[pa.Table], pa.Table]:
    """A filter that leaves out changes of keys that are not asked for."""
    return lambda changes: chosen(changes, Selection(None, conditions))


def _can(schema: pa.Schema, part: Condition | Order) -> bool:
    return can_choose(schema.field(part.column).type, part)


def version_of(past: Past, now: datetime) -> Version:
    """The instants that a statement asks for something as of; `now` is what it calls so."""
    return Version(
        _instant(past.table, "FOR SYSTEM_TIME AS OF", past.as_of, now),
        _instant(past.table, "AS KNOWN AT", past.known_at, now),
    )


def _instant(table: str, words: str, written: exp.Expr | None, now: datetime) -> datetime | None:
    if written is None:
        return None
    values = values_of([written.unnest()], INSTANT, now)
    if values is None:
        raise refused(
            f'Table "{table}" is asked for {words} something that is no instant.',
            f"Write {words} TIMESTAMP '2026-01-31 10:00:00', or now() - INTERVAL '1' HOUR.",
        )
    return values[0].as_py()  # type: ignore[no-any-return]
