"""Crashes: a process that stops in the middle of a run, at a chosen point.

What a process does to the world it does by calls to a few parts, such as a store. Each method of such a part is two
*crash points*: `before apply` is a process that dies when it is about to call `apply`, `after apply` one that dies when
the call has done its work and hasn't returned. A *fuse* makes it so: once it has blown, the process is dead, and
nothing that it calls happens any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from headwater.errors import ArgumentRefused, HeadwaterError
from headwater.store import Store, Target

Part = TypeVar("Part")
_METHODS = sorted(name for name, member in vars(Store).items() if callable(member) and not name.startswith("_"))
_HARMLESS = {"close"}
"""These may still be called when the process is dead: files are let go of, as the operating system would."""


@dataclass(frozen=True)
class Crash:
    """The end of a process: at a point, when it comes there for the `time`-th time, be it for any view or for one.

    A point is `before` or `after` a method of a store. With `apply`, the time is the number of the micro-batch in the
    run: after `after apply` the store has the batch and Spark doesn't know, after `before apply` neither has it.
    """

    point: str = "after apply"
    time: int = 1
    view: str | None = None

    def __post_init__(self) -> None:
        when, _, method = self.point.partition(" ")
        if when not in ("before", "after") or method not in _METHODS or self.time < 1:
            raise ArgumentRefused(
                f'there is no crash point "{self.point}", time {self.time}',
                detail=f"A point is before or after one of: {', '.join(_METHODS)}. Times count from 1.",
            )


class Crashed(HeadwaterError):
    """The process that made this call is dead. Never raised outside of a scenario's crash."""


class Fuse:
    """The fuse that decides that one process dies, shared by all its parts."""

    def __init__(self) -> None:
        self.is_blown = False
        self._crash: Crash | None = None
        self._passed = 0
        self._guard = threading.Lock()

    def arm(self, crash: Crash) -> None:
        """Let the process die there."""
        with self._guard:
            self._crash, self._passed = crash, 0

    def passes(self, point: str, view: str | None = None) -> None:
        """Called when the process comes to a point, for a view; `Crashed` if it dies here or is dead already."""
        with self._guard:
            if self._crash is not None and point == self._crash.point and self._crash.view in (None, view):
                self._passed += 1
                self.is_blown |= self._passed == self._crash.time
            if self.is_blown:
                raise Crashed("the process has crashed", detail=f"It came to the point: {point}.", point=point)


def doomed(part: Part, fuse: Fuse) -> Part:
    """The same part for a process that may die: each of its methods passes the fuse before and after.

    >>> fuse = Fuse()
    >>> store = doomed({"rows": 1}, fuse)
    >>> fuse.arm(Crash("before drop"))
    >>> store.get("rows")
    1
    """
    return cast(Part, _Doomed(part, fuse))


class _Doomed:
    def __init__(self, part: Any, fuse: Fuse) -> None:
        self._part = part
        self._fuse = fuse

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._part, name)

        def call(*arguments: Any, **named: Any) -> Any:
            first = arguments[0] if arguments else None
            view = first.view if isinstance(first, Target) else first
            self._fuse.passes(f"before {name}", view)
            answer = method(*arguments, **named)
            self._fuse.passes(f"after {name}", view)
            return answer

        return method if name in _HARMLESS else call
