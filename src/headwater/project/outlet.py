"""The outlets of a project: what sends the changes of its views on, and how far each of them has come."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from headwater.config import Settings
from headwater.log.journal import Now
from headwater.operate import Patience, Views
from headwater.operate.halt import Halt
from headwater.operate.outlet import Notes, OutletRun, Sent, drain_outlets
from headwater.operate.status import OutletStatus
from headwater.outlets import OpenTarget, Surroundings
from headwater.plan import PlannedOutlet
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes
from headwater.project.logs import Logs

Tell = Callable[[Sent], None]


def _silent(_: Sent) -> None:
    """Tell nobody."""


class Outlets:
    """Makes the runs of outlets, and knows how far those that ran here have come."""

    def __init__(
        self,
        declarations: Declarations,
        logs: Logs,
        intakes: Intakes,
        views: Callable[[], Views],
        folder: Path,
        settings: Settings,
        patience: Patience,
        now: Now,
        open_target: OpenTarget,
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._intakes = intakes
        self._views = views
        self._folder = folder
        self._settings = settings
        self._patience = patience
        self._now = now
        self._open_target = open_target
        self._notes = Notes(folder / ".headwater" / "outlets")
        self._sent: dict[str, Sent] = {}

    def names(self, *views: str) -> list[str]:
        """The names of the outlets of views, by default of all."""
        plan = self._declarations.plan()
        named = {plan.view(name).name for name in views}
        return [planned.name for planned in plan.outlets.values() if not named or planned.view.name in named]

    def send(self, names: Sequence[str]) -> list[Sent]:
        """Send what outlets, all if none is named, have to send; see `Project.send`."""
        plan = self._declarations.plan()
        return drain_outlets([self.run(plan.outlet(name)) for name in names or self.names()])

    def run(self, planned: PlannedOutlet, tell: Tell = _silent) -> OutletRun:
        """A run of an outlet, which tells how far it has come."""

        def report(sent: Sent) -> None:
            self._sent[planned.name] = sent
            tell(sent)

        halt = Halt()
        surroundings = self._surroundings(halt)
        return OutletRun(
            planned,
            self._views().ask.feed(planned),
            lambda: self._open_target(planned, surroundings),
            lambda: self._logs.undelivered(planned),
            self._notes,
            self._patience,
            halt,
            random.random,
            self._now,
            report,
        )

    def status(self, planned: PlannedOutlet) -> OutletStatus:
        """The progress of an outlet, here or in another process."""
        sent = self._sent.get(planned.name) or self._notes.read(planned)
        feed = self._views().ask.feed(planned)
        return OutletStatus(sent, min(feed.lag(sent.place), feed.lag(sent.seen)))

    def _surroundings(self, halt: Halt) -> Surroundings:
        settings = self._settings
        return Surroundings(
            settings.name,
            self._folder,
            settings.kafka,
            settings.webhooks,
            settings.storage,
            self._logs.storage("outlets"),
            halt,
            self._now,
            random.random,
            self._intakes.schemas,
        )
