"""The page of queries: a statement, its rows as a table, and as a chart where there is a number to draw."""

# ruff: noqa: S608  # a statement to begin with; what a person makes of it is answered read-only
from __future__ import annotations

from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.frame import is_number, page, shown, table
from headwater.serve.query import Question, asked
from headwater.serve.service import Service

DRAWN = 200


def query_page(service: Service) -> None:
    """Build the page."""
    plan = service.project.plan()
    kept = [planned for planned in plan.views.values() if planned.view.materialized]
    with page(service, "query"):
        first = f"SELECT * FROM {kept[0].name} LIMIT 20" if kept else "SELECT 1"
        text = ui.codemirror(first, language="SQL", theme="basicLight").classes("w-full h-40").mark("sql")
        with ui.row().classes("gap-2 items-center"):
            go = ui.button("run", icon="play_arrow").mark("run")
            for planned in kept:
                names = ", ".join(column.name for column in planned.columns)
                chip = ui.chip(
                    planned.name, on_click=lambda _, name=planned.name: text.set_value(f"SELECT * FROM {name} LIMIT 20")
                )
                chip.props("outline clickable").tooltip(names)
        place = ui.column().classes("w-full gap-4")

        async def answer() -> None:
            place.clear()
            with place:
                try:
                    found = await run_in_threadpool(asked, service, Question(sql=text.value or " "))
                except HeadwaterError as error:
                    ui.label(str(error)).classes("whitespace-pre text-negative font-mono").mark("refusal")
                    return
                more = ", and there are more" if found["truncated"] else ""
                ui.label(f"{len(found['rows']):,} rows{more}").classes("opacity-60")
                rows = shown(found["rows"])
                table(rows, [column["name"] for column in found["columns"]])
                _chart(rows)

        go.on_click(answer)


def _chart(rows: list[dict[str, Any]]) -> None:
    """Bars of the first number by the first column that isn't one."""
    if not rows:
        return
    numbers = [name for name, value in rows[0].items() if is_number(value)]
    words = [name for name in rows[0] if name not in numbers]
    if numbers and words:
        names = [str(row[words[0]]) for row in rows[:DRAWN]]
        drawn = charts.bars(names, numbers[0], [row[numbers[0]] for row in rows[:DRAWN]])
        ui.echart(drawn).classes("w-full h-72")
