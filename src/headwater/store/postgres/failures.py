"""Failures of PostgreSQL by their SQLSTATE, and what they mean to whoever runs it."""

from __future__ import annotations

import psycopg

from headwater.errors import HeadwaterError, StoreDamaged, StoreDenied, StoreUnavailable
from headwater.store.refusals import WHOLE_OR_NOTHING

_DENIED = {
    "28P01": ("The password is wrong", "Set the password by an environment variable, in the URL or as PGPASSWORD."),
    "28000": ("The server doesn't let this user in", "Check user, database and TLS options against its pg_hba.conf."),
    "3D000": ("The database doesn't exist", "Create it with createdb, or correct the URL."),
    "42501": (
        "The user lacks a permission",
        "Grant it; CREATE on the schema and TEMPORARY on the database are needed.",
    ),
    "0LP01": (
        "The user lacks a permission",
        "Grant it; CREATE on the schema and TEMPORARY on the database are needed.",
    ),
}
_AT_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "certificate": "28000",
    "does not support SSL": "28000",
    'role "': "28000",
    'database "': "3D000",
    "permission denied": "42501",
}
"""A connection that is refused has no SQLSTATE, only a text."""
_UNAVAILABLE = {
    "53100": ("The disk is full", "Make room, then repeat the call."),
    "53300": ("The server has no connection left", "Raise max_connections, or use a pooler."),
    "55P03": ("Another transaction kept a lock for longer than lock_timeout", "Let it finish, then repeat the call."),
    "57014": ("The statement took longer than it may", "Repeat the call, or raise the timeout."),
    "25P03": ("The transaction was silent for longer than silence_timeout", "Repeat the call."),
    "25006": ("The server only reads: it is a standby", "Name the primary in the URL, or target_session_attrs."),
    "40P01": ("The server broke a deadlock", "Repeat the call."),
}
_ALTERED = ("42P01", "42703", "42804", "3F000", "42P10", "42883", "42809")


def at_connecting(place: str, cause: psycopg.Error) -> HeadwaterError:
    """A connection that could not be made."""
    text = str(cause)
    code = next((code for words, code in _AT_CONNECTING.items() if words in text), "")
    return _denied(place, cause, code) if code else _unavailable(place, cause, "reached", "")


def meaning(place: str, cause: psycopg.Error, what: str) -> HeadwaterError:
    """A statement of ours that failed."""
    code = cause.sqlstate or ""
    if code in _DENIED:
        return _denied(place, cause, code)
    if code in _ALTERED:
        return StoreDamaged(
            f'the store "{place}" lacks something that Headwater made',
            detail=f"{_sentence(cause)} Someone dropped or altered it. {WHOLE_OR_NOTHING}",
            hint="Run `headwater replay` to rebuild the view from the log as a new version.",
            path=place,
        )
    return _unavailable(place, cause, what, code)


def _denied(place: str, cause: psycopg.Error, code: str) -> StoreDenied:
    reason, hint = _DENIED[code]
    return StoreDenied(
        f'the store "{place}" refuses to be used', detail=f"{reason}. {_sentence(cause)}", hint=hint, path=place
    )


def _unavailable(place: str, cause: psycopg.Error, what: str, code: str) -> StoreUnavailable:
    reason, hint = _UNAVAILABLE.get(code, ("", "Check that the server runs and can be reached, then repeat the call."))
    told = f"{reason}. " if reason else ""
    return StoreUnavailable(
        f'the store "{place}" could not be {what}',
        detail=f"{told}{_sentence(cause)} {WHOLE_OR_NOTHING}",
        hint=hint,
        path=place,
    )


def too_old(place: str, version: int, needed: int) -> StoreDenied:
    """A server that lacks what is used."""
    return StoreDenied(
        f'the store "{place}" needs PostgreSQL {needed} or newer',
        detail=f"The server is PostgreSQL {version}. Nothing was written.",
        hint="Upgrade the server, or keep the view in another store.",
        path=place,
    )


def _sentence(cause: psycopg.Error) -> str:
    text = " ".join(str(cause).split()).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
