"""Work that is done again and again for several, in one thread for all of them, while there is any of them.

A round that fails ends nothing. Its failure is logged with what to do about it, once until it changes, and the next
round tries again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from headwater.errors import HeadwaterError

_logger = logging.getLogger("headwater.run")


@contextmanager
def meanwhile(what: str, do: Callable[[], object], every: timedelta, *, at_once: bool = False) -> Iterator[None]:
    """Meanwhile do something every so often, first after that time or `at_once`; the end waits for the round."""
    over = threading.Event()

    def go_on() -> None:
        told, rest = "", timedelta() if at_once else every
        while not over.wait(rest.total_seconds()):
            rest = every
            try:
                do()
                told = ""
            except Exception as failure:
                told = tell_failure(what, failure, told)

    thread = threading.Thread(target=go_on, name=f"headwater-{what}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@dataclass(eq=False)
class _Part:
    """Something that is done in each round, of which one at a time is done; `told` is why it failed last."""

    what: str
    do: Callable[[], object]
    turn: threading.Lock = field(default_factory=threading.Lock)
    told: str = ""


class Rounds:
    """Work that is done again and again for several, in one thread for all of them, while there is any of them."""

    def __init__(self, name: str, every: timedelta) -> None:
        self._name = name
        self._every = every
        self._guard = threading.Lock()
        self._parts: list[_Part] = []
        self._going_on = ExitStack()

    @contextmanager
    def take_part(self, what: str, do: Callable[[], object]) -> Iterator[None]:
        """Meanwhile do this in each round; the end waits for it, if it is being done."""
        part = _Part(what, do)
        with self._guard:
            self._parts.append(part)
            if len(self._parts) == 1:
                self._going_on.enter_context(meanwhile(self._name, self._round, self._every))
        try:
            yield
        finally:
            with self._guard:
                with part.turn:
                    self._parts.remove(part)
                if not self._parts:
                    self._going_on.close()

    def _round(self) -> None:
        for part in tuple(self._parts):
            with part.turn:
                try:
                    if part in self._parts:
                        part.do()
                        part.told = ""
                except Exception as failure:  # the others have their turn nevertheless
                    part.told = tell_failure(part.what, failure, part.told)


def tell_failure(what: str, failure: Exception, told: str = "") -> str:
    """Log that something failed and is tried again, unless the very same was `told` already; returns what is told."""
    advice = _advised(failure)
    if advice != told:
        ours = not isinstance(failure, HeadwaterError | OSError)
        _logger.warning("%s failed and will be tried again: %s", what, advice, exc_info=failure if ours else None)
    return advice


def _advised(failure: Exception) -> str:
    """The text of a failure, and what to do about it.

    >>> _advised(HeadwaterError("the log could not be read", hint="Look at the disk."))
    'the log could not be read. Look at the disk.'
    """
    match failure:
        case HeadwaterError():
            return f"{failure.summary}. {failure.hint}" if failure.hint else failure.summary
        case OSError():
            return f"{failure}. Make sure that the project's folder can be read and written and that its disk has room."
        case _:
            return f"{type(failure).__name__}: {failure}. This is a mistake of ours: please report it."
