"""Calls: which functions of Spark an expression calls, whatever nodes sqlglot has made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from headwater import sql
from headwater.plan.functions import FunctionInfo, Kind, find
from headwater.plan.positions import own_nodes
from headwater.plan.typing.spelling import read

_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
"""The nodes that may stand around a call and belong to it: FILTER (…), IGNORE NULLS, WITHIN GROUP (…)."""


@dataclass(frozen=True)
class Call:
    """A call of a function that Spark has: the node that the author wrote, and its arguments."""

    node: exp.Expr
    info: FunctionInfo
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False

    @property
    def is_pure(self) -> bool:
        """Tells whether its value depends on its arguments alone."""
        return self.info.is_pure(len(self.arguments))


def impure_detail(call: Call) -> str:
    """Tells why an impure call can't stand in a view."""
    why = call.info.impurity.why if call.info.impurity else "it is impure"
    return f"{why[0].upper()}{why[1:]}. A replay would give other rows."


def calls_in(root: exp.Expr) -> Iterator[Call]:
    """Every call in an expression, those of its subqueries left out."""
    for node in own_nodes(root):
        if isinstance(node, exp.Func):
            yield from _calls(node)


def _calls(node: exp.Expr) -> Iterator[Call]:
    """The calls that Spark reads where a node stands: one, or more where sqlglot spells it with several."""
    if isinstance(node, exp.Anonymous):
        info = find(node.name)
        if info is not None:
            yield Call(node, info, tuple(node.expressions))
        return
    reading = read(node, sql.Headwater)
    for part in reading.tree.walk() if reading is not None else ():
        is_word = isinstance(part, exp.Column) and part is (reading.tree if reading else None)
        info = find(part.name) if isinstance(part, exp.Anonymous) or is_word else None
        if info is not None and reading is not None:
            distinct = any(isinstance(argument, exp.Distinct) for argument in part.args.get("expressions") or ())
            yield Call(node, info, reading.operands, distinct)


def call_of(node: exp.Expr) -> Call | None:
    """The call that a node is, what stands around the call left out."""
    inner = unwrapped(node)
    return next(_calls(inner), None) if isinstance(inner, exp.Func) else None


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The call inside FILTER, IGNORE NULLS and WITHIN GROUP."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def is_aggregate(node: exp.Expr) -> bool:
    """Tells whether a node is an aggregate call, with all that belongs to it, and not the function of an OVER."""
    outer, parent = node, node.parent
    while isinstance(parent, _WRAPPERS) and parent.this is outer:
        outer, parent = parent, parent.parent
    if isinstance(parent, exp.Window) and parent.this is outer:
        return False
    return _is(node, Kind.AGGREGATE)


def is_generator(node: exp.Expr) -> bool:
    """Tells whether a node is a call that gives several rows for one."""
    return _is(node, Kind.GENERATOR)


def _is(node: exp.Expr, kind: Kind) -> bool:
    call = call_of(node)
    return call is not None and call.info.kind is kind
