"""Declarations as they were: kept below the project for each version that was built by them.

A version in a store knows the fingerprint of its plan and no more. The files that declared it are kept beside, once
for all versions that were built by the same ones: so it can be told in what a plan of today differs, and a version can
be gone on with when its declaration has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headwater.log import folder_of
from headwater.operate.record import put, written

FOLDER = "declarations"


@dataclass(frozen=True)
class KeptDeclarations:
    """The declarations that were kept below a project's own folder, `home`."""

    home: Path

    def keep(self, files: Mapping[str, bytes]) -> str:
        """Keep files by their paths within the project; the name they are kept by. It is there whole or not at all."""
        digest = hashlib.sha256()
        for path, text in sorted(files.items()):
            digest.update(f"{path}\0{len(text)}\0".encode() + text)
        name = digest.hexdigest()[:16]
        if not (folder := self._files(name)).is_dir():
            staged = folder.with_name(f"{name}.{os.getpid()}")
            with written(folder):
                for path, text in files.items():
                    (staged / path).parent.mkdir(parents=True, exist_ok=True)
                    (staged / path).write_bytes(text)
                staged.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError, OSError):
                    staged.rename(folder)
            shutil.rmtree(staged, ignore_errors=True)
        return name

    def files(self, name: str) -> Path | None:
        """The folder of the files that were kept by a name."""
        folder = self._files(name)
        return folder if folder.is_dir() else None

    def note(self, view: str, fingerprint: str, name: str) -> None:
        """Write down which declarations a plan of a view comes from."""
        path = self._noted(view) / fingerprint
        if self.of(view, fingerprint) is None:
            put(path, json.dumps({"declarations": name}))

    def of(self, view: str, fingerprint: str) -> str | None:
        """The name of the declarations that a plan of a view comes from; None if they weren't kept."""
        name = _read(self._noted(view) / fingerprint).get("declarations")
        return name if name is not None and self._files(name).is_dir() else None

    def take(self, name: str) -> None:
        """Write down which declarations the project runs by."""
        if self.taken() != name:
            put(self.home / FOLDER / "taken", json.dumps({"declarations": name}))

    def taken(self) -> str | None:
        """The name of the declarations that the project ran by last; None if it never did."""
        name = _read(self.home / FOLDER / "taken").get("declarations")
        return name if name is not None and self._files(name).is_dir() else None

    def _files(self, name: str) -> Path:
        return self.home / FOLDER / "files" / name

    def _noted(self, view: str) -> Path:
        return self.home / FOLDER / "views" / folder_of(view)


def _read(path: Path) -> Mapping[str, str]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return dict(record)
