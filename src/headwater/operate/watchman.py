"""The watchman: holds the rules of alerts against the figures of a project, again and again while it runs.

What is found is kept in a file below the project: the next run goes on from it, so that nobody is told twice, and other
processes can tell how things are. While no run has looked for a while, whoever asks looks for himself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.errors import SettingsRefused
from headwater.model import Project, Rule, spell_duration
from headwater.operate.alert import Alarms, Alert
from headwater.operate.meanwhile import meanwhile
from headwater.operate.measure import Gauges
from headwater.operate.notify import Notifier
from headwater.operate.record import tell
from headwater.operate.status import Status

FILE = "alerts.json"


@dataclass(frozen=True)
class Alerts:
    """The alerts of a project at an instant, and its rules.

    `undelivered` is why the webhook could not be told of the last one, if it couldn't.
    """

    at: datetime
    rules: tuple[Rule, ...]
    alerts: tuple[Alert, ...] = ()
    undelivered: str | None = None

    @property
    def firing(self) -> tuple[Alert, ...]:
        """Those that fire."""
        return tuple(alert for alert in self.alerts if alert.state == "firing")

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        rules = [asdict(rule) | {"lasting": spell_duration(rule.lasting)} for rule in self.rules]
        alerts = [alert.as_dict() for alert in self.alerts]
        return {"at": self.at, "alerts": alerts, "rules": rules, "undelivered": self.undelivered}


def checked_rules(rules: Sequence[Rule], declared: Project, *, complete: bool) -> tuple[Rule, ...]:
    """The rules, if their names differ and what they name is declared; the latter if declarations are `complete`."""
    for name, count in Counter(rule.name for rule in rules).items():
        if count > 1:
            raise SettingsRefused(f'{count} alerts are called "{name}"', hint="Give each a name of its own.")
    for rule in rules if complete else ():
        unknown = [name for name in rule.of if declared.find(name) is None]
        if unknown:
            raise SettingsRefused(
                f'alert "{rule.name}" watches "{unknown[0]}", which the project doesn\'t declare',
                hint="Name streams, tables, views or outlets, or leave `of` out: everything is watched.",
            )
    return tuple(rules)


class Watchman:
    """Looks `every` so often within `watching`; tells at any time what was found last."""

    def __init__(self, rules: Sequence[Rule], every: timedelta, folder: Path) -> None:
        self._rules = tuple(rules)
        self._every = every
        self._file = folder / FILE
        self._newest: Alerts | None = None

    def alerts(self, status: Status) -> Alerts:
        """The alerts that this process or another one has found lately; else what the status says by itself."""
        if self._newest is not None:
            return self._newest
        kept = self._kept()
        if kept is not None and abs(status.at - kept.at) <= 3 * self._every:
            return kept
        alarms, gauges = Alarms(self._rules, kept.alerts if kept else ()), Gauges()
        self._look(alarms, gauges, status)
        return Alerts(status.at, self._rules, alarms.alerts())

    @contextmanager
    def watching(
        self, status: Callable[[], Status], notifier: Notifier | None, told: Callable[[Alert], object]
    ) -> Iterator[None]:
        """Meanwhile look, and tell of alerts that begin to fire or are resolved."""
        kept = self._kept()
        alarms, gauges = Alarms(self._rules, kept.alerts if kept else ()), Gauges()

        def look() -> None:
            now = status()
            changed = self._look(alarms, gauges, now)
            for alert in changed:
                if notifier is not None:
                    notifier.send(alert)
            self._keep(Alerts(now.at, self._rules, alarms.alerts(), notifier.undelivered if notifier else None))
            for alert in changed:
                told(alert)

        try:
            with notifier or nullcontext(), meanwhile("looking at alerts", look, self._every):
                yield
        finally:
            self._newest = None

    def _look(self, alarms: Alarms, gauges: Gauges, status: Status) -> list[Alert]:
        gauges.take(status)
        return alarms.take({rule.name: gauges.measure(rule.when, status) for rule in self._rules}, status.at)

    def _keep(self, alerts: Alerts) -> None:
        self._newest = alerts
        record = {name: value for name, value in alerts.as_dict().items() if name != "rules"}
        tell("alerts", self._file, record)

    def _kept(self) -> Alerts | None:
        """The alerts that a run has kept, of the rules that there still are."""
        try:
            record = json.loads(self._file.read_text(encoding="utf-8"))
            alerts = tuple(Alert.read(alert) for alert in record["alerts"])
            at = datetime.fromisoformat(record["at"])
        except (OSError, ValueError, KeyError, TypeError):  # there is nothing yet, or nothing that we understand
            return None
        names = {rule.name for rule in self._rules}
        kept = Alerts(at, self._rules, alerts, record.get("undelivered"))
        return replace(kept, alerts=tuple(alert for alert in alerts if alert.rule in names))
