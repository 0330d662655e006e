"""The refusal of a statement that can't be answered."""

from __future__ import annotations

from headwater.errors import StatementRefused

SUMMARY = "the query can't be answered"
NATIVE = "Write it otherwise, compute it in a view, or ask the store in its own SQL (--native)."


def refused(detail: str, hint: str | None = None, sql: str = "") -> StatementRefused:
    """The refusal of a statement: why, and what to write instead."""
    return StatementRefused(SUMMARY, detail=f"{detail[:1].upper()}{detail[1:]}", hint=hint or NATIVE, sql=sql)
