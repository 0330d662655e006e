"""The page of queries: a statement, whose names are completed, and its rows as a table and as a chart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.model import Column, Table
from headwater.plan import PlannedView
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.completion import offer_names
from headwater.serve.dashboard.frame import chart, draw, is_number, page, panel, shown, table
from headwater.serve.dashboard.visit import Visit
from headwater.serve.query import Question, asked, check
from headwater.sql import spell_name

DRAWN = 500


def query_page(visit: Visit) -> None:
    """Build the page."""
    service = visit.service
    plan = service.project.plan()
    views = [planned for planned in plan.views.values() if planned.view.materialized]
    kept: list[PlannedView | Table] = [*views, *(topic for topic in plan.topics.values() if isinstance(topic, Table))]
    with page(visit, "query", "/dashboard/query"):
        with ui.grid(columns="minmax(0, 1fr) 260px").classes("w-full gap-3"):
            with ui.column().classes("gap-2 w-full"):
                first = f"SELECT *\nFROM {spell_name(kept[0].name)}\nLIMIT 20" if kept else "SELECT 1"
                text = ui.codemirror(first, language="SQL", theme="basicLight").classes("w-full").style("height: 150px")
                text.mark("sql")
                with ui.row().classes("gap-3 items-center"):
                    go = (
                        ui.button("run", icon="play_arrow")
                        .props("unelevated dense no-caps padding='2px 14px'")
                        .mark("run")
                    )
                    ui.label("Ctrl-Enter runs it; Ctrl-Space completes a name").classes("dim small")
                    told = ui.label().classes("dim small figure").mark("told")
                answer_area = ui.column().classes("w-full gap-3")
            _names(kept, text)

        async def answer() -> None:
            began = time.monotonic()
            answer_area.clear()
            with answer_area:
                try:
                    question = Question(sql=text.value or " ")
                    await run_in_threadpool(check, service, question, visit.access())
                    answered = await run_in_threadpool(asked, service, question)
                except HeadwaterError as error:
                    told.set_text("")
                    ui.label(str(error)).classes("whitespace-pre-wrap text-negative font-mono").mark("refusal")
                    return
                more = ", and there are more" if answered["truncated"] else ""
                told.set_text(f"{len(answered['rows']):,} rows{more} in {spelling.seconds(time.monotonic() - began)}")
                names = [column["name"] for column in answered["columns"]]
                _chart(shown(answered["rows"]), names)
                table(answered["rows"], names).mark("answer")

        go.on_click(answer)
        text.map_key("Mod-Enter", answer)
        offer_names(text, {planned.name: [(c.name, str(c.type)) for c in _shown(planned)] for planned in kept})


def _shown(kept: PlannedView | Table) -> tuple[Column, ...]:
    return kept.shown if isinstance(kept, PlannedView) else kept.columns


def _names(kept: Sequence[PlannedView | Table], text: ui.codemirror) -> None:
    """The views and tables, and their columns; a click asks for one, or adds a name."""
    with ui.column().classes("panel").style("max-height: 420px; overflow: auto; flex-wrap: nowrap"):
        ui.label("views, tables, columns").classes("panel-title")
        for planned in kept:
            with ui.expansion(planned.name).props("dense dense-toggle").classes("w-full"):
                ask = f"SELECT *\nFROM {spell_name(planned.name)}\nLIMIT 20"
                ui.link("select its rows").classes("accent small cursor-pointer").on(
                    "click", lambda _, ask=ask: text.set_value(ask)
                )
                for column in _shown(planned):
                    with ui.row().classes("w-full justify-between no-wrap gap-2"):
                        ui.label(column.name).classes("cut small cursor-pointer").on(
                            "click", lambda _, name=column.name: text.set_value(f"{text.value} {name}")
                        )
                        ui.label(str(column.type)).classes("cut small dim")


def _chart(rows: list[dict[str, Any]], names: list[str]) -> None:
    """A number by another column, each of which can be chosen, as bars or a line."""
    numbers = [name for name in names if any(is_number(row[name]) for row in rows[:20])]
    if not numbers or len(names) < 2:
        return
    others = [name for name in names if name not in numbers] + numbers
    with panel("chart") as head:
        with head, ui.row().classes("gap-2 no-wrap items-center"):
            kind = ui.select(["bar", "line"], value="bar").props("dense borderless options-dense")
            number = ui.select(numbers, value=numbers[0]).props("dense borderless options-dense")
            ui.label("by").classes("dim small")
            by = ui.select(others, value=others[0]).props("dense borderless options-dense")
        drawn = chart(200)

    def redraw() -> None:
        some = rows[:DRAWN]
        values = [row[number.value] for row in some]
        draw(drawn, charts.figures([str(row[by.value]) for row in some], number.value, values, kind.value))

    redraw()
    for choice in (kind, number, by):
        choice.on_value_change(redraw)
