"""The class archive: the classes of Spark as Java has parsed and verified them, kept from one start to the next.

Most of what a start of Spark costs is reading thousands of classes. Java can write those that a process has loaded to
a file when it ends, and map them from there when the next one begins (class data sharing). The file is kept in the
user's cache folder, one for each Java and each set of jars; it can be deleted at any time.

Java checks the file against its own version, the jars and the file's checksums before it uses it, and starts without
it if they don't fit. Nobody but its owner may have written to it, for it is code.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

_COMPLETE = (0xF00BABA8).to_bytes(4, "little")
"""The first bytes of an archive; Java writes them last."""
_BEING_WRITTEN = timedelta(minutes=10)
"""An archive that is not complete after so long was left by a process that died."""
_QUIET = "-Xlog:cds*=error"
OWN_WAY = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive")
"""Options of Java with which a project has its own way with archives."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one Java and one set of jars."""

    file: Path

    @classmethod
    def of(cls, java: Path, jars: Path, folder: Path) -> ClassArchive | None:
        """The archive for the Java with that home; None where it can have none, or where it could not be trusted."""
        if not (java / "lib" / "server" / "classes.jsa").is_file() or not _is_ours(folder):
            return None
        return cls(folder / f"classes-{_identity(java, jars)}.jsa")

    @property
    def own(self) -> Path:
        """The archive that a JVM of this process writes when it ends."""
        return self.file.with_suffix(f".{os.getpid()}.new")

    def options(self, *, record: bool) -> list[str]:
        """The options with which Java uses the archive; with `record`, makes one if there is none."""
        self._take_over()
        if self.file.exists():
            return [f"-XX:SharedArchiveFile={self.file}", "-XX:+VerifySharedSpaces", _QUIET]
        return [f"-XX:ArchiveClassesAtExit={self.own}", _QUIET] if record else []

    def keep(self) -> None:
        """Say that what the JVM of this process writes is worth keeping: it has done what others will do again."""
        _wanted(self.own).touch()

    def forget(self) -> None:
        """Remove the archive, and what is about to become one: a start with them has failed."""
        for file in (self.file, *self._written()):
            file.unlink(missing_ok=True)

    def _take_over(self) -> None:
        """Let a complete archive that an earlier process has left, and wanted to be kept, be the one."""
        for file in self._written():
            try:
                if _is_complete(file):
                    (file.replace(self.file) if _wanted(file).exists() else file.unlink())
                    _wanted(file).unlink(missing_ok=True)
                elif _age(file) > _BEING_WRITTEN:
                    file.unlink()
            except FileNotFoundError:  # another process was faster
                continue

    def _written(self) -> list[Path]:
        return list(self.file.parent.glob(f"{self.file.stem}.*.new"))


def _wanted(file: Path) -> Path:
    return file.with_suffix(".kept")


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the user for what can be made anew; None if there is no place for one."""
    try:
        base = Path(environment["XDG_CACHE_HOME"]) if environment.get("XDG_CACHE_HOME") else Path.home() / ".cache"
        folder = base / "headwater"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return folder


def _identity(java: Path, jars: Path) -> str:
    """A name for a Java and the jars of Spark as they are; another once either is replaced."""
    read = [java / "release", java / "lib" / "server" / "classes.jsa", *sorted(jars.glob("*.jar"))]
    known = [(str(file), status.st_size, status.st_mtime_ns) for file in read if (status := _stat(file))]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


def _stat(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except OSError:
        return None


def _is_ours(folder: Path) -> bool:
    """Tells whether nobody else can write to a folder."""
    status = _stat(folder)
    writable = stat.S_IWGRP | stat.S_IWOTH
    return status is not None and status.st_uid == os.getuid() and not status.st_mode & writable


def _is_complete(file: Path) -> bool:
    with file.open("rb") as archive:
        return archive.read(len(_COMPLETE)) == _COMPLETE


def _age(file: Path) -> timedelta:
    return timedelta(seconds=time.time() - file.stat().st_mtime)
