"""The page of a view: its rows as they change, its figures over time, what became of every event, how it runs."""

# ruff: noqa: S608  # names are those that the project declares, quoted
from __future__ import annotations

from typing import Any

import pyarrow as pa
from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.plan import PlannedView
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.frame import figure, page, shown, table
from headwater.serve.dashboard.history import History
from headwater.serve.selection import quoted
from headwater.serve.service import Service

ROWS = 200
WINDOWS = 120


def view_page(service: Service, history: History, name: str) -> None:
    """Build the page."""
    project = service.project
    with page(service, f"view {name}"):
        planned = project.plan().view(name)
        with ui.row().classes("gap-3"):
            labels = {found: figure(found) for found in ("state", "version", "behind", "fresh within", "watermark")}
        grid = _grid(planned)
        with ui.grid(columns=2).classes("w-full gap-4"):
            with ui.card().props("flat bordered").classes("w-full"):
                numbers = [column.name for column in planned.columns if _is_number(column.type)]
                choice = ui.select(numbers, value=numbers[0] if numbers else None, label="column").classes("min-w-40")
                drawn = ui.echart({}).classes("w-full h-64")
            ledger = ui.echart({}).classes("w-full h-64 self-end")
        _late(service, name)
        with ui.expansion("how it is executed, and why").classes("w-full"):
            ui.code(str(project.explain(name)), language="text").classes("w-full")

        async def refresh() -> None:
            status = (
                next((found for found in history.status.views if found.view == planned.name), None)
                if history.status
                else None
            )
            if status is None or status.version is None:
                return
            for found, text in _figures(status).items():
                labels[found].set_text(text)
            if status.ledger:
                _draw(ledger, charts.ledger(status.ledger))
            try:
                rows = await run_in_threadpool(_rows, service, planned)
                points = await run_in_threadpool(_points, service, planned, choice.value)
            except HeadwaterError:
                return
            grid.run_grid_method("setGridOption", "rowData", rows)
            if points is not None:
                _draw(drawn, charts.lines(f"{choice.value} by window", {choice.value: points}))

        ui.timer(1.0, refresh)


def _grid(planned: PlannedView) -> ui.aggrid:
    columns = [{"field": column.name, "headerName": column.name} for column in planned.columns]
    options = {
        "columnDefs": columns,
        "defaultColDef": {"enableCellChangeFlash": True, "sortable": True, "resizable": True, "flex": 1},
        "rowData": [],
        ":getRowId": "(row) => row.data.__key",
    }
    return ui.aggrid(options).classes("w-full h-96").mark("rows")


def _figures(status: Any) -> dict[str, str]:
    fresh = status.figures.freshness(0.5) if status.figures else None
    return {
        "state": status.state,
        "version": str(status.version),
        "behind": f"{status.lag} commits",
        "fresh within": f"{fresh:.2f} s" if fresh is not None else "·",
        "watermark": f"{status.watermark:%H:%M:%S}" if status.watermark else "·",
    }


def _rows(service: Service, planned: PlannedView) -> list[dict[str, Any]]:
    """The newest rows, each with a key of its own, so that the table knows which cells have changed."""
    order = f" ORDER BY {quoted(planned.time.name)} DESC" if planned.time else ""
    rows = _ask(service, planned, f"SELECT * FROM {quoted(planned.name)}{order} LIMIT {ROWS}")
    key = list(planned.key.columns)
    named = [str([row[name] for name in key]) if key else str(list(row.values())) for row in rows]
    return [row | {"__key": found} for row, found in zip(shown(rows), named, strict=True)]


def _points(service: Service, planned: PlannedView, column: str | None) -> Any:
    """The sums of a column at each time of the view, oldest first."""
    if planned.time is None or column is None or column == planned.time.name:
        return None
    time, number, view = quoted(planned.time.name), quoted(column), quoted(planned.name)
    rows = _ask(
        service,
        planned,
        f"SELECT {time}, sum({number}) AS total FROM {view} GROUP BY {time} ORDER BY {time} DESC LIMIT {WINDOWS}",
    )
    return [(row[planned.time.name], float(row["total"] or 0)) for row in reversed(rows)]


def _ask(service: Service, planned: PlannedView, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.project.query(sql, store=planned.view.store or "main").to_pylist()
    return found


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _late(service: Service, name: str) -> None:
    """The rows that came too late; Spark looks for them in the log when they are asked for."""
    with ui.expansion("rows that came too late").classes("w-full"):
        place = ui.column().classes("w-full")

        async def look() -> None:
            try:
                with service.queries.taken():
                    found = await run_in_threadpool(service.project.late, name)
            except HeadwaterError as error:
                ui.notify(error.summary, type="negative")
                return
            place.clear()
            with place:
                ui.label(f"{found.num_rows:,} rows")
                table(shown(found.slice(0, ROWS).to_pylist()), found.column_names)

        ui.button("look for them in the log", on_click=look).props("outline")


def _draw(chart: ui.echart, options: charts.Options) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()
