"""Keeping views up: each in a thread of its own, in runs that follow each other as the operator wishes.

A view that is paused rests until it is resumed. One that is to be replayed, or whose declaration was promoted, ends its
run and begins the next one. One that stopped for good can be resumed too, where the whole goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from headwater.operate.halt import Halt
from headwater.operate.mistake import KEPT, mistake
from headwater.operate.promotion import Promotion
from headwater.operate.supervise import CaughtUp, Reading
from headwater.operate.wish import POLL, Wishes
from headwater.waiting import wait_for

_JOIN = timedelta(milliseconds=500)


@dataclass(eq=False)
class Keeper:
    """Keeps views up. `run` does one run of a view until its halt is wanted; `ended` is told of each view's end.

    With `stays` it goes on though every view has stopped, since each can be resumed. One that `takes_new` keeps up
    views that a promotion adds.
    """

    run: Callable[[str, Halt], CaughtUp]
    wishes: Wishes
    report: Callable[[Reading], None]
    ended: Callable[[CaughtUp], object]
    halt: Halt
    stays: bool = False
    takes_new: bool = True
    _kept: dict[str, _Kept] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, names: Iterable[str]) -> None:
        """Keep these up as well."""
        with self._guard:
            for name in names:
                self._kept[name] = _Kept(name, self)
                self._kept[name].thread.start()

    def take_over(self, promotion: Promotion) -> None:
        """Let views that have changed end their runs and begin others, and keep up those that are declared now."""
        with self._guard:
            concerned = [self._kept[name] for name in promotion.changed if name in self._kept]
            gone = [self._kept.pop(name) for name in promotion.removed if name in self._kept]
        for kept in concerned:
            kept.renew()
        for kept in gone:
            threading.Thread(target=kept.halt.now, daemon=True).start()
        if self.takes_new and not self.halt.is_wanted:
            self.begin(promotion.added)

    def wait(self) -> list[CaughtUp]:
        """Wait until every view has ended; an interrupt ends them, and is passed on."""
        try:
            while self._is_going_on():
                at_work = next((kept.thread for kept in self._all() if kept.thread.is_alive()), None)
                if at_work is not None:
                    at_work.join(_JOIN.total_seconds())
                else:
                    self.halt.wait(_JOIN)
        except BaseException:
            self.halt.now()
            raise
        return [kept.done for kept in self._all()]

    def _is_going_on(self) -> bool:
        return any(kept.thread.is_alive() for kept in self._all()) or (self.stays and not self.halt.is_wanted)

    def _all(self) -> list[_Kept]:
        with self._guard:
            return list(self._kept.values())


class _Kept:
    """One view, and its runs."""

    def __init__(self, name: str, keeper: Keeper) -> None:
        self.name = name
        self.halt = keeper.halt.part()
        self.done = CaughtUp(name, 0)
        self.thread = threading.Thread(target=self._follow, name=f"view {name}", daemon=True)
        self._keeper = keeper
        self._run: Halt | None = None
        self._is_renewed = threading.Event()

    def renew(self) -> None:
        """End the run that goes on, in a thread of its own: a batch that is being written is finished."""
        self._is_renewed.set()
        if self._run is not None:
            threading.Thread(target=self._run.now, daemon=True).start()

    def _follow(self) -> None:
        try:
            self._go_on()
        except Exception as cause:
            self.done = replace(self.done, error=mistake("view", self.name, cause, KEPT))
            self._keeper.ended(self.done)

    def _go_on(self) -> None:
        is_told = False
        while not self.halt.is_wanted:
            if self._rests():
                continue
            resumed = self._resumed()
            self._is_renewed.clear()
            self._run = self.halt.part()
            self.done = self._keeper.run(self.name, self._run)
            is_told = not self._run.is_wanted
            if is_told:
                self._keeper.ended(self.done)
                if not self._keeper.stays:
                    return
                self._stop(resumed)
        if not is_told:
            self._keeper.ended(self.done)

    def _rests(self) -> bool:
        """Wait for a while if the view is paused, and tell whether it was."""
        if self._keeper.wishes.paused("view", self.name) is None:
            return False
        self._keeper.report(Reading(self.name, {}, {}, paused=True))
        wait_for(lambda: not self._keeper.wishes.paused("view", self.name), every=POLL, halt=self.halt)
        return True

    def _stop(self, resumed: str | None) -> None:
        """Wait until a view that has stopped shall begin again."""

        def shall_begin() -> bool:
            asked = self._keeper.wishes.is_replay_asked(self.name)
            return self._is_renewed.is_set() or self._resumed() != resumed or asked

        wait_for(shall_begin, every=POLL, halt=self.halt)

    def _resumed(self) -> str | None:
        return self._keeper.wishes.resumed("view", self.name)
