"""Calls as Spark will read them.

sqlglot turns many calls into nodes of its own (`date_add(d, 1)` is a `TsOrDsAdd`) and writes them back in its own
words. What counts is what Spark is given: a node is *spelled* in the dialect and read again by a reader that keeps
every call as the name and the arguments that stand there. Its *operands* (the expressions that it works on) are left
out of the text and stand in it as numbered columns, so that a spelling is short and can be kept for the next node of
the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from headwater.errors import HeadwaterError

OPERAND = "__operand_"
_SPECIAL_FORMS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY")
_WRITTEN_OUT = (exp.Literal, exp.Boolean, exp.Null, exp.PropertyEQ, exp.Kwarg, exp.TsOrDsToDate, exp.Star)


@dataclass(frozen=True)
class Reading:
    """The reading of a node by Spark: a tree of plain calls, and the operands that its numbered columns stand
    for.
    """

    origin: exp.Expr
    tree: exp.Expr
    operands: tuple[exp.Expr, ...]


def read(node: exp.Expr, dialect: type[Dialect]) -> Reading | None:
    """The node as Spark will read it; None where the dialect can't write it or nobody can read that."""
    operands: list[exp.Expr] = []
    try:
        text = _skeleton(node, operands, root=True).sql(dialect=dialect)
        return Reading(node, _parse(text, dialect), tuple(operands))
    except (SqlglotError, HeadwaterError, ValueError, AttributeError, TypeError):
        return None


@lru_cache(maxsize=4096)
def _parse(text: str, dialect: type[Dialect]) -> exp.Expr:
    return sqlglot.parse_one(text, dialect=plain(dialect))


@cache
def plain(dialect: type[Dialect]) -> type[Dialect]:
    """The dialect with a parser that gives no call a meaning of its own."""
    base: Any = dialect
    special = {name: parse for name, parse in base.Parser.FUNCTION_PARSERS.items() if name in _SPECIAL_FORMS}
    case = {name: parse for name, parse in base.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name == "CASE"}
    settings = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": special,
        "NO_PAREN_FUNCTION_PARSERS": case,
        "NO_PAREN_FUNCTIONS": {},
    }
    parser = type("PlainParser", (base.Parser,), settings)
    made: type[Dialect] = type(f"Plain{dialect.__name__}", (dialect,), {"Parser": parser})
    return made


def _skeleton(node: exp.Expr, operands: list[exp.Expr], root: bool = False) -> exp.Expr:
    if not root and _is_operand(node):
        operands.append(node)
        return exp.column(exp.to_identifier(f"{OPERAND}{len(operands) - 1}"))
    copy = type(node)()
    for key, value in node.args.items():
        if isinstance(value, list):
            copy.set(key, [_skeleton(part, operands) if isinstance(part, exp.Expr) else part for part in value])
        else:
            copy.set(key, _skeleton(value, operands) if isinstance(value, exp.Expr) else value)
    return copy


def _is_operand(node: exp.Expr) -> bool:
    if isinstance(node, exp.Identifier):
        # the parameter of a lambda is a bare identifier; other identifiers are names
        return isinstance(node.parent, (exp.Func, exp.Binary, exp.Unary, exp.Bracket)) and not isinstance(
            node.parent, (exp.PropertyEQ, exp.Dot)
        )
    if isinstance(node, _WRITTEN_OUT) or (isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal)):
        return False
    return isinstance(node, (exp.Condition, exp.Query, exp.Lambda))
