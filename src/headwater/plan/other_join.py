"""Joins that other systems have and we don't: NATURAL and ASOF, refused with the join to write instead."""

from __future__ import annotations

from sqlglot import exp

from headwater.errors import NotSupportedYet, QueryRefused
from headwater.plan.context import Context
from headwater.plan.scope import Scope, Source
from headwater.plan.stages import Role, Scan


def refuse_other_join(context: Context, node: exp.Join, left: Scope, right: Scope) -> Scope:
    """Report a join of a kind that isn't there; what it would have given isn't known."""
    words = " ".join(word for word in (node.method, node.side, node.kind) if word).upper()
    if node.method.upper() == "ASOF":
        hint = _as_of(node, left, right)
        context.refuse(NotSupportedYet, f"uses {words} JOIN, which is written in another way", node, hint=hint)
    elif node.method.upper() == "NATURAL":
        shared = [name for name in left.names() if right.find(name)]
        hint = f"Write JOIN … USING ({', '.join(shared) or '…'}), or ON, with those columns that are meant."
        context.refuse(QueryRefused, f"uses {words} JOIN, whose columns change with the declarations", node, hint=hint)
    else:
        hint = "Write INNER, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI JOIN with ON or USING."
        context.refuse(QueryRefused, f"uses {words} JOIN, which has no meaning here", node, hint=hint)
    sources = (Source(source.name, (), {}, complete=False) for source in (*left.sources, *right.sources))
    return Scope(left.stage, tuple(sources), {})


def _as_of(node: exp.Join, left: Scope, right: Scope) -> str:
    name = right.sources[0].name
    scan = next((stage for stage in right.stage.walk() if isinstance(stage, Scan)), None)
    side = "LEFT JOIN" if "LEFT" in (node.side.upper(), node.kind.upper()) else "JOIN"
    relation = scan.relation if scan is not None else name
    alias = f" AS {name}" if name != relation else ""
    written = f"{side} {relation} FOR SYSTEM_TIME AS OF {_time(left)}{alias} ON …, without a comparison of times"
    if scan is not None and scan.kind == "table" and scan.watermarked:
        return f"Write {written}."
    return f"Declare {relation} with CREATE TABLE, PRIMARY KEY (…) and WATERMARK FOR …, and write {written}."


def _time(scope: Scope) -> str:
    times = scope.stage.with_role(Role.EVENT_TIME, Role.WINDOW_TIME, Role.WINDOW_END)
    return scope.spell(times[0].name) if times else "at"
