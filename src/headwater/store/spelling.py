"""Names and texts as SQL, and what the tables of a version are called in every database."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """A name as SQL, whatever characters it has.

    >>> quoted('3" pipes')
    '"3"" pipes"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL, whatever characters it has.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def comma(parts: Iterable[str]) -> str:
    """A list as SQL."""
    return ", ".join(parts)


def table_of(view: str, version: int) -> str:
    """The table that holds a version's rows."""
    return f"{view}__v{version}"


def changes_of(view: str, version: int) -> str:
    """The SQL view that shows the changelog to people."""
    return f"{view}__v{version}__changes"
