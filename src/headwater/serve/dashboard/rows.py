"""The rows of a view as a page shows them: the newest as they change, and any number over the view's time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.plan import PlannedView
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.asking import FOLDS, newest, over_time
from headwater.serve.dashboard.frame import chart, draw, in_digits, panel, shown
from headwater.serve.dashboard.visit import Visit
from headwater.serve.dashboard.why import WhyDialog
from headwater.serve.service import Service

ROWS = 200
COUNTED = "rows"
"""The choice that shows how many rows there are."""
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
        newest_rows = await run_in_threadpool(newest, self._service.project, self._planned, ROWS)
        key = self._planned.key.columns
        self._rows = {str([row[name] for name in key or row]): row for row in newest_rows.to_pylist()}
        cells = shown(list(self._rows.values()))
        rows = [shown_row | {"__key": key} for key, shown_row in zip(self._rows, cells, strict=True)]
        self._grid.run_grid_method("setGridOption", "rowData", rows)


def _grid(planned: PlannedView) -> ui.aggrid:
    options = {
        "columnDefs": [_definition(column.name, column.type) for column in planned.shown],
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
    definition: dict[str, Any] = {"field": name, "headerName": name, "headerTooltip": name}
    if pa.types.is_timestamp(kind):
        return definition | {":valueFormatter": _OF_TODAY, "tooltipField": name}
    if not _is_number(kind):
        return definition | {"tooltipField": name}
    digits = kind.scale if pa.types.is_decimal(kind) else 0 if pa.types.is_integer(kind) else None
    return definition | {"type": "rightAligned", ":valueFormatter": f"(cell) => ({in_digits(digits)})(cell.value)"}


class ColumnPanel:
    """A number over the time of a view, or how many rows there are, folded into one for each window or while."""

    def __init__(self, service: Service, planned: PlannedView) -> None:
        self._service, self._planned = service, planned
        numbers = [column.name for column in planned.shown if _is_number(column.type)]
        with panel(f"by {planned.time.name}" if planned.time else "over time") as head:
            with head, ui.row().classes("gap-2 no-wrap items-center"):
                self._fold = ui.select(list(FOLDS), value="sum").props(_CHOICE)
                self._choice = ui.select([*numbers, COUNTED], value=_first(planned, numbers)).props(_CHOICE)
            self._drawn = chart(196)
            if planned.time is None:
                self._drawn.set_visibility(False)
                head.set_visibility(False)
                ui.label("The view has no time.").classes("dim py-8")

    async def refresh(self) -> None:
        """Draw it as it is now."""
        if self._planned.time is None:
            return
        column = None if self._choice.value == COUNTED else self._choice.value
        fold = "count" if column is None else self._fold.value
        points = await run_in_threadpool(over_time, self._service.project, self._planned, column, fold)
        draw(self._drawn, charts.windows(self._choice.value, points))


def _first(planned: PlannedView, numbers: list[str]) -> str:
    """The number that is drawn first: an amount rather than a count, and rather than what tells rows apart."""
    kinds = {column.name: column.type for column in planned.shown}
    amounts = [name for name in numbers if not pa.types.is_integer(kinds[name])]
    others = [name for name in numbers if name not in planned.key.columns]
    return next(iter([*amounts, *others, *numbers]), COUNTED)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
