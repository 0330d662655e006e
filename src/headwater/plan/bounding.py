"""What would bound a stage that keeps rows for ever: why nothing does yet, and the lines to write.

A window ends, and so does what is grouped, ranked or made unique within one. Where no window is meant, a view states
how long a row counts (`retention`) or how far back one can matter (`horizon`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.plan.endless import RANKS, STEPS
from headwater.plan.stages import Aggregate, Apply, Assign, Deduplicate, Over, OverCall, Role, Scan, Stage, TopN
from headwater.plan.state import order_time

_RETENTION = "state how long a row counts: WITH (retention = '30 days')"
_TRUNCATED = re.compile(
    r"\b(date_trunc|trunc|time_bucket|date_format|to_date|year|month|hour|day|minute|window|session_window|CAST)\(",
    re.IGNORECASE,
)
_UNIT = re.compile(r"'(?P<unit>second|minute|hour|day|week)'", re.IGNORECASE)


@dataclass(frozen=True)
class Remedy:
    """What a stage does for ever, why, and what to write."""

    what: str
    detail: str
    hint: str


def remedy_of(stage: Stage) -> Remedy | None:
    """What to say of a stage that keeps rows for ever; None of one that others speak of."""
    match stage:
        case Aggregate():
            return _of_groups(stage)
        case Deduplicate():
            hint = f"Add {_time(stage)} or a window to the columns, or {_RETENTION}."
            return Remedy("removes duplicates for ever", _NOTHING, hint)
        case TopN():
            kept = _RETENTION if stage.partition else _RETENTION.replace("')", "', key = 'id')")
            return Remedy("ranks rows for ever", _NOTHING, f"{_in_window(stage, _partition(stage))} Or {kept}.")
        case Over():
            return _of_rows_around(stage)
        case Apply():
            hint = "State how far back an input can matter with horizon = '…'; '0 seconds' if rows stand alone."
            return Remedy("runs a Python function for ever", _NOTHING, hint)
        case _:
            return None


_NOTHING = "Nothing in the query says when its state can be forgotten."


def _of_groups(stage: Aggregate) -> Remedy:
    keys = [named.expression.sql for named in stage.keys]
    columns = [named.expression.sql for named in stage.keys if named.expression.is_column]
    cut = next((key for key in keys if _TRUNCATED.search(key) and key not in columns), None)
    if any(isinstance(below, Assign) for below in stage.walk()):
        detail = "It reads windows and doesn't group by them."
        return Remedy("groups rows for ever", detail, "Add window_start, window_end to GROUP BY and to SELECT.")
    call = _tumble(stage, cut)
    grouped = ", ".join([*columns, "window_start", "window_end"])
    window = f"Write FROM {call} … GROUP BY {grouped}"
    if cut is not None:
        detail = f"{cut} is a value like any other: it doesn't say when a group is over. A window does."
        return Remedy("groups rows for ever", detail, f"{window}, and window_start in place of it.")
    return Remedy("groups rows for ever", _NOTHING, f"{window}, or {_RETENTION}.")


def _tumble(stage: Stage, cut: str | None = None) -> str:
    scan = next((found for found in stage.walk() if isinstance(found, Scan)), None)
    unit = _UNIT.search(cut) if cut else None
    size = f"INTERVAL '1' {unit['unit'].upper()}" if unit else "INTERVAL '1' HOUR"
    size = "INTERVAL '1' DAY" if cut and re.search(r"to_date|AS DATE|\bday\(", cut, re.IGNORECASE) else size
    return f"TUMBLE(TABLE {scan.relation if scan else '…'}, DESCRIPTOR({_time(stage)}), {size})"


def _time(stage: Stage) -> str:
    """The event time that a stage could be bounded by, as it is called where it is declared."""
    for below in stage.walk():
        times = below.with_role(Role.EVENT_TIME)
        if isinstance(below, Scan):
            return times[0].name if times else below.time or "at"
    return "at"


def _partition(stage: TopN) -> list[str]:
    return [key.sql for key in stage.partition if key.is_column]


def _in_window(stage: Stage, partition: list[str]) -> str:
    if any(isinstance(below, Assign) for below in stage.walk()):
        return f"Partition by the window: PARTITION BY {', '.join([*partition, 'window_end'])}."
    keys = ", ".join([*partition, "window_end"])
    return f"Write FROM {_tumble(stage)} and PARTITION BY {keys}."


def _of_rows_around(stage: Over) -> Remedy:
    call = stage.functions[0]
    partition = [key.sql for key in call.partition if key.is_column]
    by_time = order_time(call, stage.input) is not None
    within = " Or state how far back a row can matter: WITH (horizon = '1 hour')." if by_time else ""
    if call.function in RANKS:
        return Remedy("ranks rows for ever", _NOTHING, f"{_in_window(stage, partition)}{within}")
    if call.function in STEPS:
        if not by_time:
            within = f" Or order by {_time(stage)}, and state how far back a row can matter: WITH (horizon = '1 hour')."
        hint = within.removeprefix(" Or ")
        return Remedy(f'looks with "{call.function}" at rows of any age', _NOTHING, hint[0].upper() + hint[1:])
    return Remedy("looks at the rows around a row for ever", _NOTHING, f"{_frame(stage, call, partition)}{within}")


def _frame(stage: Over, call: OverCall, partition: list[str]) -> str:
    parted = f"PARTITION BY {', '.join(partition)} " if partition else ""
    order = f"ORDER BY {_time(stage)} RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"
    return f"Write a frame in time: {call.function}(…) OVER ({parted}{order})."
