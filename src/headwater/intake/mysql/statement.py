"""Statements in a binary log: what they do to tables of which a log of rows says nothing."""

from __future__ import annotations

import re
from collections.abc import Collection

_NAME = r"(?:`(?:[^`]|``)+`|[\w$]+)"
_COMMENTS = re.compile(r"/\*.*?\*/|--[ \t][^\n]*|#[^\n]*", re.DOTALL)
_TRUNCATE = re.compile(rf"TRUNCATE(?:\s+TABLE)?\s+({_NAME}(?:\s*\.\s*{_NAME})?)\s*(?:;|(?:NO)?WAIT\b.*)?", re.I | re.S)
_WHOLE = re.compile(_NAME)
_CHANGES = re.compile(
    r"(?P<drops>DROP\s+(?:TABLE|DATABASE|SCHEMA)\b)|(?P<renames>RENAME\s+TABLE\b|ALTER\s.*\bRENAME\s+(?!COLUMN\b|INDEX\b|KEY\b))"
    r"|(?P<replaces>CREATE\s+OR\s+REPLACE\s+TABLE\b)|(?P<partitions>ALTER\s.*\bPARTITION\b)"
    r"|(?P<rows>(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|MERGE|WITH|CALL)\b)|(?P<undoes>ROLLBACK\s+TO\b|XA\s)",
    re.IGNORECASE | re.DOTALL,
)
_DONE = {
    "drops": "was dropped",
    "renames": "was renamed",
    "replaces": "was replaced",
    "partitions": "got other partitions",
    "rows": "was changed by a statement whose rows aren't told (binlog_format isn't ROW)",
}


class Doubt(Exception):
    """Tables may be otherwise than the rows say from a position on; the text says why, as a beginning of a sentence."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason, self.position = reason, position


def truncated(statement: str, database: str, tables: Collection[str]) -> str | None:
    """The table that a statement empties, if it is one of these.

    >>> truncated("truncate table `notes`", "shop", ["shop.notes"]), truncated("TRUNCATE a.b", "shop", ["shop.b"])
    ('shop.notes', None)
    """
    match = _TRUNCATE.fullmatch(_COMMENTS.sub(" ", statement).strip())
    if match is None:
        return None
    parts = [part.strip("`").replace("``", "`") for part in _WHOLE.findall(match[1])]
    name = ".".join(parts if len(parts) == 2 else [database, *parts])
    return next((table for table in tables if table.lower() == name.lower()), None)


def doubt_of(statement: str, database: str, tables: Collection[str], has_changes: bool) -> str | None:
    """The reason for which a table may be otherwise from here on than the rows say; None if there is none.

    >>> doubt_of("ALTER TABLE notes DROP PARTITION p0", "shop", ["shop.notes"], False)
    'The table "shop.notes" got other partitions'
    >>> doubt_of("ALTER TABLE notes ADD COLUMN x int", "shop", ["shop.notes"], False)
    """
    text = _COMMENTS.sub(" ", statement).strip()
    match = _CHANGES.match(text)
    if match is None:
        return None
    done = match.lastgroup
    assert done is not None
    if done == "undoes":
        return "A part of a transaction was undone" if has_changes else None
    words = {word.strip("`").replace("``", "`").lower() for word in _WHOLE.findall(text)}
    named = [table for table in tables if _is_named(table, words, database)]
    return f'The table "{named[0]}" {_DONE[done]}' if named else None


def _is_named(table: str, words: Collection[str], database: str) -> bool:
    """Tells whether a table may be one that a statement names; rather so than not."""
    where, _, name = table.lower().partition(".")
    if where in words and not {"database", "schema"}.isdisjoint(words):
        return True
    return name in words and (where in words or where == database.lower())
