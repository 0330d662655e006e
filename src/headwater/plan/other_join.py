"""Joins that other systems have and we don't: NATURAL and ASOF, refused with the join to write instead."""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import NotSupportedYet, QueryRefused
from headwater.operators import Role
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import with_role
from headwater.plan.context import Context
from headwater.plan.scope import Scope, Source


def refuse_other_join(context: Context, node: exp.Join, left: Scope, right: Scope) -> Scope:
    """Report a join of a kind that isn't there; its columns aren't known."""
    words = " ".join(word for word in (node.method, node.side, node.kind) if word).upper()
    if node.method.upper() == "ASOF":
        context.refuse(
            NotSupportedYet,
            f"uses {words} JOIN, which is not supported yet",
            node,
            detail="It will come as JOIN … FOR SYSTEM_TIME AS OF.",
            hint=instead_of_as_of(left, right, "LEFT JOIN" if "LEFT" in words else "JOIN"),
        )
    elif node.method.upper() == "NATURAL":
        shared = [name for name in left.names() if right.find(name)]
        hint = f"Write JOIN … USING ({', '.join(shared) or '…'}), or ON, with those columns that are meant."
        context.refuse(QueryRefused, f"uses {words} JOIN, whose columns change with the declarations", node, hint=hint)
    else:
        hint = "Write INNER, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI JOIN with ON or USING."
        context.refuse(QueryRefused, f"uses {words} JOIN, which has no meaning here", node, hint=hint)
    sources = (Source(source.name, (), {}, complete=False) for source in (*left.sources, *right.sources))
    return Scope(left.stage, tuple(sources), {})


def instead_of_as_of(left: Scope, right: Scope, join: str = "JOIN") -> str:
    """The join to write until a table can be joined as of an instant: the newest change in a bound in time."""
    scan = next(scans_of(right.stage), None)
    name, time = right.sources[0].name, time_of(left)
    relation = scan.relation if scan is not None else name
    changed_at = f"{name}.{(scan.time if scan is not None else None) or 'changed_at'}"
    row = f"{time.rpartition('.')[0]}.id" if "." in time else "id"
    is_stream = scan is not None and scan.kind == "stream"
    declared = "" if is_stream else f"Declare the changes of {relation} with CREATE STREAM. "
    return (
        f"{declared}Write {join} {relation}{f' AS {name}' if name != relation else ''} ON … AND "
        f"{changed_at} BETWEEN {time} - INTERVAL '1' DAY AND {time}, and keep the newest: "
        f"QUALIFY ROW_NUMBER() OVER (PARTITION BY {row}, {time} ORDER BY {changed_at} DESC) = 1."
    )


def time_of(scope: Scope) -> str:
    """The event time of a side as its author would write it."""
    times = with_role(scope.stage, Role.EVENT_TIME, Role.WINDOW_TIME, Role.WINDOW_END)
    return scope.spell(times[0].name) if times else "at"
