"""The page of a view: its rows as they change, its figures over time, what became of every event, how it runs."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.operate.status import ViewStatus
from headwater.plan import PlannedView
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.action import view_actions
from headwater.serve.dashboard.details import details
from headwater.serve.dashboard.frame import chart, draw, fill, page, panel, strip
from headwater.serve.dashboard.history import Moment
from headwater.serve.dashboard.rest import Rest
from headwater.serve.dashboard.rows import ColumnPanel, RowsPanel
from headwater.serve.dashboard.theme import health_of
from headwater.serve.dashboard.visit import Visit

FIGURES = ("events in", "rows out", "lag", "end to end", "batch", "state", "watermark", "late", "ledger")
_TITLES = ("events in and rows out, per second", "end to end", "batch time", "state")


def view_page(visit: Visit, name: str) -> None:
    """Build the page."""
    with page(visit, name, f"/dashboard/views/{name}"):
        planned = visit.service.project.plan().view(name)
        heading, labels = _Heading(visit, planned), strip(*FIGURES)
        with ui.grid(columns="minmax(0, 3fr) minmax(0, 2fr)").classes("w-full gap-3"):
            rows = RowsPanel(visit, planned)
            with ui.column().classes("gap-3 h-full no-wrap"):
                column = ColumnPanel(visit.service, planned)
                with panel("ledger: every event has a fate"):
                    ledger = chart(62).mark("ledger")
        with ui.grid(columns="repeat(auto-fit, minmax(270px, 1fr))").classes("w-full gap-3"):
            drawn = [_titled(title) for title in _TITLES]
        details(visit, planned)
        rest = Rest()

        async def refresh() -> None:
            status, whole = visit.history.view(planned.name), visit.history.status
            if status is None or whole is None:
                return
            heading.tell(status)
            fill(labels, figures_of(status, whole.at))
            if status.ledger:
                draw(ledger, charts.ledger(status.ledger))
            for echart, options in zip(drawn, charts_of(planned.name, visit.history.moments()), strict=True):
                draw(echart, options)
            if status.version is not None and rest.is_over:
                with rest.after(), suppress(HeadwaterError):  # the store is away: what is shown stays until it is back
                    await rows.refresh()
                    await column.refresh()

        ui.timer(1.0, refresh)


def _titled(title: str) -> ui.echart:
    with panel(title):
        return chart(120)


class _Heading:
    """The name of a view, what it is, how it is now, and what an operator can do about it."""

    def __init__(self, visit: Visit, planned: PlannedView) -> None:
        with ui.row().classes("items-center gap-2 w-full"):
            ui.label(planned.name).classes("text-lg font-medium")
            self._state = ui.label("starting").classes("pill new")
            stores = ", ".join(planned.view.stores or ("main",))
            for text in (planned.execution.kind, f"emits {planned.emit.value}", f"store {stores}"):
                ui.label(text).classes("pill")
            self._version = ui.label().classes("pill")
            ui.label(planned.view.comment or "").classes("dim cut").style("flex: 1")
            self._show_actions = view_actions(visit, planned.name)
        self._trouble = ui.label().classes("panel whitespace-pre-wrap").style("color: var(--bad)").mark("trouble")
        self._trouble.set_visibility(False)

    def tell(self, status: ViewStatus) -> None:
        """Tell how the view is."""
        self._show_actions(status)
        self._state.set_text(status.state)
        self._state.classes(replace=f"pill {health_of(status.state)}")
        self._version.set_text(f"version {status.version}" if status.version else "no version yet")
        trouble = trouble_of(status)
        self._trouble.set_text(trouble or "")
        self._trouble.set_visibility(trouble is not None)


def trouble_of(view: ViewStatus) -> str | None:
    """Why a view doesn't follow, in words; None if it does."""
    if view.unsound is not None:
        return str(view.unsound.error(view.view))
    if view.paused is not None:
        return str(view.paused)
    if view.figures is None or view.figures.state not in ("waiting", "stopped"):
        return None
    error = view.figures.error or {}
    told = [view.figures.note, *(error.get(part) for part in ("summary", "detail", "hint"))]
    return "\n".join(part for part in told if part) or None


def figures_of(view: ViewStatus, now: datetime) -> dict[str, tuple[str, str]]:
    """The golden figures of a view, each with what is said below it."""
    figures, ledger = view.figures, view.ledger
    coming, going = figures.rates(now) if figures else (None, None)
    rows_in = ledger.rows_in if ledger else 0
    return {
        "events in": (spelling.per_second(coming), f"{spelling.count(rows_in)} in all"),
        "rows out": (spelling.per_second(going), f"{spelling.count(figures.rows if figures else None)} written"),
        "lag": (spelling.count(view.lag), "commits behind"),
        "end to end": _times(figures.freshness if figures else None),
        "batch": _times(figures.batch_time if figures else None),
        "state": (
            spelling.size(figures.state_bytes if figures else None),
            f"{figures.batches if figures else 0:,} batches",
        ),
        "watermark": (spelling.behind(now, view.watermark), spelling.clock(view.watermark)),
        "late": (
            spelling.count(ledger.late if ledger else None),
            spelling.share(ledger.late if ledger else 0, rows_in),
        ),
        "ledger": (f"{ledger.remainder if ledger else 0:,}", "remainder"),
    }


def _times(quantile: Any) -> tuple[str, str]:
    if quantile is None:
        return spelling.NONE, " "
    return spelling.seconds(quantile(0.5)), f"p99 {spelling.seconds(quantile(0.99))}"


def charts_of(view: str, moments: list[Moment]) -> list[charts.Options]:
    """The figures of a view over time."""

    def line(figure: str) -> list[tuple[datetime, float]]:
        by_instant = [(moment.at, moment.views[view].figures) for moment in moments if view in moment.views]
        return [(at, figures[figure]) for at, figures in by_instant if figure in figures]

    return [
        charts.lines({"in": line("events_per_second"), "out": line("rows_per_second")}, legend=True),
        charts.lines({"p50": line("freshness_p50"), "p99": line("freshness_p99")}, "s", legend=True),
        charts.lines(
            {"p50": line("batch_p50"), "p99": line("batch_p99"), "store": line("writing_p50")}, "s", legend=True
        ),
        charts.lines({"state": line("state_bytes")}, "B"),
    ]
