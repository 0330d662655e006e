"""The rows of a view as a page shows them: the newest as they change, and any number over the view's windows."""

# ruff: noqa: S608  # names are those that the project declares, quoted
from __future__ import annotations

from typing import Any

import pyarrow as pa
from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.plan import PlannedView
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.frame import chart, draw, in_digits, panel, shown
from headwater.serve.dashboard.visit import Visit
from headwater.serve.dashboard.why import WhyDialog
from headwater.serve.selection import quoted
from headwater.serve.service import Service

ROWS, WINDOWS = 200, 120
FOLDS = ("sum", "avg", "max", "min")
_OF_TODAY = """(cell) => (cell.value ?? '').startsWith(new Date().toISOString().slice(0, 10))
  ? cell.value.slice(11) : cell.value"""
_CHOICE = "dense borderless options-dense"


class RowsPanel:
    """The newest rows of a view; cells that change flash, and a click on one shows the events behind its row."""

    def __init__(self, visit: Visit, planned: PlannedView) -> None:
        self._service, self._planned = visit.service, planned
        self._rows: dict[str, dict[str, Any]] = {}
        self._why = WhyDialog(visit, planned)
        with panel("rows, newest first; cells that change flash; a click shows the events behind one"):
            self._grid = _grid(planned)
        self._grid.on("cellClicked", self._ask_why, ["data"])

    async def _ask_why(self, click: Any) -> None:
        row = self._rows.get(click.args["data"]["__key"])
        if row is not None:
            await self._why.show(row)

    async def refresh(self) -> None:
        """Show the rows as they are now."""
        self._rows = await run_in_threadpool(_rows, self._service, self._planned)
        cells = shown(list(self._rows.values()))
        rows = [found | {"__key": key} for key, found in zip(self._rows, cells, strict=True)]
        self._grid.run_grid_method("setGridOption", "rowData", rows)


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


class ColumnPanel:
    """A number over the windows of a view, which can be chosen, and how the rows of a window are folded into one."""

    def __init__(self, service: Service, planned: PlannedView) -> None:
        self._service, self._planned = service, planned
        time = planned.time.name if planned.time else None
        numbers = [column.name for column in planned.columns if _is_number(column.type)]
        with panel(f"by {time}" if time else "over time") as head:
            with head, ui.row().classes("gap-2 no-wrap items-center"):
                self._fold = ui.select(list(FOLDS), value="sum").props(_CHOICE)
                self._choice = ui.select(numbers, value=numbers[0] if numbers else None).props(_CHOICE)
            self._drawn = chart(196)
            if time is None or not numbers:
                self._drawn.set_visibility(False)
                head.set_visibility(False)
                ui.label("The view has no numbers over time." if time else "The view has no time.").classes("dim py-8")

    async def refresh(self) -> None:
        """Draw it as it is now."""
        column = self._choice.value
        if self._planned.time is not None and column is not None:
            points = await run_in_threadpool(_points, self._service, self._planned, column, self._fold.value)
            draw(self._drawn, charts.windows(column, points))


def _rows(service: Service, planned: PlannedView) -> dict[str, dict[str, Any]]:
    """The newest rows, each by a key of its own, so that the table knows which cells have changed."""
    order = f" ORDER BY {quoted(planned.time.name)} DESC" if planned.time else ""
    rows = _ask(service, planned, f"SELECT * FROM {quoted(planned.name)}{order} LIMIT {ROWS}")
    key = list(planned.key.columns)
    return {str([row[name] for name in key]) if key else str(list(row.values())): row for row in rows}


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
