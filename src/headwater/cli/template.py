"""Projects to begin with: a small shop with a few orders (`headwater init`), and the bank of `headwater demo`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from headwater.errors import OperatorError, ProjectExists

_TEMPLATES = files("headwater.cli") / "templates"
_DECLARED = ("headwater.toml", "streams.sql", "views.sql")
_FILES = {"shop": (*_DECLARED, "orders.jsonl", ".gitignore"), "bank": (*_DECLARED, ".gitignore")}


def create(folder: Path, name: str, template: str = "shop") -> Iterator[Path]:
    """Write the files of a new project and tell which; nothing is overwritten."""
    taken = [file for file in _FILES[template] if (folder / file).exists()]
    if taken:
        raise ProjectExists(
            f'"{folder}" already has {taken[0]}',
            detail="Nothing was written.",
            hint="Choose another folder, or remove what is there.",
            path=str(folder),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in _FILES[template]:
            text = (_TEMPLATES / template / file.removeprefix(".")).read_text(encoding="utf-8")
            (folder / file).write_text(text.replace("{name}", name), encoding="utf-8")
            yield folder / file
    except OSError as cause:
        raise OperatorError(f'"{folder}" can\'t be written', detail=f"{cause.strerror}.", path=str(folder)) from cause
