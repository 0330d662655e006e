"""Where the files of a folder intake are: a folder of the local file system, or a prefix of an object store.

A file's *version* changes whenever its content may have changed: its size, time and number on a disk, its tag in an
object store. Names are paths below the folder, with `/` between their parts.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import obstore
from obstore.exceptions import BaseError
from obstore.exceptions import NotFoundError as ObjectNotFoundError

from headwater.errors import SourceUnavailable

UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".swp", "~")
"""The ends of names of files that somebody is still writing."""


@dataclass(frozen=True)
class Listed:
    """A file that is there."""

    name: str
    size: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class Fetched:
    """A file that can be read from the disk, and the version that it has there."""

    path: Path
    version: str


class Shelf(Protocol):
    """A folder of files. Whatever goes wrong is a `SourceUnavailable`."""

    shows_whole_files: bool
    """Tells whether a file is only seen when it is complete."""

    def list(self) -> list[Listed]:
        """The files that match the pattern, but for those that are hidden or unfinished."""

    def fetch(self, name: str) -> Fetched | None:
        """A file, to be read from the disk; None if it is gone. Not needed any more when another one is fetched."""

    def version(self, name: str) -> str | None:
        """The version of what `fetch` has given as it is now; None if it is gone."""

    def close(self) -> None:
        """Let go of what was fetched."""


class LocalShelf:
    """A folder of the local file system."""

    shows_whole_files = False

    def __init__(self, root: Path, pattern: str) -> None:
        self._root = root
        self._matches = matcher(pattern)
        self._is_deep = "/" in pattern

    def list(self) -> list[Listed]:
        with _named(str(self._root)):
            return [entry for entry in self._walk(self._root, "") if self._matches(entry.name)]

    def _walk(self, folder: Path, below: str) -> Iterator[Listed]:
        for entry in os.scandir(folder):
            name = f"{below}{entry.name}"
            if is_passed_by(entry.name):
                continue
            try:
                if entry.is_dir():
                    yield from self._walk(Path(entry.path), f"{name}/") if self._is_deep else ()
                elif entry.is_file():
                    stat = entry.stat()
                    yield Listed(name, stat.st_size, _version(stat), datetime.fromtimestamp(stat.st_mtime, UTC))
            except FileNotFoundError:
                continue

    def fetch(self, name: str) -> Fetched | None:
        version = self.version(name)
        return None if version is None else Fetched(self._root / name, version)

    def version(self, name: str) -> str | None:
        with _named(str(self._root / name)):
            try:
                return _version((self._root / name).stat())
            except FileNotFoundError:
                return None

    def close(self) -> None:
        """Nothing was copied."""


class ObjectShelf:
    """A prefix of an object store. A file is copied to a temporary folder to be read."""

    shows_whole_files = True

    def __init__(self, store: Any, url: str, pattern: str) -> None:
        self._store = store
        self._url = url
        self._matches = matcher(pattern)
        self._folder = TemporaryDirectory(prefix="headwater-")
        self._held: Path | None = None
        self._versions: dict[str, str] = {}

    def list(self) -> list[Listed]:
        with _named(self._url):
            every = [item for chunk in obstore.list(self._store, chunk_size=1000) for item in chunk]
        return [
            Listed(item["path"], item["size"], _tag(item), item["last_modified"])
            for item in every
            if self._matches(item["path"]) and not any(map(is_passed_by, item["path"].split("/")))
        ]

    def fetch(self, name: str) -> Fetched | None:
        if self._held is not None:
            self._held.unlink(missing_ok=True)
        self._held = path = Path(self._folder.name) / Path(name).name
        with _named(f"{self._url}/{name}"):
            try:
                fetched = obstore.get(self._store, name)
                with path.open("wb") as file:
                    for part in fetched.stream():
                        file.write(part)
            except (ObjectNotFoundError, FileNotFoundError):
                return None
        self._versions[name] = _tag(fetched.meta)
        return Fetched(path, self._versions[name])

    def version(self, name: str) -> str | None:
        return self._versions.get(name)  # a copy of ours doesn't change

    def close(self) -> None:
        self._folder.cleanup()


def is_passed_by(part: str) -> bool:
    """Tells whether a part of a path is hidden, or its file unfinished."""
    return part.startswith((".", "_")) or part.lower().endswith(UNFINISHED)


def matcher(pattern: str) -> Callable[[str], object]:
    """A test whether a path matches: `*`, `?` and `[…]` stay within a part, and `**` stands for any folders in between.

    >>> [bool(matcher(pattern)("2026/a.jsonl")) for pattern in ("*.jsonl", "*/*.jsonl", "**/*.jsonl", "2026/[ab].*")]
    [False, True, True, True]
    """
    parts = ["(?:[^/]+/)*" if part == "**" else f"{_part(part)}/" for part in pattern.split("/")]
    return re.compile("".join(parts).removesuffix("/")).fullmatch


def _part(part: str) -> str:
    """A part of a pattern as a regular expression."""
    parts = re.split(r"(\*|\?|\[!?[^\]]+\])", part)
    return "".join(_WILD.get(text) or (_of_class(text) if text.startswith("[") else re.escape(text)) for text in parts)


_WILD = {"*": "[^/]*", "?": "[^/]"}


def _of_class(text: str) -> str:
    inner = text[1:-1].replace("\\", r"\\")
    return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]" if text.endswith("]") else re.escape(text)


def hash_of(path: Path) -> str:
    """A hash of a file's content."""
    with _named(str(path)), path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _version(stat: os.stat_result) -> str:
    return f"{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ino}"


def _tag(item: Any) -> str:
    return item["e_tag"] or f"{item['size']}-{item['last_modified'].isoformat()}"


@contextmanager
def _named(location: str) -> Iterator[None]:
    """Turn a failure of the storage into an operator's error that names the location."""
    try:
        yield
    except (OSError, BaseError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise SourceUnavailable(
            f'the files at "{location}" could not be reached',
            detail=f"{reason.rstrip('.')}. What is in the log stays, and the intake goes on from there.",
            hint="See whether the path is there and may be read; then repeat the call.",
            path=location,
        ) from cause
