"""The audit trail: who did what to a project, and when. One JSON line per act, added before the act is done.

An *actor* is whom an act is laid to: the user of the operating system in a terminal or in Python, a token over HTTP and
on the dashboard. Secrets are never written down.
"""

from __future__ import annotations

import errno
import getpass
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwater.operate.record import written

FILE = "audit.jsonl"
_actor: ContextVar[str | None] = ContextVar("actor", default=None)


@dataclass(frozen=True)
class Act:
    """Something that was done to a project; `subject` is what it was done to."""

    at: str
    actor: str
    act: str
    subject: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def set_actor(name: str) -> None:
    """Lay what is done from here on, in this request, to somebody."""
    _actor.set(name)


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Lay what is done meanwhile to somebody."""
    before = _actor.set(name)
    try:
        yield
    finally:
        _actor.reset(before)


def actor() -> str:
    """The one whom an act is laid to."""
    return _actor.get() or f"user {_user()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return str(os.getuid())


class Audit:
    """The trail of a project, in a file that only its owner can read."""

    def __init__(self, folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = folder / FILE
        self._now = now

    def note(self, act: str, subject: str | None = None, **details: Any) -> None:
        """Write down what is about to be done; what can't be written down isn't done."""
        known = {name: value for name, value in details.items() if value is not None}
        line = json.dumps(asdict(Act(self._now().isoformat(), actor(), act, subject, known)), default=str)
        with written(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                _append(descriptor, f"{line}\n".encode())
            finally:
                os.close(descriptor)

    def read(self, last: int | None = None) -> list[Act]:
        """The acts, oldest first; the `last` so many. A line that was cut off by a crash is left out."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        acts = [act for line in lines if (act := _act(line)) is not None]
        return acts if last is None else acts[max(len(acts) - last, 0) :]


def _act(line: str) -> Act | None:
    try:
        return Act(**json.loads(line))
    except (ValueError, TypeError):
        return None


def _append(descriptor: int, line: bytes) -> None:
    """Write a line in one call, so that lines of several processes don't mix; behind one that was cut off, on its own.

    A disk that fills up takes a part of a line: that is no line.
    """
    end = os.fstat(descriptor).st_size
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        line = b"\n" + line
    if os.write(descriptor, line) < len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)
