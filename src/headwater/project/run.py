"""The run of a project: intakes, views and outlets side by side, until the end is wanted.

Beside them silent topics are ticked, alerts are looked at, figures are told to other processes, and promotions that
one of those asks for are obeyed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from headwater.errors import HeadwaterError
from headwater.log import TopicLog
from headwater.operate import Alert, CaughtUp, Reading, Views
from headwater.operate.meanwhile import meanwhile
from headwater.operate.outlet import OutletRun, Sending, Sent
from headwater.operate.promotion import Promotion
from headwater.operate.ticking import Ticker
from headwater.operate.wish import POLL as WISH_POLL
from headwater.operate.wish import Wishes
from headwater.plan import Plan
from headwater.plan.closing import Closing, closings
from headwater.project.admin import Administration
from headwater.project.declarations import Declarations
from headwater.project.delegate import Delegate
from headwater.project.intake import Intakes, Waits
from headwater.project.logs import Logs
from headwater.project.outlet import Outlets
from headwater.project.status import Overview

SCRUB = timedelta(hours=1)
"""A share of the logs is read and checked so often."""
POLL = timedelta(milliseconds=50)
"""The wait between two looks whether the end is wanted."""
_LOOK = 0.2
"""Seconds that one look waits for it; who is told to end waits for that."""


def _silent(*_: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Listeners:
    """Listeners that are told what happens while a project runs, from several threads.

    `progress`: how far a view has come. `ended`: what became of a view whose run is over. `failed`: why an intake or an
    outlet has stopped for good. `waits`: what a topic's intake waits for, and (None) that it goes on. `sent`: how far
    an outlet has come. `alerted`: an alert that begins to fire or is resolved. `promoted`: what came of a promotion
    that another process asked for.
    """

    progress: Callable[[Reading], None] = _silent
    ended: Callable[[CaughtUp], None] = _silent
    failed: Callable[[HeadwaterError], None] = _silent
    waits: Waits = _silent
    sent: Callable[[Sent], None] = _silent
    alerted: Callable[[Alert], None] = _silent
    promoted: Callable[[Promotion | HeadwaterError], None] = _silent


class Runner:
    """Runs a project, and lets what runs follow a promotion."""

    def __init__(
        self,
        declarations: Declarations,
        logs: Logs,
        wishes: Wishes,
        intakes: Intakes,
        views: Callable[[], Views],
        outlets: Outlets,
        overview: Overview,
        admin: Administration,
        scrub_share: Callable[[], object],
        delegate: Delegate,
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._wishes = wishes
        self._intakes = intakes
        self._views = views
        self._outlets = outlets
        self._overview = overview
        self._admin = admin
        self._scrub_share = scrub_share
        self._delegate = delegate
        self._ticker: Ticker | None = None
        self._sending: Sending | None = None
        declarations.followers.append(self._take_over)

    def run(
        self,
        views: Sequence[str],
        options: Mapping[str, str] | None,
        listeners: Listeners,
        wanted: threading.Event,
        *,
        wait: bool,
        stays: bool,
    ) -> list[CaughtUp]:
        """Run views, all if none is named, and everything else; see `Project.run`."""
        view_runs, gauge = self._views().run, self._overview.gauge
        gauge.begin(planned.name for planned in self._views().catalog.materialized(views or None))

        def report(reading: Reading) -> None:
            gauge.take(reading)
            listeners.progress(reading)

        def end(done: CaughtUp) -> None:
            gauge.end(done)
            listeners.ended(done)

        with (
            self._overview.watched(wanted, listeners.alerted),
            self._overview.told(),
            self._delegate.desk(),
            Ticker(self._topics(), self._logs.committed, self._closings) as self._ticker,
            meanwhile("scrubbing", self._scrub_share, SCRUB),
            meanwhile("promoting", lambda: self._obey_promotion(listeners.promoted), WISH_POLL),
            self._intakes.running(listeners.waits, listeners.failed) as takes_in,
            Sending(lambda name: self._outlet_run(name, listeners.sent), listeners.failed) as self._sending,
            meanwhile("stopping", lambda: view_runs.stop() if wanted.wait(_LOOK) else None, POLL),
        ):
            self._sending.begin(self._outlets.names(*views))
            done = view_runs.keep_up(views or None, options, report, end, wait=wait, stays=stays)
            while (takes_in() or self._sending.is_going_on) and not wanted.wait(POLL.total_seconds()):
                pass  # every view has ended, and the log or an outlet goes on
        return done

    def _take_over(self, plan: Plan, promotion: Promotion) -> None:
        """Let the outlets and the ticks that run here follow other declarations."""
        if self._sending is not None:
            self._sending.renew(promotion.outlets, [name for name in promotion.outlets if name in plan.outlets])
        if self._ticker is not None:
            self._ticker.add(self._logs.of(name) for name in promotion.topics)

    def _topics(self) -> list[TopicLog]:
        return [self._logs.of(name) for name in self._declarations.plan().topics]

    def _closings(self) -> Mapping[str, Sequence[Closing]]:
        return closings(self._declarations.plan())

    def _outlet_run(self, name: str, sent: Callable[[Sent], None]) -> OutletRun:
        return self._outlets.run(self._declarations.plan().outlet(name), sent)

    def _obey_promotion(self, promoted: Callable[[Promotion | HeadwaterError], None]) -> None:
        """Promote, if another process has asked for it."""
        asked = self._wishes.promotion()
        if asked is None:
            return
        number, only_tell = asked
        result: Promotion | HeadwaterError
        try:
            result = self._admin.promote(only_tell=only_tell, may=True)
        except HeadwaterError as error:
            result = error
        outcome = {"error": result.as_dict()} if isinstance(result, HeadwaterError) else {"promotion": result.as_dict()}
        self._wishes.promotion_is_done(number, outcome)
        if not only_tell:
            promoted(result)
