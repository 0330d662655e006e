"""Joins as other systems have them: NATURAL and ASOF, refused with the join to write instead.

`ASOF JOIN t ON x.k = t.k AND x.at >= t.changed_at` is read as the join with a table as of `x.at`, if `changed_at` is
the event time of the table: the newest row that isn't later than the instant.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.operators import Role
from headwater.operators.scan.stage import is_table, scans_of
from headwater.operators.stage import with_role
from headwater.plan.context import Context
from headwater.plan.scope import Scope, Source


def asked_as_of(node: exp.Join, conditions: list[exp.Expr], right: Scope) -> tuple[list[exp.Expr], exp.Expr] | None:
    """The conditions of an ASOF join without the one about time, and the instant that it asks for; None if it asks
    for something else than the newest row of a table.
    """
    if node.method.upper() != "ASOF" or not is_table(right.stage) or node.side.upper() not in ("", "LEFT"):
        return None
    for condition in conditions:
        if not isinstance(condition, exp.GTE | exp.LTE):
            continue
        late, early = condition.this, condition.expression
        if isinstance(condition, exp.LTE):
            late, early = early, late
        if _is_time(early, right) and not _is_time(late, right):
            return [other for other in conditions if other is not condition], late
    return None


def _is_time(node: exp.Expr, scope: Scope) -> bool:
    fields = scope.find(node.name, node.table or None) if isinstance(node, exp.Column) else []
    return any(field.role is Role.EVENT_TIME for field in fields)


def refuse_other_join(context: Context, node: exp.Join, left: Scope, right: Scope) -> Scope:
    """Report a join of a kind that isn't there; its columns aren't known."""
    words = " ".join(word for word in (node.method, node.side, node.kind) if word).upper()
    if node.method.upper() == "ASOF":
        context.refuse(
            QueryRefused,
            f"uses {words} JOIN, which is written with FOR SYSTEM_TIME AS OF here",
            node,
            detail="It asks a table for its row at the time of the other side.",
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
    """The join to write: of a table as of the time of a row, of other rows the newest within a bound in time."""
    scan, name, time = next(scans_of(right.stage), None), right.sources[0].name, time_of(left)
    relation = scan.relation if scan is not None else name
    alias = f" AS {name}" if name != relation else ""
    if scan is not None and scan.kind == "table":
        joined = f"{join} {relation} FOR SYSTEM_TIME AS OF {time}{alias} ON …"
        if scan.watermarked:
            return f"Write {joined}."
        return (
            f"Declare when its rows changed, with WATERMARK FOR {scan.time or 'changed_at'} AS …, and write {joined}; "
            f"or write FOR SYSTEM_TIME AS OF {arrival_of(left)}, for what was known when a row arrived."
        )
    if scan is not None and scan.kind == "view" and scan.time is None:
        return (
            f"Write {join} {relation}{alias} ON …, for its rows as they are; "
            "if it holds every row for ever, so does this view: WITH (retention = 'forever')."
        )
    at = f"{name}.{(scan.time if scan is not None else None) or 'at'}"
    row = f"{time.rpartition('.')[0]}.id" if "." in time else "id"
    return (
        f"Write {join} {relation}{alias} ON … AND {at} BETWEEN {time} - INTERVAL '1' DAY AND {time}, "
        f"and keep the newest: QUALIFY ROW_NUMBER() OVER (PARTITION BY {row}, {time} ORDER BY {at} DESC) = 1."
    )


def time_of(scope: Scope) -> str:
    """The event time of a side as its author would write it."""
    times = with_role(scope.stage, Role.EVENT_TIME, Role.WINDOW_TIME, Role.WINDOW_END)
    return scope.spell(times[0].name) if times else "at"


def arrival_of(scope: Scope) -> str:
    """The arrival of the rows of a side as its author would write it."""
    sources = (source.name for source in scope.sources if source.name and "_arrived_at" in source.columns)
    name = next(sources, None)
    return f"{name}._arrived_at" if name else "_arrived_at"
