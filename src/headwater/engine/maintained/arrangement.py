"""Arrangements: rows by key, so that a step finds those of the keys that it touches, however many there are.

Rows are in *runs*. What a step puts down is a small run; two runs are merged as soon as the newer one is half as large
as the older, so that there are few, and each row is moved about as often as there are runs. From time to time they are
kept beside the position, as files that are mapped into memory when they are opened, and whose names end in the checksum
of their bytes. Which runs there are, and for which commits they stand, is said by one file, which is put in place last.

They follow from the log: where they are missing, damaged or made by another lowering, they are made again.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.kept import Commits, stands_for
from headwater.engine.maintained.run import HASH, KEY, Run, hashes_of
from headwater.log.seal import checksum
from headwater.staged import staged

_SPELLING = 2
"""The way in which keys are spelled, by which kept rows are found: it changes when `engine.difference` does."""
_logger = logging.getLogger("headwater.run")


class Arrangement:
    """Rows by key, under a name in a folder of their view's version.

    Where keys are `unique` a row takes the place of the one that had its key before.
    """

    def __init__(self, folder: Path, name: str, *, unique: bool) -> None:
        self._folder, self._name, self._unique = folder, name, unique
        self._runs: list[Run] = []

    def __len__(self) -> int:
        """The rows in all runs, those included whose place another one has taken."""
        return sum(run.rows.num_rows for run in self._runs)

    @property
    def nbytes(self) -> int:
        """The size of its rows."""
        return sum(run.rows.nbytes for run in self._runs)

    @property
    def sizes(self) -> list[int]:
        """The rows of each run, the oldest first."""
        return [run.rows.num_rows for run in self._runs]

    def put(self, keys: pa.Array, rows: pa.Table) -> None:
        """Add rows, each with its key."""
        if rows.num_rows == 0:
            return
        self._runs.append(Run.of(keys, rows))
        while len(self._runs) > 1 and self._runs[-2].rows.num_rows <= 2 * self._runs[-1].rows.num_rows:
            newer, older = self._runs.pop(), self._runs.pop()
            self._runs.append(older.merged(newer, unique=self._unique))

    def find(self, keys: pa.Array) -> pa.Table | None:
        """The rows of some keys; None if there are none at all."""
        found = list(self._found(keys)) if len(keys) else []
        return pa.concat_tables(found).drop_columns([HASH, KEY]).combine_chunks() if found else None

    def all(self) -> pa.Table | None:
        """All rows; None if there are none."""
        while len(self._runs) > 1:
            newer, older = self._runs.pop(), self._runs.pop()
            self._runs.append(older.merged(newer, unique=self._unique))
        return self._runs[0].rows.drop_columns([HASH, KEY]) if self._runs else None

    def _found(self, keys: pa.Array) -> Iterator[pa.Table]:
        hashes = hashes_of(keys)
        for run in reversed(self._runs):
            rows = run.found(keys, hashes)
            if rows.num_rows and self._unique:
                keys = keys.filter(pc.invert(pc.is_in(keys, value_set=rows[KEY].combine_chunks())))
                hashes = hashes_of(keys)
            if rows.num_rows:
                yield rows

    def gather(self) -> None:
        """Put all rows into one run, so that those of a key are seen together."""
        while len(self._runs) > 1:
            newer, older = self._runs.pop(), self._runs.pop()
            self._runs.append(older.merged(newer, unique=self._unique))

    def let_go(self, is_needed: Callable[[pa.Table], pa.ChunkedArray]) -> None:
        """Let go of the rows of which something is not true."""
        left = (Run(run.rows.filter(is_needed(run.rows)).combine_chunks()) for run in self._runs)
        self._runs = [run for run in left if run.rows.num_rows]

    def clear(self) -> None:
        """Let go of all rows."""
        self._runs = []

    # Beside the position

    def open(self) -> Commits | None:
        """Take what was kept, and tell for which commits it stands; None if it has to be made again."""
        self._runs = []
        try:
            told = json.loads(self._list.read_bytes())
        except (OSError, ValueError):
            return None
        if not _is_whole(told):
            _logger.warning("%s is damaged; its rows are computed again from the log", self._list)
            return None
        commits: Commits = told["commits"]
        if any(told.get(name) != value for name, value in self._stands_for(commits).items()):
            return None
        runs = [self._opened(each) for each in told["runs"]]
        known = [run for run in runs if run is not None]
        if len(known) < len(runs):
            return None
        self._runs = known
        return commits

    def keep(self, commits: Commits) -> None:
        """Keep the rows as those of some commits. What can't be written is done without."""
        try:
            self._runs = [run if run.file is not None else self._written(run) for run in self._runs]
            names = [run.file.name for run in self._runs if run.file is not None]
            told = {**self._stands_for(commits), "runs": names}
            with staged(self._list) as aside:
                aside.write_text(json.dumps(told | {"sum": _sum_of(told)}))
        except OSError as failure:
            _logger.warning("%s could not be written, and its rows are computed again: %s", self._list, failure)
        self._let_go()

    def _written(self, run: Run) -> Run:
        named = f"{self._name}-{uuid.uuid4().hex}"
        written = self._folder / named
        schema = run.rows.schema
        with staged(written) as aside, pa.OSFile(str(aside), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(run.rows)
        return _mapped(written.rename(self._folder / f"{named}-{_sum(written):08x}.run"))

    def _opened(self, name: str) -> Run | None:
        file = self._folder / name
        try:
            if file.stem.endswith(f"{_sum(file):08x}"):
                return _mapped(file)
        except (OSError, pa.ArrowInvalid):
            pass
        _logger.warning("%s is damaged; its rows are computed again from the log", file)
        return None

    def _let_go(self) -> None:
        needed = {run.file for run in self._runs}
        for file in self._folder.glob(f"{self._name}-*.run"):
            if file not in needed:
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _stands_for(self, commits: Commits) -> dict[str, Any]:
        return {**stands_for(self._folder, self._name, commits), "spelling": _SPELLING}

    @property
    def _list(self) -> Path:
        return self._folder / f"{self._name}.json"


def _mapped(file: Path) -> Run:
    with pa.memory_map(str(file)) as source:
        return Run(pa.ipc.open_file(source).read_all(), file)


def _sum(file: Path) -> int:
    with pa.memory_map(str(file)) as source:
        return checksum(memoryview(source.read_buffer()))


def _is_whole(told: Any) -> bool:
    return isinstance(told, dict) and told.pop("sum", None) == _sum_of(told)


def _sum_of(told: Mapping[str, Any]) -> int:
    return checksum(json.dumps(told, sort_keys=True).encode())
