"""Backups: a copy of everything below a project's data, made while the project runs, and added to the next time.

Of a log the data files are copied first, then its entries in order, then what is noted beside it: a copy that ends at
any moment is a log, of some commits fewer. Data files and entries never change, so those that are there are not copied
again. A file is checked before it is copied, and the whole of the copy after it, by a scrub of its own. What a backup
is good for stands in its *record*, written last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

import pyarrow as pa

from headwater.errors import ArgumentRefused, LogDamaged
from headwater.log.entry import BESIDE, FOLDER, EntryLog, path_of
from headwater.log.scrub import Hurt, find_logs, scrub
from headwater.log.seal import checksum, checksum_in
from headwater.log.storage import Storage
from headwater.log.witness import PATH, Witnessed

RECORD = "headwater-backup.json"
Progress = Callable[[str, int, int], object]
"""Told which log is copied, and how many of its objects of how many there are."""


@dataclass(frozen=True)
class BackedUp:
    """A backup: when it was begun, the newest commit that it has of each log, and what was copied for it."""

    url: str
    at: str
    heads: dict[str, int]
    objects: int
    bytes: int
    hurt: tuple[Hurt, ...] = ()

    @property
    def good(self) -> bool:
        """Tells whether its own scrub has found nothing."""
        return not self.hurt


@dataclass
class _Copied:
    objects: int = 0
    size: int = 0

    def put(self, target: Storage, path: str, data: bytes) -> None:
        target.write(path, data)
        self.objects += 1
        self.size += len(data)


def back_up(source: Storage, target: Storage, now: datetime, progress: Progress = lambda *_: None) -> BackedUp:
    """Copy what is new below `source`; `LogDamaged` if a file of it is, and the backup is what it was before."""
    there, copied, heads = dict(target.walk()), _Copied(), dict[str, int]()
    logs = find_logs(source)
    for path, data in _loose(source, logs):
        copied.put(target, path, data)
    for log in logs:
        heads[log] = _copy_log(source, target, log, there, copied, progress)
    hurt = tuple(each for log in logs for each in scrub(target.below(log), log).hurt)
    done = BackedUp(target.url, now.isoformat(), heads, copied.objects, copied.size, hurt)
    if done.good:
        target.write(RECORD, json.dumps(asdict(done)).encode())
    return done


def read_record(target: Storage) -> BackedUp:
    """The record of the newest good backup at a URL; `ArgumentRefused` if there is none."""
    data = target.read(RECORD)
    try:
        record = json.loads(data or b"")
        return BackedUp(target.url, record["at"], record["heads"], record["objects"], record["bytes"])
    except (ValueError, KeyError, TypeError) as cause:
        raise ArgumentRefused(
            f'"{target.url}" is no backup',
            detail=f"It has no {RECORD}, or not a whole one: a backup there was never finished.",
            hint="Name the place that `headwater backup` was given.",
        ) from cause


def restore(backup: Storage, target: Storage, progress: Progress = lambda *_: None) -> BackedUp:
    """Copy a backup to a place that has no log, up to the commits of its record, and scrub it there."""
    record = read_record(backup)
    if find_logs(target):
        raise ArgumentRefused(
            f'"{target.url}" has logs',
            detail="A backup is restored to where there are none, so that nothing is overwritten.",
            hint="Move them away, or restore to another folder: --to DIR. `headwater repair` puts single files back.",
        )
    copied = _Copied()
    for path, data in _loose(backup, list(record.heads)):
        if path != RECORD:
            copied.put(target, path, data)
    for log, head in record.heads.items():
        _copy_log(backup, target, log, {}, copied, progress, head)
    hurt = tuple(each for log in record.heads for each in scrub(target.below(log), log).hurt)
    return BackedUp(backup.url, record.at, record.heads, copied.objects, copied.size, hurt)


def _loose(source: Storage, logs: list[str]) -> Iterator[tuple[str, bytes]]:
    """Files of no log: positions of readers and outlets. They come first, and so are never ahead of a log."""
    for path, _ in list(source.walk()):
        if not any(path.startswith(f"{log}/") for log in logs) and not path.rpartition("/")[2].startswith("."):
            data = source.read(path)
            if data is not None:
                yield path, data


def _copy_log(
    source: Storage,
    target: Storage,
    log: str,
    there: dict[str, int],
    copied: _Copied,
    progress: Progress,
    head: int | None = None,
) -> int:
    """Copy a log up to its newest entry, or to `head`; returns the number of that."""
    entries = EntryLog(source.below(log), log, required=("kind", "clock"))
    newest = entries.head() if head is None else head
    if newest is None:
        return -1
    _forget_gap(target, log, entries.first())
    wanted = [path for path in _paths(source, log, newest) if path not in there or _is_rewritten(path)]
    for done, path in enumerate(wanted):
        progress(log, done, len(wanted))
        data = source.read(path)
        if data is None or (path.endswith("_last_checkpoint") and _state_in(data) > newest):
            continue  # replaced since it was listed, or of a later state
        if _is_altered(path, data) and not _refers_to(entries, path, newest):
            continue  # it is being written, or its writer has ended: the log knows nothing of it
        _refuse_altered(entries, path, data)
        copied.put(target, path, data)
    last = entries.seal_at(newest)
    if last is not None:
        target.write(f"{log}/{PATH}", Witnessed(newest, last).as_bytes())
    progress(log, len(wanted), len(wanted))
    return newest


def _paths(source: Storage, log: str, newest: int) -> list[str]:
    """The objects of a log up to an entry: data files, entries in order, then checkpoints and what is noted of them."""
    below = [f"{log}/{path}" for path, _ in source.below(log).walk()]
    last = f"{log}/{FOLDER}/{newest:020d}~"
    data = [path for path in below if path.endswith(".parquet") and f"/{FOLDER}/" not in path]
    entries = [path for path in below if path.startswith(f"{log}/{FOLDER}/") and path.endswith(".json") and path < last]
    states = [path for path in below if ".checkpoint" in path and path.rpartition("/")[2] < last.rpartition("/")[2]]
    pointer = [path for path in below if path.endswith(f"{FOLDER}/_last_checkpoint")] if states else []
    return [*sorted(data), *sorted(entries), *sorted(states), *pointer]


def _forget_gap(target: Storage, log: str, first: int) -> None:
    """Let go of copied entries that the source has let go of, if those between were never copied."""
    there = EntryLog(target.below(log)).numbers()
    if there and there[-1] + 1 < first:
        for number in there:
            target.delete(f"{log}/{path_of(number)}")


def _state_in(pointer: bytes) -> int:
    try:
        return int(json.loads(pointer)["version"])
    except (ValueError, KeyError, TypeError):
        return 2**62


def _is_rewritten(path: str) -> bool:
    return path.endswith("_last_checkpoint") or f"/{BESIDE}/" in path


def _is_altered(path: str, data: bytes) -> bool:
    return checksum_in(path.rpartition("/")[2]) not in (None, checksum(data))


def _refers_to(entries: EntryLog, path: str, newest: int) -> bool:
    """Tells whether a data file is one of the log, up to an entry."""
    name, state = path.rpartition("/")[2], entries.base()
    if state is not None and name in pa.table(state.get_add_actions())["path"].to_pylist():
        return True
    known = (entries.read(number) for number in entries.numbers() if number <= newest)
    return any(added["path"] == name for entry in known if entry for added in entry.of("add"))


def _refuse_altered(entries: EntryLog, path: str, data: bytes) -> None:
    """Refuse to copy what isn't as it was written."""
    name = path.rpartition("/")[2]
    if _is_altered(path, data):
        expected = checksum_in(name) or 0
        raise LogDamaged(
            f'"{entries.storage.url}/{name}" can\'t be backed up',
            detail=f"Its checksum is {checksum(data):08x}, and it was written with {expected:08x}.",
            hint=f"Run `headwater scrub {entries.damage.name}`. What was backed up before is as it was.",
            path=f"{entries.storage.url}/{name}",
            topic=entries.damage.name,
            commits=str(int(name[:20])) if name[:20].isdecimal() else "",
        )
    if name.endswith(".json") and name[:20].isdecimal():
        entries.read(int(name[:20]))
