"""Queries of other systems as trees of ours.

Where another system's words mean something else here, the words are exchanged; where that depends on what can't be
told, a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from headwater.convert.drafts import Conversion
from headwater.errors import HeadwaterError
from headwater.findings import SyntaxRefused
from headwater.model import SqlQuery
from headwater.plan.functions.foreign import foreign
from headwater.sql import parse_expression, parse_query, spell

_EXACT = frozenset(
    {
        "json_value", "json_exists", "extractjsonfield", "json_array_elements", "jsonb_array_elements",
        "jsonb_array_length", "list_agg", "strpos", "starts_with", "ends_with", "as_value", "count_distinct",
        "latest_by_offset", "earliest_by_offset", "arg_max", "arg_min", "timestamptostring", "stringtotimestamp", "iff",
        "array_length",
    }
)  # fmt: skip
"""Calls that are written in other words here, and give the same."""
_RENAMED = {
    "to_timestamp_ltz": "TIMESTAMP_MILLIS", "ucase": "UPPER", "lcase": "LOWER", "len": "LENGTH", "ifnull": "COALESCE",
    "collect_list": "COLLECT_LIST", "char_length": "LENGTH",
}  # fmt: skip
"""Functions that have another name here."""
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_CLOCKS = ("PROCTIME", "NOW", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")


def parse_foreign(text: str, dialect: str | None = None) -> exp.Query:
    """The tree of a query, read as ours, or by sqlglot's parser of a dialect."""
    if dialect is None:
        return parse_query(SqlQuery(text))
    try:
        tree = sqlglot.parse_one(text, dialect=dialect)
    except ParseError as problem:
        detail = problem.errors[0]["description"] if problem.errors else None
        raise SyntaxRefused("the query can't be parsed", detail=detail) from None
    if not isinstance(tree, exp.Query):
        raise SyntaxRefused("the query can't be parsed", detail="It is no SELECT.")
    _index_from_one(tree)
    return parse_query(SqlQuery(spell(tree)))


def adopt(tree: exp.Query, conversion: Conversion, *, counts_from_one: bool = False) -> tuple[exp.Query, list[str]]:
    """A query of another system in our words, with notes about what may be otherwise."""
    if counts_from_one:
        _count_from_one(tree)
    _exchange_calls(tree)
    _take_arrivals(tree, conversion)
    _leave_catalogs_out(tree)
    return parse_query(SqlQuery(spell(tree))), list(_doubts(tree, conversion))


def _index_from_one(tree: exp.Expr) -> None:
    """Read indexes of PostgreSQL, which begin with 1; of those that are numbers sqlglot has taken one away."""
    for bracket in list(tree.find_all(exp.Bracket)):
        (index,) = bracket.expressions[:1] or (None,)
        if isinstance(index, exp.Literal) and not index.is_string:
            bracket.replace(_element(bracket.this, exp.Literal.number(int(index.name) + 1)))
        elif index is not None and not isinstance(index, exp.Literal):
            bracket.replace(_element(bracket.this, index))


def _count_from_one(tree: exp.Expr) -> None:
    """Let an element be asked for by its number from 1; there is none behind the last, as in other systems."""
    for bracket in list(tree.find_all(exp.Bracket)):
        (index,) = bracket.expressions[:1] or (None,)
        if index is not None and not (isinstance(index, exp.Literal) and index.is_string):
            bracket.replace(_element(bracket.this, index))


def _element(array: exp.Expr, index: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="TRY_ELEMENT_AT", expressions=[array.copy(), index.copy()])


def _exchange_calls(tree: exp.Expr) -> None:
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # those within others first
        name = call.name.lower()
        if name == "to_timestamp_ltz" and [part.name for part in call.expressions[1:]] == ["0"]:
            call.replace(exp.Anonymous(this="TIMESTAMP_SECONDS", expressions=call.expressions[:1]))
        elif name == "to_timestamp_ltz":
            call.replace(exp.Anonymous(this="TIMESTAMP_MILLIS", expressions=call.expressions[:1]))
        elif name in _RENAMED:
            call.set("this", _RENAMED[name])
        elif name in _EXACT and name in foreign()["write"]:
            call.replace(_filled(foreign()["write"][name], call.expressions))


def _filled(template: str, arguments: list[exp.Expr]) -> exp.Expr:
    spelled = [spell(argument) for argument in arguments]
    filled = template.replace("{*}", ", ".join(spelled))
    for index, text in enumerate(spelled):
        filled = filled.replace(f"{{{index}}}", text)
    return parse_expression(filled)


def _take_arrivals(tree: exp.Expr, conversion: Conversion) -> None:
    """Let the time of processing be the arrival, which the log has written down."""
    names = {name.lower() for topic in conversion.topics() if not topic.computed for name in topic.arrivals}
    for column in list(tree.find_all(exp.Column)):
        if column.name.lower() in names:
            arrival = exp.column("_arrived_at", table=column.table or None)
            is_shown = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
            column.replace(exp.alias_(arrival, column.name) if is_shown else arrival)
    for window in tree.find_all(exp.Version):
        clock = window.expression
        if isinstance(clock, (exp.Anonymous, exp.CurrentTimestamp)) and (clock.name.upper() or "NOW") in _CLOCKS:
            select = window.find_ancestor(exp.Select)
            source = select.args["from_"].this.alias_or_name if select else ""
            clock.replace(exp.column("_arrived_at", table=source or None))


def _leave_catalogs_out(tree: exp.Expr) -> None:
    """A project is one catalog: `public.orders` is `orders`."""
    for table in tree.find_all(exp.Table):
        for part in ("db", "catalog"):
            table.set(part, None)


def name_all(tree: exp.Query) -> Iterator[str]:
    """Give columns of the result a name that have none, and tell; other systems have names of their own for them."""
    select = tree
    while isinstance(select, exp.SetOperation):
        select = select.left
    taken = {column.alias_or_name.lower() for column in select.selects}
    for number, column in enumerate(select.selects, 1):
        if column.alias_or_name or column.is_star or not isinstance(select, exp.Select):
            continue
        word = re.match(r"\w+(?=\()", spell(column))
        name = word[0].lower() if word else f"column_{number}"
        name = f"{name}_{number}" if name in taken else name
        taken.add(name)
        yield f"{spell(column)} is called {name}: it had no name."
        select.expressions[number - 1].replace(exp.alias_(column.copy(), name))


# What may be otherwise


def _doubts(tree: exp.Expr, conversion: Conversion) -> Iterator[str]:
    types: dict[str, set[str]] = {}
    for topic in conversion.topics():
        for column in topic.columns:
            types.setdefault(column.name.lower(), set()).add(column.type)
    if conversion.system == "spark":
        return
    for division in tree.find_all(exp.Div):
        if all(_may_be_whole(side, types) for side in (division.this, division.expression)):
            yield (
                f"{spell(division)} keeps its fraction here: where both are whole numbers, write "
                f"{spell(division.this)} DIV {spell(division.expression)} for a whole number."
            )
    for average in tree.find_all(exp.Avg):
        if conversion.system == "flink" and _may_be_whole(average.this, types):
            yield f"{spell(average)} keeps its fraction here: where it is of whole numbers, Flink's is a whole number."


def _may_be_whole(node: exp.Expr, types: dict[str, set[str]]) -> bool:
    """Tells whether a value may be a whole number, by what is known of columns."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return node.is_int
    if isinstance(node, exp.Column):
        known = types.get(node.name.lower())
        return known is None or any(kind in _WHOLE for kind in known)
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return node.to.this.name in _WHOLE
    if isinstance(node, (exp.Sum, exp.Max, exp.Min, exp.Neg, exp.Abs, exp.Coalesce)):
        return _may_be_whole(node.this, types)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _may_be_whole(node.this, types) and _may_be_whole(node.expression, types)
    return not isinstance(node, (exp.Avg, exp.Stddev, exp.Sqrt))


def spelled_reason(problem: HeadwaterError) -> str:
    """A refusal in one line, with what to write."""
    parts = [f"{problem.summary}.", problem.detail or "", problem.hint or ""]
    return " ".join(" ".join(part.split()) for part in parts if part)
