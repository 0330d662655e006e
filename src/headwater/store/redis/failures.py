"""Failures of Redis, and what they mean to whoever runs it."""

from __future__ import annotations

from redis import exceptions

from headwater.errors import HeadwaterError, StoreDamaged, StoreDenied, StoreUnavailable
from headwater.store.refusals import WHOLE_OR_NOTHING

_DENIED = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
_REASONS = {
    "maxmemory": ("Redis has no memory left", "Raise maxmemory or make room, then repeat the call."),
    "MISCONF": ("Redis can't write to its disk", "Look at its log, then repeat the call."),
    "BUSY": ("Redis is busy with a script", "Repeat the call."),
    "read only": ("The server only reads: it is a replica", "Name the primary in the URL."),
    "loading": ("Redis is reading its data from disk", "Repeat the call."),
}


def meaning(place: str, cause: exceptions.RedisError, what: str) -> HeadwaterError:
    """A command of ours that failed."""
    text = str(cause).rpartition("caused error: ")[2]  # what comes before is the command, with its data
    if isinstance(cause, _DENIED) or text.startswith(("NOAUTH", "WRONGPASS", "NOPERM")):
        return StoreDenied(
            f'the store "{place}" refuses to be used',
            detail=f"The password is wrong, or the user may not run a command. {_sentence(text)}",
            hint="Set the password by an environment variable in the URL, and allow the user all keys and scripts.",
            path=place,
        )
    if "WRONGTYPE" in text:
        return StoreDamaged(
            f'the store "{place}" has something else where Headwater keeps its data',
            detail=f"{_sentence(text)} Nothing was written.",
            hint="Run `headwater replay` to rebuild the view from the log as a new version.",
            path=place,
        )
    reasons = (_REASONS[word] for word in _REASONS if word in text)
    reason, hint = next(reasons, ("", "Check that the server runs and can be reached, then repeat the call."))
    return StoreUnavailable(
        f'the store "{place}" could not be {what}',
        detail=f"{f'{reason}. ' if reason else ''}{_sentence(text)} {WHOLE_OR_NOTHING}",
        hint=hint,
        path=place,
    )


def _sentence(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}."
