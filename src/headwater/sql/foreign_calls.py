"""Calls that read a clock where it is in the log: Flink's `CURRENT_WATERMARK(at)`, and `PROCTIME()` of a lookup join.

`JOIN t FOR SYSTEM_TIME AS OF PROCTIME()` asks a table as it is when a row is processed; here that is when the row
arrived, which the log has written down. `CURRENT_WATERMARK(at)` is the watermark that the row was stamped with.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.translation import note


def translate(query: exp.Select) -> None:
    """Put the columns of the log in place of the calls of a query."""
    for join in query.args.get("joins") or ():
        _of_arrival(query, join)
    for call in list(query.find_all(exp.Anonymous)):
        if call.name.upper() == "CURRENT_WATERMARK" and call.parent_select is query and len(call.expressions) == 1:
            (time,) = call.expressions
            if isinstance(time, exp.Column):
                call.replace(_column("_watermark", time.text("table"), call))
                detail = (
                    "It is read as the watermark that the log has stamped the row with; a view leaves late rows out by "
                    "itself."
                )
                note(query, "CURRENT_WATERMARK, as Flink has it", detail, call)


def _of_arrival(query: exp.Select, join: exp.Join) -> None:
    """Let a join that asks for a table as of the time of processing ask as of the arrival of the row."""
    version, source = join.this.args.get("version"), query.args.get("from_")
    instant = version.args.get("expression") if isinstance(version, exp.Version) else None
    instant = instant.unnest() if instant is not None else None
    name = source.this.alias_or_name if source is not None else ""
    if not isinstance(instant, exp.Anonymous) or instant.name.upper() != "PROCTIME" or not name:
        return
    version.set("expression", _column("_arrived_at", name, instant))
    detail = "It is read as the time at which the row arrived, which a replay finds in the log."
    note(query, "PROCTIME() in a join with a table", detail, instant)


def _column(name: str, table: str, at: exp.Expr) -> exp.Column:
    column = exp.column(name, table=table or None)
    for node in column.walk():
        node.meta.update({key: value for key, value in at.meta.items() if key in ("start", "end", "line", "col")})
    return column
