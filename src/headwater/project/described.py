"""Described tables of a project: what their databases said of their columns is kept in a file beside the declarations.

The file, `headwater.columns.json`, is part of what is declared: it belongs to the code and its versions. So a project
is planned without asking a database, and its views don't change because somebody changed a table: that is looked at
when it is asked for (`again`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headwater.errors import ArgumentRefused, HeadwaterError, SettingsRefused
from headwater.installed import extra
from headwater.model import Description, Intake, Mysql, Postgres
from headwater.operate.record import put
from headwater.sql import parse_type

FILE = "headwater.columns.json"


@dataclass(frozen=True)
class Redescribed:
    """The columns of a table that its database was asked for again, with their types, and those of before."""

    table: str
    columns: Mapping[str, str]
    before: Mapping[str, str]

    @property
    def changes(self) -> dict[str, str]:
        """The columns that are otherwise than before, and how."""
        gone = {name: f"gone (it was {kind})" for name, kind in self.before.items() if name not in self.columns}
        came = {name: f"added: {kind}" for name, kind in self.columns.items() if name not in self.before}
        kept = {name: (self.before[name], kind) for name, kind in self.columns.items() if name in self.before}
        other = {name: f"was {was}, is {kind}" for name, (was, kind) in kept.items() if was != kind}
        return gone | came | other


class DescribedTables:
    """The descriptions of a project's folder. One that the file doesn't have is asked for and written down."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def describe(self, name: str, intake: Intake) -> Description:
        """The description of the table that this topic takes in: as it was written down, else as its database says."""
        kept = self._kept().get(name)
        if kept is not None and kept["of"] == _source(intake):
            return _read(kept)
        return self._ask(name, intake)

    def again(self, name: str, intake: Intake | None) -> Redescribed:
        """Ask the database of a described table once more, and write down what it says."""
        kept = self._kept().get(name)
        if kept is None or intake is None:
            known = ", ".join(sorted(self._kept())) or "none"
            raise ArgumentRefused(
                f'"{name}" is no table whose columns were read from a database',
                detail=f"Those are: {known}.",
                hint="Leave its columns out: CREATE TABLE … WITH (connector = 'postgres', …).",
            )
        asked = self._ask(name, intake)
        return Redescribed(name, dict(asked.columns), dict(_read(kept).columns))

    @property
    def names(self) -> list[str]:
        """The tables that are described."""
        return sorted(self._kept())

    def _ask(self, name: str, intake: Intake) -> Description:
        asked = _described(name, intake)
        kept = self._kept() | {name: {"of": _source(intake), **asdict(asked)}}
        put(self._path, json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")
        return asked

    def _kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, OSError) as cause:
            raise _damaged(self._path, cause) from cause
        try:
            for one in kept.values():
                for _, kind in _read(one).columns:
                    parse_type(kind)
        except (AttributeError, KeyError, TypeError, ValueError, HeadwaterError) as cause:
            raise _damaged(self._path, cause) from cause
        return dict(kept)


def _described(name: str, intake: Intake) -> Description:
    """Ask the database; each kind needs an extra of its own."""
    if isinstance(intake, Mysql):
        with extra("mysql", f'table "{name}"', topic=name):
            from headwater.intake.mysql import description as of_mysql
        return of_mysql.describe(name, intake)
    assert isinstance(intake, Postgres)
    with extra("cdc", f'table "{name}"', topic=name):
        from headwater.intake.postgres import description as of_postgres
    return of_postgres.describe(name, intake)


def _source(intake: Intake) -> str:
    assert isinstance(intake, Postgres | Mysql)
    return f"{intake.connector} {intake.table}"


def _read(kept: Mapping[str, Any]) -> Description:
    columns = tuple((str(name), str(kind)) for name, kind in kept["columns"])
    return Description(columns, tuple(map(str, kept["primary_key"])))


def _damaged(path: Path, cause: Exception) -> SettingsRefused:
    return SettingsRefused(
        f'file "{path.name}" can\'t be read',
        detail=f"{cause.summary if isinstance(cause, HeadwaterError) else cause}.",
        hint="Take it from the versions of your code, or delete it: databases are then asked for the columns again.",
        path=str(path),
    )
