"""The names of things in the database, beside those that every database has."""

from __future__ import annotations

from functools import cached_property

from headwater.store import names
from headwater.store.spelling import quoted

RESERVED = ("headwater_", "sqlite_")


class Names(names.Names):
    """The names of a version's things, quoted."""

    def own(self, kind: str) -> str:
        """A trigger or index that people needn't see."""
        return quoted(f"headwater_{kind}_{self.target.view}__v{self.target.version}")

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The columns that are no part of the key."""
        return tuple(quoted(column.name) for column in self.target.columns if column.name not in self.target.key)

    @cached_property
    def row(self) -> str:
        """The name of a row's own number: the name that no column has taken."""
        taken = {column.name.lower() for column in self.target.columns}
        return next(name for name in ("_rowid_", "rowid", "oid") if name not in taken)


def check_name(view: str) -> None:
    """Refuse a view's name that SQLite or the bookkeeping needs for itself."""
    names.check_view(view, "SQLite", RESERVED)
