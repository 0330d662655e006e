"""What things are called in the database. `headwater_` tables are bookkeeping; the rest is for people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headwater.errors import ArgumentRefused
from headwater.store.protocol import Target
from headwater.store.spelling import changes_of, quoted, table_of

RESERVED = ("headwater_", "sqlite_")


def images_of(view: str, version: int) -> str:
    """The table that holds the changed rows as they were before and after."""
    return f"headwater_changes_{view}__v{version}"


@dataclass(frozen=True)
class Names:
    """What the things of a version are called, quoted."""

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

    def own(self, kind: str) -> str:
        """A trigger or index that people needn't see."""
        return quoted(f"headwater_{kind}_{self.target.view}__v{self.target.version}")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows."""
        return tuple(quoted(column.name) for column in self.target.columns)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The columns that are no part of the key."""
        return tuple(quoted(column.name) for column in self.target.columns if column.name not in self.target.key)

    @cached_property
    def row(self) -> str:
        """What a row's own number is called: the name that no column has taken."""
        taken = {column.name.lower() for column in self.target.columns}
        return next(name for name in ("_rowid_", "rowid", "oid") if name not in taken)


def check_name(view: str) -> None:
    """Refuse a view's name that SQLite or the bookkeeping needs for itself."""
    if not view or "\0" in view or view.lower().startswith(RESERVED):
        raise ArgumentRefused(
            f'view "{view}" can\'t be kept in a SQLite store',
            detail="Names that are empty, hold a NUL character or start with headwater_ or sqlite_ are taken.",
            hint="Give the view another name.",
            view=view,
        )
