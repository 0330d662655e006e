"""A project's folder: every file of declarations below it, in SQL and in Python.

Those are all files in SQL, and those in Python that declare something (`declare.marker`), unless the project states
where its declarations are: then they are all of the files there, and nothing else is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater import model, sql
from headwater.declare.load import load_python
from headwater.declare.marker import is_test, why_loaded
from headwater.errors import Origin, SettingsRefused
from headwater.findings import SyntaxRefused

_FOREIGN = frozenset({"node_modules", "site-packages"})
_STATED = "headwater.toml names it under `declarations`"


@dataclass(frozen=True)
class LeftAlone:
    """A file in Python that was not run, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Loaded:
    """The declarations of a folder's files, which of the files were left alone, and what is in those in SQL and Python.

    Those left alone are among the `files`: what declares may import them.
    """

    parsed: sql.Parsed
    left_alone: tuple[LeftAlone, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def load_folder(
    folder: Path, data: str, stated: Sequence[str] | None = None, describe: model.Describe = sql.undescribed
) -> Loaded:
    """Every declaration below a folder, in the order of the files' paths.

    `data` is where the log is, `stated` the files and folders that declare, if the project says so. `describe` tells
    the columns of tables that leave them to their databases.
    """
    parsed: list[sql.Parsed] = []
    left_alone: list[LeftAlone] = []
    files = _files(folder, folder / data) if stated is None else _stated(folder, folder / data, stated)
    contents: dict[str, bytes] = {}
    for path in sorted(files):
        name = path.relative_to(folder)
        if path.suffix in (".sql", ".py"):
            contents[str(name)] = path.read_bytes()
        if path.suffix == ".sql":
            parsed.append(_read_sql(path, str(name), describe))
        elif path.suffix == ".py":
            why = _STATED if stated is not None else None if is_test(name) else why_loaded(path, contents[str(name)])
            if why is None:
                reason = "it is a test" if is_test(name) else "it declares nothing"
                left_alone.append(LeftAlone(str(name), reason))
            else:
                parsed.append(load_python(path, why))
    return Loaded(_together(parsed), tuple(left_alone), contents)


def _together(parsed: Sequence[sql.Parsed]) -> sql.Parsed:
    return sql.Parsed(
        tuple(declaration for part in parsed for declaration in part.declarations),
        tuple(finding for part in parsed for finding in part.findings),
        frozenset(name for part in parsed for name in part.refused),
    )


def _files(folder: Path, data: Path) -> Iterator[Path]:
    """The files below a folder.

    Passed by are the data, what is hidden by a leading dot or underscore, and what others have installed.
    """
    for path in folder.iterdir():
        if path.name.startswith((".", "_")) or path == data or path.name in _FOREIGN:
            continue
        if not path.is_dir():
            yield path
        elif not (path / "pyvenv.cfg").exists():
            yield from _files(path, data)


def _stated(folder: Path, data: Path, stated: Sequence[str]) -> set[Path]:
    """The files that a project states: by their paths, the folders that they are in, or patterns."""
    files: set[Path] = set()
    for pattern in stated:
        path = folder / pattern
        named = {path} if path.is_file() else set() if path.is_dir() else set(folder.glob(pattern))
        below = {file for top in ({path} if path.is_dir() else named) if top.is_dir() for file in _files(top, data)}
        chosen = {file for file in named if file.is_file()} | below
        if not any(file.suffix in (".sql", ".py") for file in chosen):
            raise SettingsRefused(
                f'setting "declarations" names "{pattern}", where nothing is declared',
                detail="No file in SQL or Python is there.",
                hint="Name files, folders or patterns below the project's folder, or leave the setting out.",
                path=str(folder / "headwater.toml"),
            )
        files |= chosen
    return files


def _read_sql(path: Path, name: str, describe: model.Describe) -> sql.Parsed:
    try:
        return sql.parse_declarations(path.read_text(encoding="utf-8"), name, describe)
    except UnicodeDecodeError as cause:
        return sql.Parsed((), (SyntaxRefused(f'"{name}" is not UTF-8 text', detail=f"{cause}.", origin=Origin(name)),))
