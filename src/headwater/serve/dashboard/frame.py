"""The frame of every page: the way to the others, light and dark, and words instead of a broken page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.history import History
from headwater.serve.dashboard.theme import STYLE, Health, health_of
from headwater.serve.dashboard.visit import Visit
from headwater.serve.door import LOGIN
from headwater.serve.encode import to_json

THEME = "headwater_theme"
"""The cookie of a browser that wants light or dark, whatever the system it runs on wants."""
_REMEMBER = "document.cookie = '{}={}; path=/; max-age=31536000; SameSite=Strict'"


@contextmanager
def page(visit: Visit, title: str, here: str) -> Iterator[None]:
    """A page with the navigation beside it; `here` is its own address."""
    ui.add_css(STYLE)
    ui.colors(primary="#2f6fb0")
    ui.page_title(f"{title} · {visit.service.project.name}")
    _header(visit)
    _navigation(visit, here)
    with ui.column().classes("w-full p-4 gap-3"):
        try:
            yield
        except HeadwaterError as error:
            ui.label(str(error)).classes("whitespace-pre-wrap text-negative font-mono").mark("refusal")


def _header(visit: Visit) -> None:
    history, wanted = visit.history, visit.request.cookies.get(THEME)
    dark = ui.dark_mode(value={"dark": True, "light": False}.get(wanted or ""))

    async def turn() -> None:
        is_dark = await ui.run_javascript("document.body.classList.contains('body--dark')")
        ui.run_javascript(_REMEMBER.format(THEME, "light" if is_dark else "dark"))
        dark.set_value(not is_dark)  # behind it, so that what is seen has been remembered

    with ui.header().classes("items-center gap-3 px-4 py-0").style("height: 44px; flex-wrap: nowrap"):
        ui.icon("waves", size="20px").classes("accent")
        ui.link(visit.service.project.name, "/").classes("text-base font-medium no-underline").style(
            "color: var(--text)"
        )
        state = ui.label().classes("pill")
        firing = ui.link("", "/dashboard/alerts").classes("pill bad no-underline").mark("firing")
        ui.space()
        clock = ui.label().classes("dim small figure")
        ui.button(icon="contrast", on_click=turn).props('flat round dense size=sm aria-label="light or dark"')
        if not visit.door.is_open:
            _who(visit)

    def refresh() -> None:
        if history.status is None:
            return
        text, health = _summed_up(history)
        state.set_text(text)
        state.classes(replace=f"pill {health}")
        fire = sum(alert.state == "firing" for alert in history.status.alerts)
        firing.set_text(f"{fire} alert{'s' if fire > 1 else ''} firing")
        firing.set_visibility(fire > 0)
        clock.set_text(f"{history.status.at:%Y-%m-%d %H:%M:%S} UTC")

    refresh()
    ui.timer(1.0, refresh)


def _who(visit: Visit) -> None:
    """The visitor of the page, and the way out; who has no session any more is sent to the login."""
    access = visit.access()
    ui.label(f"{access.name} · {access.role}").classes("dim small").mark("who")
    with ui.element("form").props('method="post" action="/dashboard/logout"'):
        ui.button("log out").props("flat dense no-caps size=sm type=submit")

    def check() -> None:
        if not visit.may("read"):
            ui.navigate.to(LOGIN)

    ui.timer(1.0, check)


def _summed_up(history: History) -> tuple[str, Health]:
    """The health of the whole, in a few words."""
    assert history.status is not None
    views = history.status.views
    for state in ("unsound", "stopped", "unreachable", "waiting", "paused", "starting"):
        affected = sum(view.state == state for view in views)
        if affected:
            return f"{affected} of {len(views)} views {state}", health_of(state)
    if any(view.ledger and view.ledger.remainder for view in views):
        return "a ledger doesn't add up", "bad"
    follow = sum(view.state == "following" for view in views)
    return (f"{follow} views follow", "good") if follow else ("at rest", "rest")


def _navigation(visit: Visit, here: str) -> None:
    history, plan, dots = visit.history, visit.service.project.plan(), dict[str, ui.element]()
    with ui.left_drawer(value=True, bordered=True).props("width=212 breakpoint=900").classes("p-0 gap-0 py-2"):
        _entry("overview", "/", here, icon="space_dashboard")
        _entry("alerts", "/dashboard/alerts", here, icon="notifications")
        _entry("query", "/dashboard/query", here, icon="terminal")
        if visit.door.is_open:
            _entry("API", "/docs", here, icon="api")
        ui.label("streams").classes("nav-title")
        for topic in plan.topics:
            dots[topic] = _entry(topic, f"/dashboard/streams/{topic}", here)
        ui.label("views").classes("nav-title")
        for planned in plan.views.values():
            if planned.view.materialized:
                dots[planned.name] = _entry(planned.name, f"/dashboard/views/{planned.name}", here)

    def refresh() -> None:
        for name, health in _healths(history).items():
            if name in dots:
                dots[name].classes(replace=f"dot {health}")

    refresh()
    ui.timer(2.0, refresh)


def _healths(history: History) -> dict[str, Health]:
    """The health of each topic and each view."""
    status = history.status
    if status is None:
        return {}
    healths: dict[str, Health] = {topic.topic: "warn" if topic.waits else "good" for topic in status.topics}
    for view in status.views:
        healths[view.view] = health_of(view.state, view.ledger.remainder if view.ledger else 0)
    return healths


def _entry(name: str, target: str, here: str, icon: str | None = None) -> ui.element:
    """A way to another page; the dot, or the icon, before its name."""
    link = ui.link(target=target).classes("nav here" if target == here else "nav")
    with link:
        mark = ui.icon(icon, size="16px").classes("dim") if icon else ui.element("div").classes("dot")
        ui.label(spelling.shortened(name, 22)).classes("cut")
    link.props["title"] = name
    return mark


@contextmanager
def panel(title: str) -> Iterator[ui.row]:
    """A panel with a title; the row of the title, for what belongs beside it."""
    with ui.column().classes("panel"):
        with ui.row().classes("w-full items-center justify-between no-wrap") as head:
            ui.label(title).classes("panel-title")
        yield head


Strip = dict[str, tuple[ui.label, ui.label]]


def strip(*names: str) -> Strip:
    """A row of figures; the labels that hold each one, and what is said below it."""
    labels = {}
    with ui.element("div").classes("strip"):
        for name in names:
            with ui.column():
                ui.label(name).classes("dim small cut")
                value = ui.label("–").classes("value figure cut")
                labels[name] = (value, ui.label(" ").classes("dim small cut figure"))
    return labels


def fill(labels: Strip, figures: Mapping[str, tuple[str, str]]) -> None:
    """Show figures, each with what is said below it."""
    for name, (value, note) in figures.items():
        labels[name][0].set_text(value)
        labels[name][1].set_text(note)


def chart(height: int = 150) -> ui.echart:
    """A chart that is drawn later."""
    return ui.echart({}).classes("w-full").style(f"height: {height}px")


def draw(chart: ui.echart, options: charts.Options) -> None:
    """Draw a chart anew."""
    chart.options.clear()
    chart.options.update(options)
    chart.update()


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
    """Tells whether a cell holds a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def columns(*names: str, right: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The columns of a table."""
    return [
        {"name": name, "label": name, "field": name, "sortable": True, "align": "right" if name in right else "left"}
        for name in names
    ]


def table(rows: list[dict[str, Any]], names: list[str]) -> ui.table:
    """Rows as a table: numbers to the right, with the digits that they have, everything else to the left."""
    cells = shown(rows)
    numbers = tuple(name for name in names if any(is_number(row.get(name)) for row in cells[:20]))
    named = columns(*names, right=numbers)
    for column in named:
        if column["name"] in numbers:
            column[":format"] = in_digits(_digits(rows, column["name"]))
    drawn = ui.table(rows=cells, columns=named, pagination=20 if len(rows) > 20 else None)
    return drawn.classes("w-full").props("dense flat")


def in_digits(digits: int | None) -> str:
    """A function of the browser that spells a number with so many digits behind the point; None: as many as it has."""
    fixed = "" if digits is None else f"minimumFractionDigits: {digits}, maximumFractionDigits: {digits}"
    return f"(value) => value == null ? '' : value.toLocaleString('en', {{{fixed}}})"


def _digits(rows: list[dict[str, Any]], name: str) -> int | None:
    """The number of digits that the decimals of a column have; None if they are none."""
    values = (row[name] for row in rows[:20])
    return max((-int(value.as_tuple().exponent) for value in values if isinstance(value, Decimal)), default=None)
