"""The board: the figures of a run, written down every other second, so that other processes can tell how it goes.

Each process that runs views has a file of its own below the project. One that is not fresh is that of a process that
has ended without a word: nobody believes it, and the next run removes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from headwater.operate.figures import Figures
from headwater.operate.meanwhile import meanwhile
from headwater.operate.record import tell

EVERY, FRESH = timedelta(seconds=2), timedelta(seconds=15)
_FILES = "figures-*.json"


class Board:
    """The figures of runs, in files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"figures-{os.getpid()}.json"

    def read(self, now: datetime) -> list[Figures]:
        """The figures that other processes have told lately of the views that they run."""
        by_view: dict[str, Figures] = {}
        for file in sorted(self._folder.glob(_FILES)):
            for figures in _read(file, now) if file != self._own else ():
                by_view[figures.view] = figures
        return list(by_view.values())

    @contextmanager
    def told(self, figures: Callable[[], Iterable[Figures]], now: Callable[[], datetime]) -> Iterator[None]:
        """Meanwhile tell the figures of what runs here."""
        self._clear(now())
        self._write(now(), figures())
        try:
            with meanwhile("telling figures", lambda: self._write(now(), figures()), EVERY):
                yield
        finally:
            self._own.unlink(missing_ok=True)

    def _write(self, at: datetime, figures: Iterable[Figures]) -> None:
        record = {"at": at.isoformat(), "views": [view.record(at) for view in figures]}
        tell("figures", self._own, record)

    def _clear(self, now: datetime) -> None:
        """Remove what nobody believes any more."""
        for file in self._folder.glob(_FILES):
            with suppress(OSError):
                if now.timestamp() - file.stat().st_mtime > FRESH.total_seconds():
                    file.unlink()


def _read(file: Path, now: datetime) -> list[Figures]:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        at = datetime.fromisoformat(record["at"])
        return [Figures.read(view, at) for view in record["views"]] if abs(now - at) <= FRESH else []
    except (OSError, ValueError, KeyError, TypeError):  # it is gone, or nothing that we understand
        return []
