"""The output of `headwater status`: the golden figures, topics first, then views and outlets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from headwater.cli.output import console, problems, show_rows

if TYPE_CHECKING:
    from headwater.operate import Alert, Alerts, Ledger, Status
    from headwater.operate.figures import Figures
    from headwater.operate.integrity import Integrity
    from headwater.operate.status import OutletStatus, StoreStatus, TopicStatus, ViewStatus


def show_status(status: Status) -> None:
    """Topics, views and outlets as tables."""
    console.print(f"[bold]{status.project}[/] at {status.at:%Y-%m-%d %H:%M:%S} UTC")
    if status.topics:
        show_rows([_topic(topic) for topic in status.topics], list(_topic(status.topics[0])))
    if status.views:
        console.print()
        show_rows([_view(view) for view in status.views], list(_view(status.views[0])))
    for view in status.views:
        if view.unsound:
            console.print(f"[bold red]unsound:[/] {escape(str(view.unsound.error(view.view)))}")
    running = [_figures(view.figures, status) for view in status.views if view.figures]
    if running:
        console.print()
        show_rows(running, list(running[0]))
    stores = [(view, store) for view in status.views for store in view.stores if store.error or len(view.stores) > 1]
    if stores:
        console.print()
        shown = [_store(view, store) for view, store in stores]
        show_rows(shown, list(shown[0]))
    if status.outlets:
        console.print()
        show_rows([_outlet(outlet) for outlet in status.outlets], list(_outlet(status.outlets[0])))

    if status.integrity:
        _show_integrity(status.integrity)
    if status.alerts:
        console.print()
        show_alerts(status.alerts)


def _show_integrity(integrity: Integrity) -> None:
    """The last good backup, and what the last scrub has found."""
    if integrity.backup:
        console.print(f"\nlast good backup: {integrity.backup['at'][:19]} UTC at {escape(integrity.backup['url'])}")
    for hurt in (integrity.scrub or {}).get("hurt", ()):
        told = f"{hurt['log']} is damaged in commits {hurt['commits']}: {hurt['reason']}"
        problems.print(f"[red]{escape(told)}[/]", soft_wrap=True)


def show_alerts(alerts: Sequence[Alert]) -> None:
    """Alerts as a table; those that fire in red."""
    shown = [
        {
            "alert": alert.rule,
            "state": alert.state,
            "of": f"{alert.kind} {alert.name}",
            "since": alert.since,
            "detail": alert.detail,
        }
        for alert in alerts
    ]
    if shown:
        show_rows(shown, list(shown[0]))
    else:
        console.print("no alerts")


def show_rules(alerts: Alerts) -> None:
    """The rules, and whether the webhook could be told."""
    from headwater.model import spell_duration

    console.print()
    for rule in alerts.rules:
        lasting = f" for {spell_duration(rule.lasting)}" if rule.lasting else ""
        of = f" of {', '.join(rule.of)}" if rule.of else ""
        console.print(f"[dim]{escape(rule.name)}: {rule.when}{escape(of)} above {rule.above:g}{lasting}[/]")
    if alerts.undelivered:
        console.print(f"[red]the last alert could not be delivered:[/] {escape(alerts.undelivered)}")


def show_promotion(outcome: Mapping[str, Any] | None, only_tell: bool) -> None:
    """Show what became of a promotion, or would."""
    if outcome is None:
        console.print("no run of the project is at work: the next one begins with the declarations that it finds")
    elif "error" in outcome:
        error = outcome["error"]
        problems.print(f"[red]error:[/] {escape(error['summary'])}")
        for label, text in (("Detail", error.get("detail")), ("Hint", error.get("hint"))):
            if text:
                problems.print(f"  {label}: {escape(text)}")
    else:
        done = {name: names for name, names in outcome["promotion"].items() if names and name != "unchanged"}
        for name, names in done.items():
            console.print(f"[yellow]{name}[/]{' (dry run)' if only_tell else ''}: {', '.join(map(escape, names))}")
        if not done:
            console.print("nothing has changed")


def _figures(figures: Figures, status: Status) -> dict[str, Any]:
    """The figures of a view that runs."""
    events, rows = figures.rates(status.at)
    return {
        "running": figures.view,
        "events/s": f"{events:,.0f}",
        "rows/s": f"{rows:,.0f}",
        "fresh p50": _seconds(figures.freshness(0.5)),
        "p99": _seconds(figures.freshness(0.99)),
        "batch p50": _seconds(figures.batch_time(0.5)),
        "batch p99": _seconds(figures.batch_time(0.99)),
        "state": f"{figures.state_bytes / 1e6:,.1f} MB",
        "batches": figures.batches,
    }


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f} s"


def _store(view: ViewStatus, store: StoreStatus) -> dict[str, Any]:
    return {
        "view": view.view,
        "store": store.store,
        "lag": store.lag,
        "watermark": store.watermark,
        "error": store.error,
    }


def _outlet(outlet: OutletStatus) -> dict[str, Any]:
    sent = outlet.sent
    return {
        "outlet": sent.outlet,
        "view": sent.view,
        "to": sent.to,
        "state": sent.state,
        "lag": outlet.lag,
        "sent": sent.changes,
        "dead": sent.dead,
        "note": sent.note,
    }


def _fields(unknown: Mapping[str, int]) -> str | None:
    """The fields that no column declares, those that most events have first."""
    named = [f"{name} {count:,}" for name, count in list(unknown.items())[:3]]
    return ", ".join([*named, *(["…"] if len(unknown) > len(named) else [])]) or None


def _topic(topic: TopicStatus) -> dict[str, Any]:
    holds = [source.name for source in topic.sources if source.holds]
    return {
        "topic": topic.topic,
        "head": topic.head,
        "rows": topic.rows,
        "dead": topic.dead,
        "unknown": _fields(topic.unknown),
        "watermark": topic.watermark,
        "sources": len(topic.sources),
        "paused": topic.paused.since if topic.paused else None,
        "held by": ", ".join(holds[:3]) if len(topic.sources) > 1 else None,
    }


def _late(ledger: Ledger) -> int | str:
    """The number of rows that were late, and of those that were late by nothing."""
    equal = ledger.late_by_equality
    return f"{ledger.late:,}, {equal:,} by equality" if equal else ledger.late


def _view(view: ViewStatus) -> dict[str, Any]:
    ledger = view.ledger
    return {
        "view": view.view,
        "state": view.state,
        "version": f"{view.version} (held)" if view.held else view.version,
        "lag": view.lag,
        "watermark": view.watermark,
        "rows in": ledger.rows_in if ledger else None,
        "late": _late(ledger) if ledger else None,
        "dead": ledger.dead if ledger else None,
        "remainder": ledger.remainder if ledger else None,
    }
