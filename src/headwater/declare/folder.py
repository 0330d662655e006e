"""A project's folder: every file of declarations below it, in SQL and in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headwater import sql
from headwater.declare.load import load_python
from headwater.errors import Origin, SyntaxRefused


def load_folder(folder: Path, data: str) -> sql.Parsed:
    """Every declaration below a folder, in the order of the files' paths; `data` is where the log is."""
    parsed: list[sql.Parsed] = []
    for path in sorted(_files(folder, folder / data)):
        if path.suffix == ".sql":
            parsed.append(_read_sql(path, str(path.relative_to(folder))))
        elif path.suffix == ".py":
            parsed.append(load_python(path))
    return sql.Parsed(
        tuple(found for part in parsed for found in part.declarations),
        tuple(found for part in parsed for found in part.findings),
        frozenset(name for part in parsed for name in part.refused),
    )


def _files(folder: Path, data: Path) -> Iterator[Path]:
    """The files below a folder; the data, and what is hidden by a leading dot or underscore, are passed by."""
    for found in folder.iterdir():
        if found.name.startswith((".", "_")) or found == data:
            continue
        if found.is_dir():
            yield from _files(found, data)
        else:
            yield found


def _read_sql(path: Path, name: str) -> sql.Parsed:
    try:
        return sql.parse_declarations(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError as cause:
        return sql.Parsed((), (SyntaxRefused(f'"{name}" is not UTF-8 text', detail=f"{cause}.", origin=Origin(name)),))
