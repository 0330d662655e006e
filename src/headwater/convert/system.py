"""The readers of all systems share this: how a statement is refused, and how queries become views."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.convert.drafts import Conversion, Outlet, Remark, Topic, View
from headwater.convert.options import Lost, form
from headwater.convert.queries import adopt, parse_foreign
from headwater.convert.statement import Statement
from headwater.convert.words import Reader
from headwater.findings import SyntaxRefused
from headwater.sql.foreign import KINDS, VERBS
from headwater.sql.interval import interval
from headwater.sql.nodes import WindowFunction

_EMITS: Mapping[tuple[str, ...], str | None] = {
    ("EMIT", "CHANGES"): None,
    ("EMIT", "FINAL"): "final",
    ("EMIT", "ON", "WINDOW", "CLOSE"): "final",
}
_FUNCTION = "Write CREATE FUNCTION … RETURN with an expression of SQL, or a function in Python, with @hw.function."


@dataclass(frozen=True)
class System:
    """A system whose declarations are read: how its words are told apart, and what a statement of it becomes."""

    name: str
    dialect: Callable[[], Dialect]
    read: Callable[[Statement, Reader, Conversion], None]


def refuse(statement: Statement, conversion: Conversion) -> None:
    """Keep a statement that has no counterpart as a comment that says what to write."""
    words = [word.upper for word in statement.words]
    kind = next(
        (word for word in words[1:4] if word not in ("OR", "REPLACE", "TEMPORARY", "SYSTEM", "SOURCE", "SINK")), ""
    )
    if words[0] == "CREATE":
        hint = _FUNCTION if kind == "FUNCTION" else KINDS.get(kind, "There is no such declaration here.")
    else:
        hint = VERBS.get(words[0], "There is no such statement here.")
    conversion.drafts.append(Remark(statement.text, None, [hint]))


def skip_exists(words: Reader) -> None:
    """Pass by IF NOT EXISTS."""
    words.take("IF", "NOT", "EXISTS")


def take_emit(words: Reader) -> str | None:
    """Take EMIT … from the end of a query: `final` if its rows are written once."""
    for emit, meaning in _EMITS.items():
        at = words.find(*emit)
        if at is not None and at + len(emit) == len(words.words):
            words.cut(at, at + len(emit))
            return meaning
    return None


def read_view(
    statement: Statement,
    words: Reader,
    conversion: Conversion,
    name: str,
    *,
    dialect: str | None = None,
    materialized: bool = True,
    counts_from_one: bool = True,
) -> View:
    """The view of the query that is left in a statement."""
    emit = take_emit(words)
    tree, notes = adopt(
        parse_foreign(words.written(), dialect), conversion, counts_from_one=counts_from_one and dialect is None
    )
    return View(name, statement.comment, notes, tree, materialized, emit)


def name_columns(query: exp.Query, names: Sequence[str], notes: list[str]) -> None:
    """Give the columns of a query these names, in order, as INSERT and the list of a view do."""
    select: exp.Expr = query
    while isinstance(select, exp.SetOperation):
        select = select.left
    select = select.unnest() if isinstance(select, exp.Subquery) else select
    shown = select.expressions
    if any(isinstance(column, exp.Star) or (isinstance(column, exp.Column) and column.is_star) for column in shown):
        notes.append(
            f"The columns of * are those that are called {', '.join(names)}: name them if they are not in this order."
        )
        return
    if len(shown) != len(names):
        raise SyntaxRefused(f"the query has {len(shown)} columns for the {len(names)} of what it is written to")
    renamed = [
        column if column.alias_or_name.lower() == name.lower() else exp.alias_(column.unalias(), name)
        for column, name in zip(shown, names, strict=True)
    ]
    select.set("expressions", renamed)


def is_windowed(query: exp.Query) -> bool:
    """Tells whether a query groups by the windows of a window table function."""
    return any(query.find_all(WindowFunction)) and query.args.get("group") is not None


def outlet_of(topic: Topic | View, given: Mapping[str, str], view: str, rename: str | None = None) -> Outlet | None:
    """The outlet that sends a view to what a sink's options say; a note if nothing of ours does that."""
    connector = given.get("connector", "")
    target = given.get("topic") or given.get("kafka_topic")
    if connector.lower() in ("kafka", "upsert-kafka", "redpanda") and target:
        outlet = Outlet(rename or f"{topic.name}_out", view=view, to=f"kafka://{target}")
        brokers = given.get("properties.bootstrap.servers") or given.get("properties.bootstrap.server")
        envelope = "upsert" if connector.lower() == "upsert-kafka" else "row"
        try:
            shape = form(given.get("format") or given.get("value.format") or given.get("value_format") or "json")
        except Lost as lost:
            outlet.notes.append(str(lost))
            shape = {}
        outlet.options = {"envelope": envelope, **shape} | ({"brokers": brokers} if brokers else {})
        if outlet.options.get("format") == "json":
            del outlet.options["format"]
        return outlet
    if connector.lower() in ("print", "blackhole", "console", "noop"):
        topic.notes.append(f"It was written to '{connector}'; its changes show with `headwater watch {topic.name}`.")
    elif connector.lower() in ("filesystem", "file", "s3", "delta", "iceberg", "parquet"):
        path = re.sub(r"^file:(//)?", "", given.get("path", given.get("warehouse.path", "…")))
        topic.notes.append(
            f"Files are written as a table of Delta Lake here: CREATE OUTLET {topic.name}_out FROM {view} TO "
            f"'delta://{path}'."
        )
    elif connector:
        topic.notes.append(
            f"'{connector}' is nothing that outlets write to: serve it from a store, store = '…' with "
            f"[stores.…] in headwater.toml."
        )
    return None


def length_of(text: str) -> str:
    """A duration as options write it, from an interval in SQL: `INTERVAL '5' MINUTE`, or `5 MINUTES`."""
    from headwater.model import parse_duration, spell_duration
    from headwater.sql import parse_expression

    if not text.upper().startswith("INTERVAL"):
        try:
            return spell_duration(parse_duration(text.lower()))
        except ValueError as problem:
            raise SyntaxRefused("a duration can't be read", detail=f"{problem}.".capitalize()) from None
    known = interval(parse_expression(text))
    if known is None:
        raise SyntaxRefused(f"{text} is no interval of fixed length")
    return spell_duration(known)
