"""The names of a version's things in a database. `headwater_` tables are bookkeeping; the rest is for people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headwater.errors import ArgumentRefused
from headwater.store.protocol import Target
from headwater.store.spelling import changes_of, quoted, table_of


def images_of(view: str, version: int) -> str:
    """The table that holds the changed rows as they were before and after."""
    return f"headwater_changes_{view}__v{version}"


@dataclass(frozen=True)
class Names:
    """The names of a version's things, quoted."""

    target: Target

    @cached_property
    def table(self) -> str:
        """The table of the rows."""
        return quoted(table_of(self.target.view, self.target.version))

    @cached_property
    def images(self) -> str:
        """The table of copies of changed rows."""
        return quoted(images_of(self.target.view, self.target.version))

    @cached_property
    def changes(self) -> str:
        """The changelog as people see it."""
        return quoted(changes_of(self.target.view, self.target.version))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows."""
        return tuple(quoted(column.name) for column in self.target.columns)

    def drop(self) -> tuple[str, ...]:
        """The statements that remove all of it; triggers and indexes go with their table."""
        return (
            f"DROP VIEW IF EXISTS {self.changes}",
            f"DROP TABLE IF EXISTS {self.table}",
            f"DROP TABLE IF EXISTS {self.images}",
        )


def check_view(view: str, kind: str, reserved: tuple[str, str]) -> None:
    """Refuse a view's name that a kind of database or the bookkeeping needs for itself."""
    if not view or "\0" in view or view.lower().startswith(reserved):
        raise ArgumentRefused(
            f'view "{view}" can\'t be kept in a {kind} store',
            detail=f"Names that are empty, hold a NUL character or start with {' or '.join(reserved)} are taken.",
            hint="Give the view another name.",
            view=view,
        )
