"""The special forms of a query: windows, as-of, patterns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from headwater.model.pattern import Definition, Measure, Pattern, RowsPerMatch, Skip
from headwater.model.window import Calendar, Cumulate, Hop, Session, Tumble, Window
from headwater.sql.interval import calendar, interval
from headwater.sql.nodes import KnownVersion, WindowFunction
from headwater.sql.pattern import parse_step
from headwater.sql.spelling import spell

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
"""The columns that a window table function adds to its input; `window_time` is `window_end` less one millisecond."""


@dataclass(frozen=True)
class WindowCall:
    """A window table function in a FROM: the window, its event-time column, and what it reads.

    `input` is an `exp.Table` or an `exp.Subquery`; `node` is the `exp.Table` that stands in the FROM or JOIN, with the
    alias that the query gave it.
    """

    window: Window
    time: str
    input: exp.Expr
    node: exp.Table


def window_of(node: exp.Expr) -> WindowCall | None:
    """The window of a table in a FROM or JOIN (or of the function inside it); None if it is another table."""
    table = node.parent if isinstance(node, WindowFunction) else node
    if not isinstance(table, exp.Table) or not isinstance(table.this, WindowFunction):
        return None
    call = table.this
    return WindowCall(_window(call), call.args["time"].name, call.this, table)


def late_view(table: exp.Expr) -> exp.Expr | None:
    """The view whose late rows an item of FROM reads, as in `late(view)`; None if it reads something else."""
    call = table.this if isinstance(table, exp.Table) else None
    if not isinstance(call, exp.Anonymous) or call.name.lower() != "late" or len(call.expressions) != 1:
        return None
    (view,) = call.expressions
    return view if isinstance(view, exp.Column) and not view.table else None


def _window(call: WindowFunction) -> Window:
    lengths = [length for node in call.expressions if (length := interval(node)) is not None]
    zone, span = call.args.get("zone"), calendar(call.expressions[0])
    if span is not None and (zone is not None or span[1] == "month"):
        offset = interval(call.expressions[1]) if len(call.expressions) > 1 else None
        return Calendar(*span, zone.name if zone is not None else "UTC", offset or timedelta())
    match call.args["kind"]:
        case "TUMBLE":
            return Tumble(*lengths)
        case "HOP":
            return Hop(lengths[1], lengths[0], *lengths[2:])
        case "CUMULATE":
            return Cumulate(lengths[1], lengths[0], *lengths[2:])
        case _:
            return Session(lengths[0], tuple(key.name for key in call.args.get("partition_by") or ()))


def as_of(table: exp.Expr) -> exp.Expr | None:
    """The instant of `table FOR SYSTEM_TIME AS OF instant`; None for a table as it is now."""
    version = table.args.get("version")
    return version.args.get("expression") if isinstance(version, exp.Version) else None


def known_at(table: exp.Expr) -> exp.Expr | None:
    """The instant of `table AS KNOWN AT instant`; None for a table as it is known now."""
    version = table.args.get("version")
    return version.args["known_at"] if isinstance(version, KnownVersion) else None


def pattern_of(node: exp.Expr) -> Pattern | None:
    """The pattern of a MATCH_RECOGNIZE, by its node or the SELECT that has it; None if there is none."""
    match = node if isinstance(node, exp.MatchRecognize) else node.args.get("match")
    if not isinstance(match, exp.MatchRecognize):
        return None
    order = match.args.get("order")
    rows, after = match.args.get("rows"), match.args.get("after")
    return Pattern(
        step=parse_step(match.args["pattern"].name),
        partition_by=tuple(spell(part) for part in match.args.get("partition_by") or ()),
        order_by=tuple(spell(part) for part in order.expressions) if order else (),
        measures=tuple(_measure(measure) for measure in match.args.get("measures") or ()),
        rows=RowsPerMatch(rows.name) if rows else RowsPerMatch.ONE,
        skip=_skip(after.name) if after else Skip(),
        within=interval(match.args.get("within")),
        define=tuple(Definition(part.alias, spell(part.this)) for part in match.args.get("define") or ()),
        subsets={
            part.this.name: tuple(member.name for member in part.expression.expressions)
            for part in match.args.get("subset") or ()
        },
    )


def _measure(measure: exp.Expr) -> Measure:
    frame = measure.args.get("window_frame")
    return Measure(measure.this.alias, spell(measure.this.this), {"FINAL": True, "RUNNING": False}.get(frame or ""))


def _skip(text: str) -> Skip:
    words = text.removeprefix("AFTER MATCH SKIP ").split(" ", 2)
    if words[0] == "PAST":
        return Skip("past last row")
    if words[1] == "NEXT":
        return Skip("next row")
    return Skip("first" if words[1] == "FIRST" else "last", words[2])
