"""The output of `headwater plan`: what would become of each view, topic and outlet."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rich.markup import escape

from headwater.cli.output import console

if TYPE_CHECKING:
    from headwater.operate.change import Change, Estimate, Step, ViewStep

_COLOURS = {
    "new": "green", "gone": "red", "same rows": "dim", "additive": "cyan", "other rows": "yellow", "changed": "yellow",
}  # fmt: skip


def show_change(change: Change) -> None:
    """Show what would change, a line for each view, topic and outlet."""
    for step in change.views:
        _show_view(step)
    for what, steps in (("topic", change.topics), ("outlet", change.outlets)):
        for one in steps:
            _show_step(what, one)
    unchanged = f"{len(change.unchanged)} view{'' if len(change.unchanged) == 1 else 's'} unchanged"
    console.print(unchanged if change else f"nothing would change: {unchanged}", style="dim")


def _show_view(step: ViewStep) -> None:
    colour = _COLOURS[step.kind]
    why = f": {escape('; '.join(step.why))}" if step.why else ""
    _line(f"[bold]{step.view}[/]  [{colour}]{step.kind}[/]{why}")
    if told := _told(step):
        _line(f"    {told}")
    if step.gone:
        events = f"{_short(step.gone)} event{'' if step.gone == 1 else 's'}"
        _line(f"    [yellow]{events} of v{step.served} no longer in the log: v{step.version} will be held[/]")
    if step.downstream:
        readers = (f"{name} ({'rows change' if rows else 'no change'})" for name, rows in step.downstream.items())
        _line(f"    downstream: {', '.join(readers)}")


def _told(step: ViewStep) -> str:
    """The way from one version to the other, and what is read for it."""
    if step.way == "end":
        return ""
    if step.way == "restart":
        return f"v{step.version} goes on"
    versions = f"v{step.served} → v{step.version}" if step.served is not None else f"v{step.version}"
    done = "replay of" if step.way == "build" else "is there, and reads"
    return f"{versions}, {done} {_read(step.estimate)}"


def _read(estimate: Estimate) -> str:
    if not estimate.events:
        return "no events"
    about = f", about {_spelled(estimate.time)}" if estimate.time is not None else ", time not known yet"
    return f"{_short(estimate.events)} event{'' if estimate.events == 1 else 's'} ({_short(estimate.bytes)}B){about}"


def _short(number: int) -> str:
    """A number as people read it.

    >>> _short(812), _short(41_200_000)
    ('812', '41M')
    """
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def _spelled(time: timedelta) -> str:
    seconds = time.total_seconds()
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _show_step(what: str, step: Step) -> None:
    why = f": {escape('; '.join(step.why))}" if step.why else ""
    restart = " (needs a restart of `headwater run`)" if step.restart else ""
    _line(f"{what} [bold]{step.name}[/]  [{_COLOURS[step.kind]}]{step.kind}[/]{why}{restart}")


def _line(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)
