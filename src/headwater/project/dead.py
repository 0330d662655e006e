"""The dead letters of a project: of its topics, what could not be read; of its outlets, what could not be delivered."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from headwater import model
from headwater.intake.attempts import record_redrive, with_attempts
from headwater.intake.redrive import Redriven, count_open, open_letters, redrive
from headwater.log import read as reading
from headwater.operate.audit import Audit
from headwater.outlets.dead import seen_once
from headwater.project.append import Appender
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes
from headwater.project.logs import Logs, Since


class Letters:
    """Reads dead letters, and brings back what can be read by now."""

    def __init__(
        self, declarations: Declarations, logs: Logs, appender: Appender, intakes: Intakes, audit: Audit
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._appender = appender
        self._intakes = intakes
        self._audit = audit

    def read(self, name: str, since: Since, error: str | None) -> pa.Table:
        """The dead letters of a topic or an outlet; see `Project.dead`."""
        if isinstance(self._declarations.declared.find(name), model.Outlet):
            log = self._logs.undelivered(self._declarations.plan().outlet(name))
            return seen_once(_of_class(reading.read(log, self._logs.first(log, since)), error))
        dead = self._logs.dead(name)
        letters = open_letters(self._logs.of(name), reading.read(dead, self._logs.first(dead, since)))
        return with_attempts(self._logs.redrives(name), _of_class(letters, error))

    def redrive(self, topic: str, since: Since, error: str | None) -> Redriven:
        """Append what can be read now; see `Project.redrive`."""
        log, dead = self._logs.of(topic), self._logs.dead(topic)
        codec, decoder = self._intakes.codec(log.topic), self._appender.decoder(topic)
        self._audit.note("redrive", log.topic.name, since=since, error=error)
        first, last = self._logs.first(dead, since), dead.head
        done = redrive(log, dead, decoder, codec=codec, first=first, error=error)
        if done.rows or done.dead:
            record_redrive(self._logs.redrives(topic), first, last, error, done)
        self._logs.committed(log, log.head)
        return done

    def count(self, topics: Iterable[str]) -> int:
        """The number of letters of topics that no redrive has brought back."""
        return sum(count_open(self._logs.of(name), self._logs.dead(name)) for name in topics)


def _of_class(letters: pa.Table, error: str | None) -> pa.Table:
    return letters if error is None else letters.filter(pc.equal(letters["error"], error))
