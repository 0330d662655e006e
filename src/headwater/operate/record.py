"""Records: small files below a project, in which processes tell each other what is wanted and how things are.

A record is put in place of the one before as a whole: who reads it sees the one or the other, however many write it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwater.errors import FolderUnavailable
from headwater.staged import staged

_logger = logging.getLogger("headwater.run")


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Let a file of the project be written; if it can't be, `FolderUnavailable` names it."""
    try:
        yield
    except OSError as cause:
        raise FolderUnavailable(
            f'file "{path.name}" of the project could not be written',
            detail=f"{cause.strerror or cause}. What it would have told of was not done.",
            hint="See that the disk has room and that the folder may be written to; then repeat the call.",
            file=str(path),
        ) from cause


def put(path: Path, text: str) -> None:
    """Put a text in place of what a file held, if it is there."""
    with written(path), staged(path) as aside:
        aside.write_text(text, encoding="utf-8")


def tell(what: str, path: Path, record: Any) -> None:
    """Put a record that only tells how things are: that it could not be written is logged, and keeps nobody."""
    try:
        put(path, json.dumps(record, default=str))
    except FolderUnavailable as cause:
        _logger.warning("%s could not be written down: %s", what, cause)
