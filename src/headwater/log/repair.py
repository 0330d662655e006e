"""Repair: what is hurt in a log put back from a copy of it, or declared lost by name.

A file is put back only if it is the one that was written: a data file by the checksum in its name, an entry by its seal
and by those of its neighbours. A checkpoint follows from the entries, and is done without. What no copy has can be
*declared lost* (`log.loss`): the log then says so in an entry of its own, with the reason, and goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import ArgumentRefused, LogDamaged
from headwater.log.entry import BESIDE, FOLDER, Entry, EntryLog, path_of
from headwater.log.scrub import Hurt, Scrubbed, scrub
from headwater.log.seal import checksum, checksum_in
from headwater.log.storage import Storage

_COMMITS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
POINTER = f"{FOLDER}/_last_checkpoint"


@dataclass(frozen=True)
class Repaired:
    """The outcome for a log: the paths that were put back or made anew, and what is still hurt."""

    log: str
    back: tuple[str, ...]
    left: tuple[Hurt, ...]


def repair(log: Storage, name: str, copy: Storage | None = None) -> Repaired:
    """Put back what is hurt in a log, from a copy of it if one is given; what is whole is not touched."""
    back: list[str] = []
    while True:
        scrubbed = scrub(log, name)
        new = [path for path in _paths(scrubbed) if path not in back and _put_back(log, copy, path)]
        if not new:
            return Repaired(name, tuple(back), scrubbed.hurt)
        back += new


def _paths(scrubbed: Scrubbed) -> list[str]:
    """The paths that may be put back: the files that are hurt, and of entries that don't follow each other both."""
    paths: list[str] = []
    for hurt in scrubbed.hurt:
        paths.append(hurt.path)
        first, _, last = hurt.commits.partition("-")
        if hurt.path.endswith(".json") and last:
            paths += [path_of(number) for number in range(int(first), int(last) + 1)]
    return list(dict.fromkeys(paths))


def _put_back(log: Storage, copy: Storage | None, path: str) -> bool:
    """Put one file back; tells whether it was."""
    if ".checkpoint" in path or path == POINTER:
        return _forget_checkpoint(log, copy, path)
    data = copy.read(path) if copy else None
    if data is None or data == log.read(path) or not _fits(copy, log, path, data):
        return False
    log.write(path, data)
    return True


def _fits(copy: Storage | None, log: Storage, path: str, data: bytes) -> bool:
    """Tells whether bytes are those that a log had under a path."""
    if path.endswith(".parquet"):
        return checksum_in(path) in (None, checksum(data))
    assert copy is not None
    number = int(path.rpartition("/")[2][:20])
    entry, after = _believed(copy, number), _believed(log, number + 1)
    if entry is None:
        return False
    return after is None or (after.note or {}).get("previous") in (None, entry.seal)


def _believed(log: Storage, number: int) -> Entry | None:
    try:
        return EntryLog(log).read(number)
    except LogDamaged:
        return None


def _forget_checkpoint(log: Storage, copy: Storage | None, path: str) -> bool:
    """Do without a damaged checkpoint if the entries tell all that it did; else take that of the copy."""
    numbers = EntryLog(log).numbers()
    if numbers and numbers[0] == 0:
        for name in log.list(FOLDER):
            if ".checkpoint" in name and (path == POINTER or name[:20] == path.rpartition("/")[2][:20]):
                log.delete(f"{FOLDER}/{name}")
                log.delete(f"{BESIDE}/{name[:20]}.checkpoint")
        log.delete(POINTER)
        return True
    if path == POINTER:
        log.delete(POINTER)
        return True
    data = copy.read(path) if copy else None
    if data is None or data == log.read(path):
        return False
    log.write(path, data)
    return True


def parse_commits(text: str) -> list[int]:
    """The commits that a text names: numbers and ranges.

    >>> parse_commits("3,7-9")
    [3, 7, 8, 9]
    """
    commits: list[int] = []
    for part in text.split(","):
        named = _COMMITS.fullmatch(part.strip())
        if named is None:
            raise ArgumentRefused(f'"{text}" names no commits', hint="Give numbers and ranges, such as 3,7-9.")
        commits += range(int(named[1]), int(named[2] or named[1]) + 1)
    return commits


def refuse_unhurt(name: str, scrubbed: Scrubbed, commits: Sequence[int]) -> None:
    """Refuse to declare lost what is there."""
    hurt = {number for each in scrubbed.hurt if each.commits for number in parse_commits(each.commits)}
    whole = [number for number in commits if number not in hurt]
    if whole:
        raise ArgumentRefused(
            f'commit {whole[0]} of "{name}" is not lost',
            detail=f"What is hurt: {', '.join(map(str, sorted(hurt))) or 'nothing'}. Nothing was changed.",
            hint=f"`headwater scrub {name}` lists the commits that are hurt; `headwater trim` lets go of others.",
            topic=name,
        )
