"""Wishes: what an operator wants of views and intakes, kept below the project until it is done or taken back.

A *pause* lasts until it is taken back, over restarts. A *replay* is asked for once, and done by whichever run works on
the view. A *promotion* lets the run of the project take changed declarations over. Wishes are files, so that any
process can leave one, and every run of the project obeys it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from headwater.log import folder_of, wall_clock
from headwater.operate.halt import Halt
from headwater.operate.meanwhile import Rounds
from headwater.operate.record import put
from headwater.waiting import wait_for

POLL = timedelta(milliseconds=200)
"""A wish is noticed so soon."""
PROMOTION = timedelta(seconds=10)
"""A run is given so long to take a promotion up."""
Subject = Literal["view", "intake"]


@dataclass(frozen=True)
class Paused:
    """Since when something is paused, and why, if whoever paused it has said."""

    since: datetime
    reason: str | None = None

    def __str__(self) -> str:
        told = f": {self.reason}" if self.reason else ""
        return f"paused since {self.since:%Y-%m-%d %H:%M:%S} UTC{told}"


class Wishes:
    """The wishes of a project, below its own folder."""

    def __init__(self, home: Path, now: Callable[[], datetime] = wall_clock) -> None:
        self._folder = home / "wishes"
        self._looks = Rounds("obeying", POLL)
        self._now = now

    def pause(self, subject: Subject, name: str, reason: str | None = None) -> Paused:
        """Let a view or an intake rest; one that does goes on doing so, since when it did."""
        paused = Paused(before.since if (before := self.paused(subject, name)) else self._now(), reason)
        record = {"since": paused.since.isoformat(), "reason": paused.reason}
        put(self._folder_for(subject, name) / "paused", json.dumps(record))
        return paused

    def resume(self, subject: Subject, name: str) -> None:
        """Take a pause back; a view that has stopped begins again."""
        put(self._folder_for(subject, name) / "resumed", self._now().isoformat())
        (self._folder_for(subject, name) / "paused").unlink(missing_ok=True)

    def paused(self, subject: Subject, name: str) -> Paused | None:
        """The pause of a view or an intake."""
        text = _text(self._folder_for(subject, name) / "paused")
        if text is None:
            return None
        record = json.loads(text)
        return Paused(datetime.fromisoformat(record["since"]), record["reason"])

    def resumed(self, subject: Subject, name: str) -> str | None:
        """A text that is another one after each time that something was resumed."""
        return _text(self._folder_for(subject, name) / "resumed")

    def ask_replay(self, view: str) -> None:
        """Let whichever run works on a view build it anew."""
        put(self._replay(view), self._now().isoformat())

    def is_replay_asked(self, view: str) -> bool:
        """Tells whether a replay is still to be done."""
        return self._replay(view).exists()

    def replay_is_begun(self, view: str) -> None:
        """Forget that a replay was asked for: nothing of the version before can be gone on from any more."""
        self._replay(view).unlink(missing_ok=True)

    def ask_promotion(self, *, only_tell: bool) -> str:
        """Let the run of the project take its declarations over, or only tell what that would mean; gives a number."""
        number = self._now().isoformat()
        put(self._folder / "promotion", json.dumps({"number": number, "only_tell": only_tell}))
        return number

    def promotion(self) -> tuple[str, bool] | None:
        """A promotion that is asked for: its number, and whether it is only to be told."""
        text = _text(self._folder / "promotion")
        record = json.loads(text) if text is not None else None
        return None if record is None else (record["number"], record["only_tell"])

    def promotion_is_done(self, number: str, outcome: Mapping[str, Any]) -> None:
        """Write down what became of a promotion, for whoever has asked."""
        put(self._folder / "promoted", json.dumps({"number": number, "outcome": outcome}, default=str))
        (self._folder / "promotion").unlink(missing_ok=True)

    def promoted(self, number: str, within: timedelta) -> dict[str, Any] | None:
        """Wait for what became of a promotion; None, and it is no longer asked for, if no run has taken it up."""

        def outcome() -> dict[str, Any] | None:
            text = _text(self._folder / "promoted")
            record = json.loads(text) if text is not None else {}
            return dict(record["outcome"]) if record.get("number") == number else None

        told = wait_for(outcome, within, every=POLL / 4)
        if told is None:
            (self._folder / "promotion").unlink(missing_ok=True)
        return told

    def obeyed(self, subject: Subject, name: str, halt: Halt) -> AbstractContextManager[None]:
        """Meanwhile end the work of a view or an intake when it is to be paused, or replayed."""

        def look() -> None:
            if halt.is_wanted:
                return
            if self.paused(subject, name) or (subject == "view" and self.is_replay_asked(name)):
                threading.Thread(target=halt.now, daemon=True).start()  # which waits for a batch that is being written

        return self._looks.take_part(f"obeying what is wanted of {subject} {name}", look)

    def _replay(self, view: str) -> Path:
        return self._folder_for("view", view) / "replay"

    def _folder_for(self, subject: Subject, name: str) -> Path:
        return self._folder / subject / folder_of(name)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
