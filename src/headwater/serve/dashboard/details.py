"""Details that are looked at now and then: the declaration, the execution, versions, and rows that came too late."""

from __future__ import annotations

from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.model import SqlQuery
from headwater.plan import PlannedView
from headwater.serve.dashboard import spelling
from headwater.serve.dashboard.frame import table
from headwater.serve.dashboard.visit import Visit
from headwater.serve.service import Service
from headwater.sql.render import render
from headwater.store import Version

TABS = ("definition", "how it runs", "versions", "late rows")

KEEP_IN_THE_ADDRESS = "tab => history.replaceState(history.state, '', '?tab=' + encodeURIComponent(tab))"

LATE = 200
"""So many late rows are shown."""


def details(visit: Visit, planned: PlannedView) -> None:
    """Tabs with all of it; the one that is open is in the address, so that it is there again after a reload."""
    asked = visit.request.query_params.get("tab", "")
    with ui.column().classes("panel"):
        with ui.tabs().props("dense no-caps align=left") as tabs:
            for name in TABS:
                ui.tab(name)
        tabs.on("update:model-value", js_handler=KEEP_IN_THE_ADDRESS)
        opened = asked if asked in TABS else TABS[0]
        with ui.tab_panels(tabs, value=opened).classes("w-full").style("background: transparent"):
            with ui.tab_panel("definition").classes("px-0"):
                ui.code(_definition_of(planned), language=_language(planned)).classes("w-full")
            with ui.tab_panel("how it runs").classes("px-0"):
                ui.code(str(visit.service.project.explain(planned.name)), language="text").classes("w-full")
            with ui.tab_panel("versions").classes("px-0"):
                versions(visit.service, planned.name)
            with ui.tab_panel("late rows").classes("px-0"):
                _late(visit.service, planned.name)


def _definition_of(planned: PlannedView) -> str:
    query = planned.view.query
    return render(planned.view) if isinstance(query, SqlQuery) else query.source.strip()


def _language(planned: PlannedView) -> Any:
    return "sql" if isinstance(planned.view.query, SqlQuery) else "python"


def versions(service: Service, name: str) -> None:
    """The versions that the store holds."""
    rows = [version_row(version) for version in service.project.explain(name).versions]
    if rows:
        table(rows, list(rows[0]))
    else:
        ui.label("There is no version yet.").classes("dim")


def version_row(version: Version) -> dict[str, Any]:
    """A version in the table."""
    at = version.position
    return {
        "version": version.target.version, "served": "yes" if version.promoted else "", "plan": version.fingerprint,
        "batch": at.batch if at else None, "watermark": spelling.clock(at.watermark if at else None),
        "read up to": ", ".join(f"{topic} {commit:,}" for topic, commit in at.commits) if at else "",
    }  # fmt: skip


def _late(service: Service, name: str) -> None:
    """The rows that came too late; Spark looks for them in the log when they are asked for."""
    answer = ui.column().classes("w-full")

    async def look() -> None:
        try:
            with service.queries.taken():
                late = await run_in_threadpool(service.project.views.late, name)
        except HeadwaterError as error:
            ui.notify(error.summary, type="negative")
            return
        rows = late.slice(max(0, late.num_rows - LATE)).to_pylist()
        answer.clear()
        with answer:
            ui.label(f"{late.num_rows:,} rows came too late" + (f"; the last {LATE}" if late.num_rows > LATE else ""))
            spelled = [row | {"late_by": spelling.seconds(row["late_by"].total_seconds())} for row in rows]
            table(spelled, sorted(late.column_names, key=lambda column: column != "late_by"))

    ui.button("look for them in the log", on_click=look, icon="search").props("outline dense no-caps size=sm")
