"""The page of a view: its rows as they change, its figures over time, what became of every event, how it runs."""

# ruff: noqa: S608  # names are those that the project declares, quoted
from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.model import SqlQuery
from headwater.operate.status import ViewStatus
from headwater.plan import PlannedView
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.frame import chart, draw, in_digits, page, panel, shown, strip, table
from headwater.serve.dashboard.history import Moment
from headwater.serve.dashboard.theme import health_of
from headwater.serve.dashboard.visit import Visit
from headwater.serve.selection import quoted
from headwater.serve.service import Service
from headwater.sql.render import render

ROWS, WINDOWS = 200, 120
FIGURES = ("events in", "rows out", "lag", "end to end", "batch", "state", "watermark", "late", "ledger")
FOLDS = ("sum", "avg", "max", "min")
_OF_TODAY = """(cell) => (cell.value ?? '').startsWith(new Date().toISOString().slice(0, 10))
  ? cell.value.slice(11) : cell.value"""
_TITLES = ("events in and rows out, per second", "end to end", "batch time", "state")


def view_page(visit: Visit, name: str) -> None:
    """Build the page."""
    service, history = visit.service, visit.history
    with page(visit, name, f"/dashboard/views/{name}"):
        planned = service.project.plan().view(name)
        pills = _heading(planned)
        labels = strip(*FIGURES)
        with ui.grid(columns="minmax(0, 3fr) minmax(0, 2fr)").classes("w-full gap-3"):
            with panel("rows, newest first; cells that change flash"):
                grid = _grid(planned)
            with ui.column().classes("gap-3 h-full no-wrap"):
                column = _column_panel(service, planned)
                with panel("ledger: every event has a fate"):
                    ledger = chart(62).mark("ledger")
        with ui.grid(columns="repeat(auto-fit, minmax(270px, 1fr))").classes("w-full gap-3"):
            drawn = [_titled(title) for title in _TITLES]
        _details(visit, planned)

        async def refresh() -> None:
            status = history.view(planned.name)
            if status is None or history.status is None:
                return
            pills(status)
            for found, (value, note) in figures_of(status, history.status.at).items():
                labels[found][0].set_text(value)
                labels[found][1].set_text(note)
            if status.ledger:
                draw(ledger, charts.ledger(status.ledger))
            for place, options in zip(drawn, charts_of(planned.name, history.moments()), strict=True):
                draw(place, options)
            if status.version is None:
                return
            try:
                rows = await run_in_threadpool(_rows, service, planned)
                await column()
            except HeadwaterError:  # the store is away: what is shown stays until it is back
                return
            grid.run_grid_method("setGridOption", "rowData", rows)

        ui.timer(1.0, refresh)


def _titled(title: str) -> ui.echart:
    with panel(title):
        return chart(120)


def _heading(planned: PlannedView) -> Any:
    """The name, what the view is, and how it is now; a function that tells the latter."""
    with ui.row().classes("items-center gap-2 w-full"):
        ui.label(planned.name).classes("text-lg font-medium")
        state = ui.label("starting").classes("pill new")
        execution, stores = planned.execution, ", ".join(planned.view.stores or ("main",))
        for text in (execution.kind, f"emits {planned.emit.value}", f"store {stores}"):
            ui.label(text).classes("pill")
        version = ui.label().classes("pill")
        note = ui.label(planned.view.comment or "").classes("dim cut").style("flex: 1")

    def tell(status: ViewStatus) -> None:
        state.set_text(status.state)
        state.classes(replace=f"pill {health_of(status.state)}")
        version.set_text(f"version {status.version}" if status.version else "no version yet")
        figures = status.figures
        trouble = (figures.note or (figures.error or {}).get("summary")) if figures else None
        note.set_text(trouble or planned.view.comment or "")
        note.classes(replace="cut text-negative" if trouble else "cut dim")

    return tell


def figures_of(view: ViewStatus, now: datetime) -> dict[str, tuple[str, str]]:
    """The golden figures of a view, each with what is said below it."""
    found, ledger = view.figures, view.ledger
    coming, going = found.rates(now) if found else (None, None)
    rows_in = ledger.rows_in if ledger else 0
    return {
        "events in": (f"{spelling.rate(coming)}/s", f"{spelling.count(rows_in)} in all"),
        "rows out": (f"{spelling.rate(going)}/s", f"{spelling.count(found.rows if found else None)} written"),
        "lag": (spelling.count(view.lag), "commits behind"),
        "end to end": _times(found.freshness if found else None),
        "batch": _times(found.batch_time if found else None),
        "state": (spelling.size(found.state_bytes if found else None), f"{found.batches if found else 0:,} batches"),
        "watermark": (f"−{spelling.ago(now, view.watermark)}", spelling.clock(view.watermark)),
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
        found = [(moment.at, moment.views[view].figures) for moment in moments if view in moment.views]
        return [(at, figures[figure]) for at, figures in found if figure in figures]

    return [
        charts.lines({"in": line("events_per_second"), "out": line("rows_per_second")}, legend=True),
        charts.lines({"p50": line("freshness_p50"), "p99": line("freshness_p99")}, "s", legend=True),
        charts.lines(
            {"p50": line("batch_p50"), "p99": line("batch_p99"), "store": line("writing_p50")}, "s", legend=True
        ),
        charts.lines({"state": line("state_bytes")}, "B"),
    ]


def _grid(planned: PlannedView) -> ui.aggrid:
    options = {
        "columnDefs": [_definition(column.name, column.type) for column in planned.columns],
        "defaultColDef": {
            "enableCellChangeFlash": True,
            "sortable": True,
            "resizable": True,
            "flex": 1,
            "minWidth": 90,
        },
        "rowData": [],
        "rowHeight": 28,
        "headerHeight": 30,
        "enableBrowserTooltips": True,
        "overlayNoRowsTemplate": "no rows yet",
        ":getRowId": "(row) => row.data.__key",
    }
    return ui.aggrid(options, theme="balham").classes("w-full").style("height: 330px").mark("rows")


def _definition(name: str, kind: pa.DataType) -> dict[str, Any]:
    """A column of the table: numbers to the right, with as many digits as their type has; today without its date."""
    found: dict[str, Any] = {"field": name, "headerName": name, "headerTooltip": name}
    if pa.types.is_timestamp(kind):
        return found | {":valueFormatter": _OF_TODAY, "tooltipField": name}
    if not _is_number(kind):
        return found | {"tooltipField": name}
    digits = kind.scale if pa.types.is_decimal(kind) else 0 if pa.types.is_integer(kind) else None
    return found | {"type": "rightAligned", ":valueFormatter": f"(cell) => ({in_digits(digits)})(cell.value)"}


def _column_panel(service: Service, planned: PlannedView) -> Any:
    """A number over the windows of the view; a function that draws it anew."""
    time = planned.time.name if planned.time else None
    numbers = [column.name for column in planned.columns if _is_number(column.type)]
    with panel(f"by {time}" if time else "over time") as head:
        with head, ui.row().classes("gap-2 no-wrap items-center"):
            fold = ui.select(list(FOLDS), value="sum").props("dense borderless options-dense")
            choice = ui.select(numbers, value=numbers[0] if numbers else None).props("dense borderless options-dense")
        drawn = chart(196)
        if time is None or not numbers:
            drawn.set_visibility(False)
            head.set_visibility(False)
            ui.label("The view has no numbers over time." if time else "The view has no time.").classes("dim py-8")

    async def refresh() -> None:
        if time is not None and choice.value is not None:
            points = await run_in_threadpool(_points, service, planned, choice.value, fold.value)
            draw(drawn, charts.windows(choice.value, points))

    return refresh


def _rows(service: Service, planned: PlannedView) -> list[dict[str, Any]]:
    """The newest rows, each with a key of its own, so that the table knows which cells have changed."""
    order = f" ORDER BY {quoted(planned.time.name)} DESC" if planned.time else ""
    rows = _ask(service, planned, f"SELECT * FROM {quoted(planned.name)}{order} LIMIT {ROWS}")
    key = list(planned.key.columns)
    named = [str([row[name] for name in key]) if key else str(list(row.values())) for row in rows]
    return [row | {"__key": found} for row, found in zip(shown(rows), named, strict=True)]


def _points(service: Service, planned: PlannedView, column: str, fold: str) -> charts.Points:
    """A column at each time of the view, oldest first, its rows folded into one number."""
    assert planned.time is not None and fold in FOLDS
    time, number, view = quoted(planned.time.name), quoted(column), quoted(planned.name)
    rows = _ask(
        service,
        planned,
        f"SELECT {time}, {fold}({number}) AS folded FROM {view} GROUP BY {time} ORDER BY {time} DESC LIMIT {WINDOWS}",
    )
    return [(row[planned.time.name], float(row["folded"] or 0)) for row in reversed(rows)]


def _ask(service: Service, planned: PlannedView, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.project.query(sql, store=(planned.view.stores or ("main",))[0]).to_pylist()
    return found


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _details(visit: Visit, planned: PlannedView) -> None:
    """What is looked at now and then: the declaration, the execution, versions, and rows that came too late."""
    with ui.column().classes("panel"):
        with ui.tabs().props("dense no-caps align=left") as tabs:
            names = {name: ui.tab(name) for name in ("definition", "how it runs", "versions", "late rows")}
        with ui.tab_panels(tabs, value=names["definition"]).classes("w-full").style("background: transparent"):
            with ui.tab_panel(names["definition"]).classes("px-0"):
                ui.code(_definition_of(planned), language=_language(planned)).classes("w-full")
            with ui.tab_panel(names["how it runs"]).classes("px-0"):
                ui.code(str(visit.service.project.explain(planned.name)), language="text").classes("w-full")
            with ui.tab_panel(names["versions"]).classes("px-0"):
                _versions(visit.service, planned.name)
            with ui.tab_panel(names["late rows"]).classes("px-0"):
                _late(visit.service, planned.name)


def _definition_of(planned: PlannedView) -> str:
    query = planned.view.query
    return render(planned.view) if isinstance(query, SqlQuery) else query.source.strip()


def _language(planned: PlannedView) -> Any:
    return "sql" if isinstance(planned.view.query, SqlQuery) else "python"


def _versions(service: Service, name: str) -> None:
    found = [
        {
            "version": version.target.version, "served": "yes" if version.promoted else "", "plan": version.fingerprint,
            "batch": version.position.batch if version.position else None,
            "read up to": ", ".join(f"{topic} {commit:,}" for topic, commit in version.position.commits)
            if version.position else "",
            "watermark": spelling.clock(version.position.watermark if version.position else None),
        }
        for version in service.project.explain(name).versions
    ]  # fmt: skip
    if not found:
        ui.label("There is no version yet.").classes("dim")
        return
    table(found, list(found[0]))


def _late(service: Service, name: str) -> None:
    """The rows that came too late; Spark looks for them in the log when they are asked for."""
    place = ui.column().classes("w-full")

    async def look() -> None:
        try:
            with service.queries.taken():
                found = await run_in_threadpool(service.project.late, name)
        except HeadwaterError as error:
            ui.notify(error.summary, type="negative")
            return
        rows = found.slice(max(0, found.num_rows - ROWS)).to_pylist()
        place.clear()
        with place:
            ui.label(f"{found.num_rows:,} rows came too late" + (f"; the last {ROWS}" if found.num_rows > ROWS else ""))
            late = [row | {"late_by": spelling.seconds(row["late_by"].total_seconds())} for row in rows]
            table(late, sorted(found.column_names, key=lambda column: column != "late_by"))

    ui.button("look for them in the log", on_click=look, icon="search").props("outline dense no-caps size=sm")
