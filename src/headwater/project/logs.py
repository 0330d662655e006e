"""The logs of a project: where each of them is, below its data, and from which commit on one is meant.

A topic has a log of its events, one of its dead letters and one of their redrives; an outlet has one of what could not
be delivered, a view that others read has one of its final rows, and the project has one of its schemas.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headwater import model
from headwater.config import Settings
from headwater.intake.attempts import redrives_topic
from headwater.intake.dead import dead_topic
from headwater.log import Storage, TopicLog, folder_of, open_storage
from headwater.log import read as reading
from headwater.log.journal import Now
from headwater.log.maintenance import Maintainer
from headwater.outlets.dead import undelivered_topic
from headwater.plan import PlannedOutlet, PlannedView
from headwater.project.declarations import Declarations
from headwater.schemas.known import TOPIC as SCHEMAS

Since = int | datetime | timedelta | None
"""A commit, an instant of arrival, or how long ago."""
DERIVED = "derived"
"""The folder of derived topics."""


class Logs:
    """Opens each log once, and looks after it. Thread-safe."""

    def __init__(self, declarations: Declarations, folder: Path, settings: Settings, now: Now) -> None:
        self._declarations = declarations
        self._data = settings.data if "://" in settings.data else f"{folder / settings.data}"
        self._options = settings.storage
        self._now = now
        self._maintainer = Maintainer()
        self._guard = threading.Lock()
        self._logs: dict[str, TopicLog] = {}

    def of(self, topic: str) -> TopicLog:
        """The log of a stream or table."""
        return self._open("log", self._declarations.topic(topic))

    def dead(self, topic: str) -> TopicLog:
        """The dead letters of a stream or table."""
        return self._open("dead", dead_topic(self._declarations.topic(topic)))

    def redrives(self, topic: str) -> TopicLog:
        """The log of what became of dead letters that were read again."""
        return self._open("redrives", redrives_topic(self._declarations.topic(topic)))

    def undelivered(self, planned: PlannedOutlet) -> TopicLog:
        """The dead letters of an outlet."""
        return self._open("undelivered", undelivered_topic(planned.outlet))

    def derived(self, planned: PlannedView) -> TopicLog:
        """The final rows of a view. A changed declaration gives others, and so another log: each plan has its own."""
        return self._open(DERIVED, planned.topic, f"/{planned.fingerprint}")

    def schemas(self) -> TopicLog:
        """The schemas of the project's own registry."""
        return self._open("schemas", SCHEMAS)

    def taken_in(self, kind: str, topic: model.Topic) -> TopicLog:
        """The log of what an intake of some kind keeps about what it has taken in."""
        return self._open(f"intake/{kind}", topic)

    @property
    def root(self) -> Storage:
        """The storage that all of them are in."""
        return open_storage(self._data, self._options)

    def storage(self, below: str) -> Storage:
        """A storage below the data of the project."""
        return open_storage(f"{self._data}/{below}", self._options)

    def first(self, log: TopicLog, since: Since) -> int:
        """The commit that is the first since then."""
        match since:
            case None:
                return 0
            case int():
                return since
            case timedelta():
                return reading.seek(log, self._now() - since)
            case datetime():
                return reading.seek(log, since if since.tzinfo else since.replace(tzinfo=UTC))

    def last(self, log: TopicLog, until: Since) -> int:
        """The commit that is the last until then: a commit itself, or the one before an instant."""
        if until is None:
            return log.head
        return until if isinstance(until, int) else self.first(log, until) - 1

    def committed(self, log: TopicLog, commit: int) -> None:
        """Look after a log, as is due after a commit, without keeping anyone waiting."""
        self._maintainer.after(log, commit)

    def close(self) -> None:
        """Wait for maintenance that is under way."""
        self._maintainer.close()

    def _open(self, kind: str, topic: model.Topic, below: str = "") -> TopicLog:
        path = f"{kind}/{folder_of(topic.name)}{below}"
        with self._guard:
            if path not in self._logs:
                self._logs[path] = TopicLog(topic, self.storage(path), now=self._now)
            return self._logs[path]
