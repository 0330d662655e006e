"""What `headwater init` writes: a small shop, and a few orders to try it with."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from headwater.errors import OperatorError, ProjectExists

_SOURCE = files("headwater.cli") / "templates" / "shop"
_FILES = ("headwater.toml", "streams.sql", "views.sql", "orders.jsonl", ".gitignore")


def create(folder: Path, name: str) -> Iterator[Path]:
    """Write the files of a new project and tell which; nothing is overwritten."""
    taken = [found for found in _FILES if (folder / found).exists()]
    if taken:
        raise ProjectExists(
            f'"{folder}" already has {taken[0]}',
            detail="Nothing was written.",
            hint="Choose another folder, or remove what is there.",
            path=str(folder),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for found in _FILES:
            text = (_SOURCE / found.removeprefix(".")).read_text(encoding="utf-8")
            (folder / found).write_text(text.replace("{name}", name), encoding="utf-8")
            yield folder / found
    except OSError as cause:
        raise OperatorError(f'"{folder}" can\'t be written', detail=f"{cause.strerror}.", path=str(folder)) from cause
