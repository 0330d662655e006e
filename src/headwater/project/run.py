"""The run of a project: intakes, views and outlets side by side, until the end is wanted.

Beside them silent topics are ticked, alerts are looked at, figures are told to other processes, and promotions that
one of those asks for are obeyed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from headwater.errors import HeadwaterError
from headwater.log import TopicLog
from headwater.operate import Alert, CaughtUp, Reading, Views
from headwater.operate.meanwhile import meanwhile
from headwater.operate.outlet import OutletRun, Sending, Sent
from headwater.operate.promotion import Promotion
from headwater.operate.ticking import Ticker
from headwater.operate.wish import Wishes
from headwater.plan import Plan
from headwater.plan.closing import Closing, closings
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes, Waits
from headwater.project.logs import Logs
from headwater.project.outlet import Outlets
from headwater.project.status import Overview

SCRUB = timedelta(hours=1)
"""How often a share of the logs is read and checked."""
POLL = timedelta(milliseconds=50)
"""How often is looked whether the end, or a promotion, is wanted."""


class Promote(Protocol):
    """Lets what the folder declares now take effect."""

    def __call__(self, *, only_tell: bool) -> Promotion:
        """Take it over, or tell only what that would change."""


@dataclass(frozen=True)
class Listeners:
    """Who is told what happens, from several threads; see `Project.run`."""

    progress: Callable[[Reading], None]
    ended: Callable[[CaughtUp], None]
    failed: Callable[[HeadwaterError], None]
    waits: Waits
    sent: Callable[[Sent], None]
    alerted: Callable[[Alert], None]
    promoted: Callable[[Promotion | HeadwaterError], None]


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
        promote: Promote,
        scrub_share: Callable[[], object],
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._wishes = wishes
        self._intakes = intakes
        self._views = views
        self._outlets = outlets
        self._overview = overview
        self._promote = promote
        self._scrub_share = scrub_share
        self._ticker: Ticker | None = None
        self._sending: Sending | None = None

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
        opened, gauge = self._views(), self._overview.gauge

        def report(reading: Reading) -> None:
            gauge.take(reading)
            listeners.progress(reading)

        def end(done: CaughtUp) -> None:
            gauge.end(done)
            listeners.ended(done)

        with (
            self._overview.watched(wanted, listeners.alerted),
            self._overview.told(),
            Ticker(self._topics(), self._logs.committed, self._closings) as self._ticker,
            meanwhile("scrubbing", self._scrub_share, SCRUB),
            meanwhile("promoting", lambda: self._obey_promotion(listeners.promoted), POLL),
            self._intakes.running(listeners.waits, listeners.failed) as takes_in,
            Sending(lambda name: self._outlet_run(name, listeners.sent), listeners.failed) as self._sending,
            meanwhile("stopping", lambda: opened.stop() if wanted.is_set() else None, POLL),
        ):
            self._sending.begin(self._outlets.names(views))
            done = opened.keep_up(views or None, options, report, end, wait=wait, stays=stays)
            while (takes_in() or self._sending.is_going_on) and not wanted.wait(POLL.total_seconds()):
                pass  # every view has ended, and the log or an outlet goes on
        return done

    def take_over(self, plan: Plan, promotion: Promotion) -> None:
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
        found: Promotion | HeadwaterError
        try:
            found = self._promote(only_tell=only_tell)
        except HeadwaterError as error:
            found = error
        outcome = {"error": found.as_dict()} if isinstance(found, HeadwaterError) else {"promotion": found.as_dict()}
        self._wishes.promotion_is_done(number, outcome)
        if not only_tell:
            promoted(found)
