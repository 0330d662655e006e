"""Why a row is what it is: the events behind it, in a dialog."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.operate.why import Why
from headwater.plan import PlannedView
from headwater.serve.dashboard.frame import cell, table
from headwater.serve.dashboard.visit import Visit


class WhyDialog:
    """The events of the log behind a row of a view; Spark looks for them when a row is asked for."""

    def __init__(self, visit: Visit, planned: PlannedView) -> None:
        self._visit, self._planned = visit, planned
        with ui.dialog() as self._dialog, ui.column().classes("panel").style("max-width: 1300px; width: 92vw"):
            self._answer = ui.column().classes("w-full gap-2 no-wrap").style("max-height: 75vh; overflow: auto")

    async def show(self, row: dict[str, Any]) -> None:
        """Show the events behind a row, which is named by its key, or by all that it has."""
        named = {name: row[name] for name in self._planned.key.columns or row}
        spelled = ", ".join(f"{name} = {cell(value)}" for name, value in named.items())
        self._answer.clear()
        with self._answer:
            ui.label(f"why {self._planned.name} has {spelled}").classes("text-base font-medium")
            waiting = ui.row().classes("items-center gap-2")
            with waiting:
                ui.spinner(size="sm")
                ui.label("The view is computed once more from the log, with the places of events beside its rows …")
        self._dialog.open()
        try:
            with self._visit.service.queries.taken():
                why = await run_in_threadpool(self._visit.service.project.why, self._planned.name, named)
        except HeadwaterError as error:
            waiting.clear()
            with waiting:
                ui.label(str(error)).classes("whitespace-pre-wrap text-negative")
            return
        waiting.delete()
        with self._answer:
            self._tell(why)

    def _tell(self, why: Why) -> None:
        upto = ", ".join(f"{topic} {commit:,}" for topic, commit in why.commits.items())
        ui.label(f"{why.events:,} events are behind it, read up to {upto}").classes("dim").mark("behind")
        _events(why.shown)
        if why.late:
            ui.label(f"{why.late:,} came too late for it").style("color: var(--warn)")
            _events(why.shown_late)


def _events(shown: Any) -> None:
    for rows in shown.values():
        names = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]
        table(rows.select(names).to_pylist(), names)
