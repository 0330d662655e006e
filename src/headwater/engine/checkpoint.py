"""Spark's checkpoint of a live view: what it says, and whether it can be gone on from.

Spark numbers micro-batches. Before batch N runs it writes `offsets/N`, where each source is read up to; when N has
succeeded it writes `commits/N`. Between the two, `state/` is written. The rows of N are in the view's store before
`commits/N` exists, so that a store is never behind: it is as far as the checkpoint, or one batch ahead.

A *lowering* is the way in which stages become Spark's operators. State that one lowering has left can't be gone on from
by another, so its number stands in the checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headwater.operators import Scan
from headwater.plan import PlannedView
from headwater.staged import staged

LOWERING = 2
"""Raised whenever a plan is lowered to other operators, or to other columns in state, than before."""
_MARK = "lowering"
_INPUTS = "inputs"


class Unreadable(ValueError):
    """A file of a checkpoint doesn't hold what Spark writes there."""


@dataclass(frozen=True)
class Checkpoint:
    """The folder of a checkpoint, and the sources that its query reads, by the names that Spark has for them."""

    folder: Path
    sources: Mapping[str, Scan]

    @classmethod
    def of(cls, planned: PlannedView, folder: Path) -> Checkpoint:
        """The checkpoint of a view. The names of its sources belong to the plan."""
        return cls(folder, {f"s{number}": scan for number, scan in enumerate(planned.scans, 1)})

    def renew(self) -> None:
        """Begin from nothing, whatever was there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / _MARK).write_text(f"{LOWERING}\n", "utf-8")

    def inputs(self) -> dict[str, str]:
        """The logs that have been read, by the names of their topics."""
        try:
            inputs = json.loads((self.folder / _INPUTS).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return inputs if isinstance(inputs, dict) else {}

    def remember(self, inputs: Mapping[str, str]) -> None:
        """Note which logs are read from now on."""
        if inputs != self.inputs():
            with staged(self.folder / _INPUTS) as aside:
                aside.write_text(json.dumps(dict(inputs)), "utf-8")

    def last_begun(self) -> int | None:
        """The newest batch whose offsets were written; None if there is none."""
        return _newest(self.folder / "offsets")

    def last_finished(self) -> int | None:
        """The newest batch that succeeded; None if there is none."""
        return _newest(self.folder / "commits")

    def commits(self, batch: int) -> dict[str, int]:
        """The commit of each topic that a batch ends with; of one that is read more than once, where all scans are."""
        commits: dict[str, int] = {}
        for name, commit in self.offsets(batch).items():
            topic = self.sources[name].relation
            commits[topic] = min(commit, commits.get(topic, commit))
        return commits

    def damage(self) -> str | None:
        """The reason not to go on from the checkpoint, as a sentence; None if nothing is found by looking at it.

        Spark itself looks into the state, when it loads it.
        """
        try:
            return self._foreign() or self._gap() or self._look()
        except Unreadable as cause:
            return f"{cause}."

    def _foreign(self) -> str | None:
        made_by = "".join(_lines(self.folder / _MARK))
        return None if made_by == str(LOWERING) else "It was made by another version of Headwater."

    def _gap(self) -> str | None:
        """Tells whether a file is missing between those that are there."""
        begun, finished = self.last_begun(), self.last_finished()
        if begun is None:
            return "It has no offsets."
        if begun > 0 and finished not in (begun, begun - 1):
            return f"Batch {begun} was begun, and the last one that it says has succeeded is {finished}."
        return None

    def _look(self) -> str | None:
        begun, finished = self.last_begun(), self.last_finished()
        assert begun is not None
        self._json("metadata", (self.folder / "metadata"))
        for batch in range(max(begun - 1, 0), begun + 1):
            self.offsets(batch)
        if finished is not None:
            self._json(f"commits/{finished}", self.folder / "commits" / str(finished))
        return None

    def offsets(self, batch: int) -> dict[str, int]:
        """The commit that each source is read up to in a batch, by the source's name; none before the first batch."""
        return self._told(batch, "commit") if batch >= 0 else {}

    def is_closed(self, *, by_clock: bool) -> bool:
        """Tells whether the newest batch has succeeded and, where rows close by a clock, has told it of all sources."""
        begun = self.last_begun()
        if begun is None or begun != self.last_finished():
            return False
        return not by_clock or self.has_closed(begun)

    def has_closed(self, batch: int) -> bool:
        """Tells whether a batch has written what is due by the clocks of its commits; False if that isn't known."""
        try:
            return all(self._told(batch, "tick").values())
        except Unreadable:
            return False

    def _told(self, batch: int, part: str) -> dict[str, int]:
        """A part of each source's offset behind a batch."""
        file = f"offsets/{batch}"
        lines = dict(line.split(":", 1) for line in _lines(self.folder / file) if line[:1] == "s" and ":" in line)
        try:
            return {name: int(json.loads(lines[name])[part]) for name in self.sources}
        except (KeyError, TypeError, ValueError) as cause:
            raise Unreadable(f"{file} doesn't say where its sources are") from cause

    def began_at(self, batch: int) -> datetime:
        """When Spark planned a batch."""
        file = f"offsets/{batch}"
        try:
            planned = json.loads(_lines(self.folder / file)[1])["batchTimestampMs"]
            return datetime.fromtimestamp(int(planned) / 1000, UTC)
        except (IndexError, KeyError, TypeError, ValueError) as cause:
            raise Unreadable(f"{file} doesn't say when it began") from cause

    def _json(self, name: str, file: Path) -> None:
        """Refuse a file whose last line is not an object."""
        lines = _lines(file)
        try:
            if not isinstance(json.loads(lines[-1]), dict):
                raise Unreadable(f"{name} holds something else than Spark writes there")
        except (IndexError, ValueError) as cause:
            raise Unreadable(f"{name} holds something else than Spark writes there") from cause


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        raise Unreadable(f"{file.parent.name}/{file.name} can't be read") from cause


def _newest(folder: Path) -> int | None:
    try:
        return max((int(file.name) for file in folder.iterdir() if file.name.isdigit()), default=None)
    except OSError:
        return None
