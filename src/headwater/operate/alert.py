"""Alerts: a rule, held against what it watches, and in what state that has left it.

An alert is *pending* once its figure is above the rule's threshold, *firing* when it has been for as long as the rule
says, and *resolved* when it no longer is. One that was only pending goes without a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.model import Rule

AlertState = Literal["pending", "firing", "resolved"]
Kind = Literal["topic", "view", "outlet"]
KEPT = timedelta(hours=1)
"""For so long one that is resolved is still shown."""


@dataclass(frozen=True)
class Measure:
    """A figure of something, as it is now; `detail` says in words what the figure says."""

    kind: Kind
    name: str
    value: float
    detail: str


@dataclass(frozen=True)
class Alert:
    """The state of a rule for one topic, view or outlet; `since` is when it came into that state."""

    rule: str
    kind: Kind
    name: str
    state: AlertState
    value: float
    above: float
    since: datetime
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return asdict(self)

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Alert:
        """The alert that was written down."""
        return cls(**{**record, "since": datetime.fromisoformat(record["since"])})

    @property
    def is_told(self) -> bool:
        """Tells whether somebody is told of it."""
        return self.state != "pending"


class Alarms:
    """The alerts of some rules, one for each that a rule watches. `known` are those of a run before."""

    def __init__(self, rules: Sequence[Rule], known: Iterable[Alert] = ()) -> None:
        self._rules = {rule.name: rule for rule in rules}
        self._alerts = {_watched(alert): alert for alert in known if alert.rule in self._rules}

    def take(self, measures: Mapping[str, Sequence[Measure]], now: datetime) -> list[Alert]:
        """Hold the rules against measures, given by rule; returns the alerts that began to fire or were resolved."""
        met = {
            (name, measure.kind, measure.name): measure
            for name, figures in measures.items()
            for measure in figures
            if measure.value > self._rules[name].above and self._rules[name].is_about(measure.name)
        }
        before, self._alerts = self._alerts, {}
        for watched, measure in met.items():
            self._alerts[watched] = self._met(self._rules[watched[0]], measure, before.get(watched), now)
        for watched, alert in before.items():
            if watched not in met and alert.state != "pending":
                over = alert if alert.state == "resolved" else replace(alert, state="resolved", since=now)
                if now - over.since <= KEPT:
                    self._alerts[watched] = over
        told = [alert for alert in self._alerts.values() if alert.is_told]
        return [alert for alert in told if alert.state != _state(before.get(_watched(alert)))]

    def _met(self, rule: Rule, measure: Measure, before: Alert | None, now: datetime) -> Alert:
        """The alert of a rule that is met."""
        if before is not None and before.state == "firing":
            return replace(before, value=measure.value, detail=measure.detail)
        began_at = before.since if before is not None and before.state == "pending" else now
        is_due = now - began_at >= rule.lasting
        return Alert(
            rule.name,
            measure.kind,
            measure.name,
            "firing" if is_due else "pending",
            measure.value,
            rule.above,
            now if is_due else began_at,
            measure.detail,
        )

    def alerts(self) -> tuple[Alert, ...]:
        """Those that there are: the ones that fire first, then the pending, then the resolved; the newest first."""
        order: list[AlertState] = ["firing", "pending", "resolved"]
        newest = sorted(self._alerts.values(), key=lambda alert: alert.since, reverse=True)
        return tuple(sorted(newest, key=lambda alert: order.index(alert.state)))


def _watched(alert: Alert) -> tuple[str, Kind, str]:
    return alert.rule, alert.kind, alert.name


def _state(alert: Alert | None) -> AlertState | None:
    return alert.state if alert else None
