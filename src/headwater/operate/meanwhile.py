"""Meanwhile: what is done again and again in a thread of its own, while something else runs.

A round that fails ends nothing. Its failure is logged with what to do about it, once until it changes, and the next
round tries again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from headwater.errors import HeadwaterError

_logger = logging.getLogger("headwater.run")


@contextmanager
def meanwhile(what: str, do: Callable[[], object], every: timedelta) -> Iterator[None]:
    """Meanwhile do something every so often, first after that time; the end waits for a round that is under way."""
    over = threading.Event()

    def go_on() -> None:
        told = ""
        while not over.wait(every.total_seconds()):
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


def tell_failure(what: str, failure: Exception, told: str = "") -> str:
    """Log that something failed and is tried again, unless the very same was `told` already; returns what is told."""
    found = _advised(failure)
    if found != told:
        ours = not isinstance(failure, HeadwaterError | OSError)
        _logger.warning("%s failed and will be tried again: %s", what, found, exc_info=failure if ours else None)
    return found


def _advised(failure: Exception) -> str:
    """What failed, and what to do about it.

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
