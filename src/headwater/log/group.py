"""Group commit: callers that come while a commit is under way share the next one.

No caller waits for company: the first one commits at once, and everyone who arrives while it writes is taken along by
the next. Under load the groups grow by themselves, and an idle log answers as fast as it can.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass
class _Ticket(Generic[Request, Answer]):
    request: Request
    answer: Answer | BaseException | None = None
    called: threading.Event = field(default_factory=threading.Event)
    """Set when the answer is there, or when it is this caller's turn to lead."""


class Group(Generic[Request, Answer]):
    """Serves requests in groups, in the order in which they came, one group at a time.

    `serve` gets the requests of a group and returns as many answers, in order; an answer that is an exception is
    raised to its own caller only. If `serve` itself raises, every caller of the group gets that error.
    """

    def __init__(self, serve: Callable[[Sequence[Request]], Sequence[Answer | BaseException]]) -> None:
        self._serve = serve
        self._waiting: list[_Ticket[Request, Answer]] = []
        self._led = False
        self._guard = threading.Lock()
        self.turn = threading.RLock()
        """Held while a group is served; hold it to keep every commit of this process out."""

    def submit(self, request: Request) -> Answer:
        """Have a request served; returns when its group has been."""
        ticket: _Ticket[Request, Answer] = _Ticket(request)
        with self._guard:
            self._waiting.append(ticket)
            leads, self._led = not self._led, True
        if not leads:
            ticket.called.wait()
        if ticket.answer is None:
            self._lead()
        if isinstance(ticket.answer, BaseException):
            raise ticket.answer
        assert ticket.answer is not None
        return ticket.answer

    def _lead(self) -> None:
        """Serve everyone who is waiting, and let the first of those who have come meanwhile lead next."""
        with self.turn:
            with self._guard:
                group, self._waiting = self._waiting, []
            try:
                answers = self._serve([ticket.request for ticket in group])
            except BaseException as error:
                answers = [error] * len(group)
        for ticket, answer in zip(group, answers, strict=True):
            ticket.answer = answer
            ticket.called.set()
        with self._guard:
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].called.set()
