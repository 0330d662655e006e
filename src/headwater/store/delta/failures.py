"""Failures of the storage below a Delta store, and what they mean to whoever runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import LogDamaged, LogUnavailable, StoreDenied, StoreUnavailable
from headwater.store.refusals import WHOLE_OR_NOTHING, altered


def missing(file: str | None) -> LogDamaged | None:
    """A file that isn't there, if it is known which."""
    return LogDamaged(f'the file "{file}" is missing', path=file) if file else None


@contextmanager
def named(place: str, view: str, version: int, what: str) -> Iterator[None]:
    """Turn a failure into an operator's error that names the place."""
    try:
        yield
    except LogDamaged as cause:
        raise altered(place, view, version, cause) from cause
    except FileNotFoundError as cause:
        raise altered(place, view, version, missing(cause.filename)) from cause
    except (LogUnavailable, OSError) as cause:
        below = cause.__cause__ if isinstance(cause, LogUnavailable) else cause
        reason = getattr(below, "strerror", None) or str(below)
        if isinstance(below, PermissionError):
            raise StoreDenied(
                f'the store "{place}" refuses to be used',
                detail=f"{reason}. Nothing was written.",
                hint="Allow this user to read and write the folder.",
                path=place,
            ) from cause
        raise StoreUnavailable(
            f'the store "{place}" could not be {what}',
            detail=f"{reason}. {WHOLE_OR_NOTHING}",
            hint="Check free space, permissions and the connection, then repeat the call.",
            path=place,
        ) from cause
