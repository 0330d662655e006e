"""What things are called in the database. `headwater_` tables are bookkeeping; the rest is for people."""

from __future__ import annotations

from headwater.errors import ArgumentRefused

RESERVED = ("headwater_", "sqlite_")


def images_of(view: str, version: int) -> str:
    """The table that holds the changed rows as they were before and after."""
    return f"headwater_changes_{view}__v{version}"


def check_name(view: str) -> None:
    """Refuse a view's name that SQLite or the bookkeeping needs for itself."""
    if not view or "\0" in view or view.lower().startswith(RESERVED):
        raise ArgumentRefused(
            f'view "{view}" can\'t be kept in a SQLite store',
            detail="Names that are empty, hold a NUL character or start with headwater_ or sqlite_ are taken.",
            hint="Give the view another name.",
            view=view,
        )
