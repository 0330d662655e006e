"""What every page has: the header with the way to the others, light and dark, and words instead of a broken page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.serve.encode import to_json
from headwater.serve.service import Service

_STYLE = """
<style>
  .nicegui-content { padding: 0 }
  .figure { font-variant-numeric: tabular-nums }
  .body--dark .ag-theme-quartz, .body--dark .ag-theme-balham { color-scheme: dark }
</style>
"""


@contextmanager
def page(service: Service, title: str) -> Iterator[None]:
    """A page below the header."""
    ui.add_head_html(_STYLE)
    ui.colors(primary="#2f6fb0")
    dark = ui.dark_mode(value=service.dark)

    def turn() -> None:
        service.dark = not dark.value
        dark.set_value(service.dark)

    with ui.header().classes("items-center gap-6 px-6 py-2").style("background: #16324f"):
        ui.link(service.project.name, "/").classes("text-white text-lg font-medium no-underline")
        ui.link("overview", "/").classes("text-white no-underline")
        for topic in service.project.plan().topics:
            ui.link(topic, f"/dashboard/streams/{topic}").classes("text-white no-underline")
        ui.link("query", "/dashboard/query").classes("text-white no-underline")
        ui.link("API", "/docs").classes("text-white no-underline")
        ui.space()
        ui.button(icon="dark_mode", on_click=turn).props('flat round color=white aria-label="light or dark"')
    with ui.column().classes("w-full max-w-screen-2xl mx-auto p-6 gap-4"):
        ui.label(title).classes("text-xl font-medium")
        try:
            yield
        except HeadwaterError as error:
            ui.label(str(error)).classes("whitespace-pre text-negative font-mono")


def figure(name: str) -> ui.label:
    """A card with a figure; the label that holds it."""
    with ui.card().classes("px-5 py-3 gap-0 min-w-36").props("flat bordered"):
        ui.label(name).classes("text-xs opacity-60")
        return ui.label("·").classes("text-2xl figure")


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a table takes them: numbers as numbers, everything else as text."""
    return [{name: cell(value) for name, value in row.items()} for row in rows]


def cell(value: Any) -> Any:
    """A value in a table."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return float(value)
        case _:
            text = to_json(value).decode().strip('"')
            return text.replace("T", " ").removesuffix("+00:00") if hasattr(value, "isoformat") else text


def is_number(value: Any) -> bool:
    """Whether a cell holds a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def table(rows: list[dict[str, Any]], names: list[str]) -> ui.table:
    """Rows as a table: numbers to the right, everything else to the left."""
    first = rows[0] if rows else {}
    columns = [
        {"name": name, "label": name, "field": name, "sortable": True,
         "align": "right" if is_number(first.get(name)) else "left"}
        for name in names
    ]  # fmt: skip
    return ui.table(rows=rows, columns=columns, pagination=20).classes("w-full").props("dense flat bordered")
