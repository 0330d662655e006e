"""Mistakes and interruptions: the errors of runs that ended though nothing was wrong with a view."""

from __future__ import annotations

from typing import Any

from headwater.errors import InternalError, ViewInterrupted

KEPT = "Its rows are as they were after the last batch that succeeded."


def stopped(view: str) -> ViewInterrupted:
    """The error of a run that was ended before it was done."""
    return ViewInterrupted(
        f'view "{view}" was stopped before it had caught up',
        detail=KEPT,
        hint="Run `headwater catch-up` again: it goes on from there.",
        view=view,
    )


def refused(view: str, cause: OSError) -> ViewInterrupted:
    """The error of a run whose folder can't be read or written."""
    error = ViewInterrupted(
        f'the state of view "{view}" could not be read or written',
        detail=f"{cause}. {KEPT}",
        hint="Check the permissions and the free space of the project's folder, then run `headwater catch-up` again.",
        view=view,
    )
    error.__cause__ = cause
    return error


def mistake(kind: str, name: str, cause: Exception, kept: str) -> InternalError:
    """The error of a view or an outlet that ran into something that nobody has foreseen; what it has is kept."""
    fields: dict[str, Any] = {kind: name}
    error = InternalError(
        f'{kind} "{name}" stopped by a mistake of ours',
        detail=f"{type(cause).__name__}: {cause}. {kept}",
        hint="Please report it.",
        **fields,
    )
    error.__cause__ = cause
    return error
