"""The page of alerts: what fires, what is pending, what was resolved within the hour; and the rules."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.model import Rule, spell_duration
from headwater.operate.alert import Alert
from headwater.serve.dashboard import spelling
from headwater.serve.dashboard.frame import columns, page, panel
from headwater.serve.dashboard.theme import Health
from headwater.serve.dashboard.visit import Visit

HEALTHS: dict[str, Health] = {"firing": "bad", "pending": "warn", "resolved": "good"}
_PAGES = {"topic": "streams", "view": "views"}
_STATE = """<q-td :props="props"><span class="flex items-center no-wrap gap-2"><span :class="'dot ' + props.row.health">
</span>{{ props.value }}</span></q-td>"""
_ABOUT = """<q-td :props="props"><a v-if="props.row.page" :href="props.row.page" class="accent">{{ props.value }}</a>
<span v-else>{{ props.value }}</span></q-td>"""


def alerts_page(visit: Visit) -> None:
    """Build the page."""
    project = visit.service.project
    with page(visit, "alerts", "/dashboard/alerts"):
        ui.label("alerts").classes("text-lg font-medium")
        trouble = ui.label().classes("text-negative").mark("undelivered")
        with panel("now, and within the hour"):
            none = ui.label("Nothing is wrong.").classes("dim py-2")
            alerts = _table("state", "rule", "about", "detail", "value", "since", right=("value", "since"))
            alerts.mark("alerts").add_slot("body-cell-state", _STATE)
            alerts.add_slot("body-cell-about", _ABOUT)
        with panel("rules"):
            rules = _table("state", "rule", "when", "above", "for", "of", right=("above",)).mark("rules")
            rules.add_slot("body-cell-state", _STATE)
        ui.label(_who_is_told(visit)).classes("dim small")

        async def refresh() -> None:
            try:
                newest = await run_in_threadpool(project.alerts)
            except HeadwaterError as error:
                trouble.set_text(error.summary)
                return
            trouble.set_text(f"The webhook could not be told: {newest.undelivered}" if newest.undelivered else "")
            none.set_visibility(not newest.alerts)
            alerts.set_visibility(bool(newest.alerts))
            alerts.rows = [alert_row(alert, newest.at) for alert in newest.alerts]
            rules.rows = [rule_row(rule, newest.alerts) for rule in newest.rules]

        ui.timer(2.0, refresh)


def _table(*names: str, right: tuple[str, ...]) -> ui.table:
    table = ui.table(rows=[], columns=columns(*names, right=right))
    return table.classes("w-full").props("dense flat").style("border: 0")


def _who_is_told(visit: Visit) -> str:
    settings = visit.service.project.settings.alerting
    told = (
        "A webhook is told when one begins to fire and when it is resolved." if settings.to else "No webhook is told."
    )
    return f"Rules are looked at every {spell_duration(settings.every)} while views run. {told}"


def alert_row(alert: Alert, now: datetime) -> dict[str, Any]:
    """An alert in the table."""
    folder = _PAGES.get(alert.kind)
    return {
        "state": alert.state, "health": HEALTHS[alert.state], "rule": alert.rule, "about": f"{alert.kind} {alert.name}",
        "page": f"/dashboard/{folder}/{alert.name}" if folder else None, "detail": alert.detail,
        "value": f"{alert.value:g} > {alert.above:g}", "since": f"{spelling.ago(now, alert.since)} ago",
    }  # fmt: skip


def rule_row(rule: Rule, alerts: tuple[Alert, ...]) -> dict[str, Any]:
    """A rule in the table, with the worst state that one of its alerts is in."""
    states = {alert.state for alert in alerts if alert.rule == rule.name}
    state = next((worse for worse in ("firing", "pending") if worse in states), "quiet")
    return {
        "state": state, "health": HEALTHS.get(state, "rest"), "rule": rule.name, "when": rule.when,
        "above": f"{rule.above:g}", "for": spell_duration(rule.lasting) if rule.lasting else "at once",
        "of": ", ".join(rule.of) or "everything",
    }  # fmt: skip
