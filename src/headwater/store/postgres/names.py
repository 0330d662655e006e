"""The names of things in the database, beside those that every database has.

PostgreSQL cuts names after 63 bytes without a word, so a name that would be cut is refused, or, where people needn't
know it, made shorter with a hash.
"""

from __future__ import annotations

import hashlib

from headwater.errors import ArgumentRefused
from headwater.store import names
from headwater.store.protocol import Target
from headwater.store.spelling import changes_of

LONGEST = 63
RESERVED = ("headwater_", "pg_")


def shortened(name: str) -> str:
    """The name itself, or one of its own that fits.

    >>> len(shortened("a" * 100))
    63
    """
    if len(name.encode()) <= LONGEST:
        return name
    head = name.encode()[: LONGEST - 13].decode(errors="ignore")
    return f"{head}_{hashlib.sha256(name.encode()).hexdigest()[: LONGEST - 1 - len(head.encode())]}"


def images_of(view: str, version: int) -> str:
    """The table that holds the changed rows as they were before and after."""
    return shortened(names.images_of(view, version))


def check_names(target: Target) -> None:
    """Refuse names that PostgreSQL or the bookkeeping needs for itself, and those that are too long."""
    view = target.view
    names.check_view(view, "PostgreSQL", RESERVED)
    for name in (changes_of(view, target.version), *(column.name for column in target.columns)):
        if len(name.encode()) > LONGEST:
            raise ArgumentRefused(
                f'view "{view}" can\'t be kept in a PostgreSQL store',
                detail=f'It needs the name "{name}", and a name has at most {LONGEST} bytes.',
                hint="Give the view or the column a shorter name.",
                view=view,
            )
