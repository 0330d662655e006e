"""Ticking: the watermarks of silent topics go on while views follow them, so that windows close without new events.

A topic that declares `idle` is ticked every second; once it has been silent for long, at every tenth of its silence, up
to a minute: a topic that rests over night doesn't fill its log with ticks. A topic with an intake is ticked by that: it
alone knows whether a source is silent, or we are behind.

Where views have windows over `_arrived_at`, a silent topic is told the time when one of them ends that has rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from headwater.log import Appended, TopicLog
from headwater.log.journal import instant
from headwater.operate.meanwhile import meanwhile, tell_failure
from headwater.plan.closing import Closing

Closings = Mapping[str, Sequence[Closing]]
SHORTEST, LONGEST = timedelta(seconds=1), timedelta(minutes=1)


def pause_after(silence: timedelta) -> timedelta:
    """The time for which a topic that has been silent for so long is left alone before the next tick.

    >>> pause_after(timedelta(seconds=3)).total_seconds(), pause_after(timedelta(minutes=2)).total_seconds()
    (1.0, 12.0)
    """
    return max(SHORTEST, min(LONGEST, silence / 10))


class Ticker:
    """Ticks topics in a thread of its own. `after` is told of each tick's commit.

    `closing` gives, by topic, when windows over its arrival close.
    """

    def __init__(
        self, logs: Iterable[TopicLog], after: Callable[[TopicLog, int], None], closing: Callable[[], Closings] = dict
    ) -> None:
        self._next = dict[TopicLog, datetime]()
        self._logs = set[TopicLog]()
        self.add(logs)
        self._after = after
        self._closing = closing
        self._ticking = meanwhile("ticking", self._tick_those_due, SHORTEST)

    def __enter__(self) -> Ticker:
        self._ticking.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._ticking.__exit__(None, None, None)

    def add(self, logs: Iterable[TopicLog]) -> None:
        """Tick these as well: for silence those of them that declare `idle` and that nothing fetches events for."""
        added = list(logs)
        self._logs |= set(added)
        self._next |= {log: log.now() for log in added if log.topic.idle is not None and log.topic.intake is None}

    def _tick_those_due(self) -> None:
        for log, due_at in list(self._next.items()):
            if log.now() >= due_at:
                self._next[log] = self._tick(log)
        closings = self._closing()
        for log in [log for log in self._logs if log.topic.name in closings]:
            self._close(log, closings[log.topic.name])

    def _close(self, log: TopicLog, closings: Sequence[Closing]) -> None:
        """Tell a topic the time if a window over its arrival has ended since the last that it knows of."""
        try:
            before = log.head
            clock = log.clock
            due = [closing.due_after(instant(clock.present), instant(clock.arrived)) for closing in closings]
            if before > 0 and any(due_at is not None and due_at <= log.now() for due_at in due):
                self._count(log, before, log.pass_time())
        except Exception as failure:  # the other topics are ticked nevertheless
            tell_failure(f"ticking {log.topic.name}", failure)

    def _tick(self, log: TopicLog) -> datetime:
        """Tick a topic that has events; tell when it is due again."""
        try:
            before = log.head
            if before > 0:
                self._count(log, before, log.tick_silence())
            now = log.now()
            return now + pause_after(now - instant(log.clock.arrived))
        except Exception as failure:  # the other topics are ticked nevertheless
            tell_failure(f"ticking {log.topic.name}", failure)
            return log.now() + SHORTEST

    def _count(self, log: TopicLog, before: int, ticked: Appended) -> None:
        if ticked.commit > before:
            self._after(log, ticked.commit)
