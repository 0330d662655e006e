"""Scrubbing: all of a log read and checked, and everything that is hurt told at once, by its commits.

It needs no declaration: the files say what they must be. So a backup is scrubbed as the log itself is. A *share* of a
scrub is one of several parts that together are the whole of it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.errors import LogDamaged
from headwater.log.damage import spell_commits
from headwater.log.datafile import DataFile
from headwater.log.entry import FOLDER, Entry, EntryLog
from headwater.log.integrity import FileAltered, check
from headwater.log.seal import SEAL, checksum_in
from headwater.log.storage import Storage
from headwater.log.witness import PATH, Witness

Progress = Callable[[int, int], object]
"""Told how many files of how many were looked at."""
WHOLE = (0, 1)
_LOG = f"/{FOLDER}/"


@dataclass(frozen=True)
class Hurt:
    """A file of a log that isn't as it was written, and the commits that it is about."""

    log: str
    path: str
    commits: str
    reason: str


@dataclass(frozen=True)
class Scrubbed:
    """The outcome of a scrub: what was looked at, and what is hurt. `unchecked` is from before there were checksums."""

    log: str
    head: int = -1
    entries: int = 0
    files: int = 0
    bytes: int = 0
    unchecked: int = 0
    hurt: tuple[Hurt, ...] = ()


@dataclass
class _Scrub:
    """A scrub under way: `files` are those that the log has, by their paths."""

    storage: Storage
    name: str
    entries: EntryLog
    files: dict[str, DataFile] = field(default_factory=dict)
    hurt: list[Hurt] = field(default_factory=list)
    unchecked: int = 0
    head: int = -1

    def tell(self, path: str, commits: str, reason: str) -> None:
        self.hurt.append(Hurt(self.name, path, commits, reason))

    def take(self, damaged: LogDamaged) -> None:
        path = str(damaged.fields["path"]).removeprefix(f"{self.storage.url}/")
        reason = damaged.summary.replace(f' of the log at "{self.storage.url}"', "")
        self.tell(path, str(damaged.fields.get("commits", "")), reason)


def find_logs(storage: Storage) -> list[str]:
    """The folders below a storage that are logs, in order."""
    return sorted({path.rpartition(_LOG)[0] for path, _ in storage.walk() if _LOG in path})


def scrub(
    storage: Storage, name: str, share: tuple[int, int] = WHOLE, progress: Progress = lambda *_: None
) -> Scrubbed:
    """Read and check a log, or the share (number, of how many) of it; nothing is changed."""
    findings = _Scrub(storage, name, EntryLog(storage, required=("kind", "clock")))
    numbers = findings.entries.numbers()
    findings.head = max(numbers, default=-1)
    begin = _base(findings)
    _look_for_holes(findings, numbers, begin)
    _look_for_end(findings, numbers)
    entries = _read_entries(findings, numbers, begin, share)
    chosen = [file for file in findings.files.values() if zlib.crc32(file.path.encode()) % share[1] == share[0]]
    total, size = entries + len(chosen), 0
    for done, file in enumerate(chosen, entries):
        progress(done, total)
        _check_file(findings, file)
        size += file.size
    progress(total, total)
    return Scrubbed(name, findings.head, entries, len(chosen), size, findings.unchecked, tuple(findings.hurt))


def _base(findings: _Scrub) -> int:
    """Take in the newest checkpoint; returns its number, -1 if there is none that can be believed."""
    try:
        table = findings.entries.base()
    except LogDamaged as damaged:
        findings.take(damaged)
        return -1
    if table is None:
        return -1
    for action in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        least, greatest = action.get("min._commit"), action.get("max._commit")
        _add(findings, action["path"], action["size_bytes"], action["num_records"] or 0, least, greatest)
    return int(table.version())


def _add(findings: _Scrub, path: str, size: int, rows: int, least: Any, greatest: Any) -> None:
    findings.files[path] = DataFile(path, size, rows, {"_commit": least}, {"_commit": greatest})


def _look_for_holes(findings: _Scrub, numbers: list[int], begin: int) -> None:
    there = set(numbers)
    first = min(numbers, default=0) if begin >= 0 else 0
    for number in range(first, max(numbers, default=-1)):
        if number not in there and findings.entries.read(number) is None:
            findings.tell(f"{FOLDER}/{number:020d}.json", str(number), f"entry {number} is missing")


def _look_for_end(findings: _Scrub, numbers: list[int]) -> None:
    seen = Witness(findings.storage).read()
    for number in range(max(numbers, default=-1) + 1, seen.number + 1 if seen else 0):
        if findings.storage.read(f"{FOLDER}/{number:020d}.json") is None:
            findings.tell(f"{FOLDER}/{number:020d}.json", str(number), f"entry {number} is missing: {PATH} has seen it")


def _read_entries(findings: _Scrub, numbers: list[int], begin: int, share: tuple[int, int]) -> int:
    """Read the entries of a share, and those that files are known from; returns how many were read."""
    low, high = (len(numbers) * (share[0] + step) // share[1] for step in (0, 1))
    wanted = set(numbers[max(0, low - 1) : high]) | {number for number in numbers if number > begin}
    for number in sorted(wanted):
        try:
            entry = findings.entries.read(number)
        except LogDamaged as damaged:
            findings.take(damaged)
            continue
        if entry is not None:
            findings.unchecked += SEAL not in entry.info
            if number > begin:
                _take_files(findings, entry)
    return len(wanted)


def _take_files(findings: _Scrub, entry: Entry) -> None:
    for removed in entry.of("remove"):
        findings.files.pop(removed["path"], None)
    for added in entry.of("add"):
        try:
            stats: Mapping[str, Any] = json.loads(added["stats"])
            least, greatest = (stats[side]["_commit"] for side in ("minValues", "maxValues"))
            _add(findings, added["path"], added["size"], stats["numRecords"], least, greatest)
        except (KeyError, ValueError, TypeError) as cause:
            what = f"entry {entry.number} doesn't say what a data file holds: {cause!r}"
            findings.tell(f"{FOLDER}/{entry.number:020d}.json", str(entry.number), what)


def _check_file(findings: _Scrub, file: DataFile) -> None:
    findings.unchecked += checksum_in(file.path) is None
    try:
        with findings.storage.open(file.path, file.size) as opened:
            check(opened, file)
    except FileNotFoundError:
        if not _was_replaced(findings, file):
            findings.tell(file.path, spell_commits(*file.commits), "the file is missing")
    except (FileAltered, OSError) as cause:
        findings.tell(file.path, spell_commits(*file.commits), str(cause))


def _was_replaced(findings: _Scrub, file: DataFile) -> bool:
    """Tells whether an entry that came since the scrub began has let go of a file."""
    for number in (number for number in findings.entries.numbers() if number > findings.head):
        entry = findings.entries.read(number)
        if entry and any(removed["path"] == file.path for removed in entry.of("remove")):
            return True
    return False
