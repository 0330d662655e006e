"""The changes of a registry: a log of its own, one change to a commit. What is known is their fold.

Of two processes that change it at once one is told that it was overtaken, reads what the other has written, and decides
again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

from headwater.errors import Fenced
from headwater.log import Move, TopicLog
from headwater.log.read import read
from headwater.schemas.known import COLUMNS, Known

T = TypeVar("T")
_PRODUCER = "schemas"
_TRIES = 20


class Changes:
    """The changes in a log. Thread-safe; `folded` is what was known when it was last read."""

    def __init__(self, log: TopicLog) -> None:
        self.folded = Known()
        self._log = log
        self._guard = threading.RLock()
        self._read = -1

    def known(self) -> Known:
        """All that is known, with whatever was changed since."""
        with self._guard:
            head = self._log.head
            if head > self._read:
                for record in read(self._log, self._read + 1, head, list(COLUMNS)).to_pylist():
                    self.folded.apply(record)
                self._read = head
            return self.folded

    def make(self, decide: Callable[[], tuple[T, dict[str, Any] | None]]) -> T:
        """Make the change that `decide` decides by what is known now; again, if somebody else was faster."""
        with self._guard:
            for _ in range(_TRIES):
                self.known()
                before = self._log.position(_PRODUCER)
                answer, record = decide()
                if record is None:
                    return answer
                move = Move(_PRODUCER, before, (before or 0) + 1)
                rows = pa.Table.from_pylist([record], self._log.topic.schema)
                try:
                    self._log.append(rows, moves=[move])
                except Fenced:
                    continue
                self.known()
                return answer
            raise Fenced("other writers kept changing the schema registry", hint="Repeat the call.")
