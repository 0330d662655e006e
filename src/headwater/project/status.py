"""The status of a project: its topics, views and outlets, and what the rules of alerts say of them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from headwater.config import Settings
from headwater.errors import SettingsRefused
from headwater.log import TopicLog
from headwater.log.journal import Now
from headwater.operate import Alert, Alerts, Status, Views
from headwater.operate.board import Board
from headwater.operate.figures import Gauge
from headwater.operate.integrity import IntegrityRecord
from headwater.operate.notify import Notifier, Webhook
from headwater.operate.watchman import Watchman, checked_rules
from headwater.outlets.webhook import Waiting
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes
from headwater.project.outlet import Outlets
from headwater.waiting import Until


class Overview:
    """Tells how a project is: by what its stores and logs hold, and the figures of what runs, here or elsewhere.

    `gauge` takes the figures of what runs here.
    """

    def __init__(
        self,
        declarations: Declarations,
        intakes: Intakes,
        views: Callable[[], Views],
        outlets: Outlets,
        folder: Path,
        settings: Settings,
        now: Now,
    ) -> None:
        self._declarations = declarations
        self._intakes = intakes
        self._views = views
        self._outlets = outlets
        self._settings = settings
        self._now = now
        home = folder / ".headwater"
        rules = checked_rules(settings.rules(), declarations.declared, complete=declarations.are_whole)
        self._watchman = Watchman(rules, settings.alerting.every, home)
        self._board = Board(home)
        self._integrity = IntegrityRecord(home)
        self.gauge = Gauge(lambda view, name: _logs(views(), view)[name], now)

    def status(self) -> Status:
        """The status of everything; see `Project.status`."""
        measured = self._measured()
        return replace(measured, alerts=self._watchman.alerts(measured).alerts)

    def alerts(self) -> Alerts:
        """The alerts of the rules; see `Project.alerts`."""
        return self._watchman.alerts(self._measured())

    def watched(self, wanted: threading.Event, alerted: Callable[[Alert], object]) -> AbstractContextManager[None]:
        """Meanwhile look at the rules, and tell of alerts that begin to fire or are resolved."""
        return self._watchman.watching(self._measured, self._notifier(wanted), alerted)

    def told(self) -> AbstractContextManager[None]:
        """Meanwhile tell other processes the figures of what runs here."""
        return self._board.told(self.gauge.figures, self._now)

    def _measured(self) -> Status:
        """The status without alerts, which are told from it."""
        plan = self._declarations.plan()
        topics = [self._intakes.status(name) for name in plan.topics]
        figures = [*self._board.read(self._now()), *self.gauge.figures()]  # of what ran here, what is known here
        views = self._views().inspect.status({topic.topic: topic.dead for topic in topics}, figures)
        outlets = [self._outlets.status(planned) for planned in plan.outlets.values()]
        integrity = self._integrity.read()
        return Status(
            self._settings.name, self._now(), tuple(topics), tuple(views), tuple(outlets), integrity=integrity
        )

    def _notifier(self, wanted: threading.Event) -> Notifier | None:
        settings, webhooks = self._settings.alerting, self._settings.webhooks
        if settings.to is None:
            return None
        if settings.headers is not None and settings.headers not in webhooks:
            raise SettingsRefused(
                f'alerting names the headers "{settings.headers}", which are not there',
                hint=f"Write them into [webhooks.{settings.headers}] of headwater.toml.",
            )
        headers = webhooks[settings.headers] if settings.headers else {}
        waiting = Waiting(Until(wanted), self._now, random.random)
        return Notifier(self._settings.name, Webhook(settings.to, headers, settings.secret), waiting)


def _logs(views: Views, view: str) -> dict[str, TopicLog]:
    return views.catalog.logs(views.catalog.plan.view(view))
