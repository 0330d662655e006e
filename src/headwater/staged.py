"""Staged files: written beside the place of another one and put in it as a whole, however many write it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def staged(file: Path) -> Iterator[Path]:
    """A file to write in a folder that is made if need be; nothing is left of one that can't be written."""
    aside = file.with_name(f"{file.name}.{uuid.uuid4().hex}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        aside.replace(file)
    except OSError:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
