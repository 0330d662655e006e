"""The tokens of a project: what is kept of them, for how long they are good, and how one takes the place of another."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.errors import ArgumentRefused, TokenRefused
from headwater.operate.audit import Audit
from headwater.operate.record import written
from headwater.serve.role import Access, Role
from headwater.staged import staged

FILE = "tokens.json"
_PREFIX = "hw_"


@dataclass(frozen=True)
class Token:
    """A token as it is kept: what it allows, its hash, and until when it is good (without an end, if none is said)."""

    access: Access
    hash: str
    made_at: datetime
    expires_at: datetime | None = None

    def is_good(self, at: datetime) -> bool:
        """Tells whether it has not expired."""
        return self.expires_at is None or at < self.expires_at


class Tokens:
    """The tokens of a project, in a file that only its owner can read. Who makes and revokes them is written down."""

    def __init__(self, folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._file = folder / ".headwater" / FILE
        self._audit = Audit(folder / ".headwater", now)
        self._now = now
        self._read: tuple[tuple[int, int], list[Token]] | None = None

    def create(
        self,
        name: str,
        role: Role,
        streams: Iterable[str] = (),
        views: Iterable[str] = (),
        expires: timedelta | None = None,
    ) -> str:
        """A new token, which is told once and kept as a hash; good for as long as `expires` says."""
        now = self._now()
        kept = [token for token in self.all() if token.access.name != name or token.is_good(now)]
        if any(token.access.name == name for token in kept):
            hint = "Revoke it, rotate it, or take another name."
            raise ArgumentRefused(f'there is a token "{name}" already', hint=hint)
        access = Access(name, role, tuple(streams), tuple(views))
        secret, token = _make(access, now, expires)
        scope = {"streams": access.streams or None, "views": access.views or None}
        self._audit.note("token create", name, role=role, **scope, expires_at=token.expires_at)
        self._write([*kept, token])
        return secret

    def rotate(self, name: str, overlap: timedelta, expires: timedelta | None = None) -> str:
        """A new token in the place of one, which is good for the overlap yet; told once, as any new one is."""
        now = self._now()
        known = self._named(name)
        ends_at = now + overlap
        secret, token = _make(known[-1].access, now, expires)
        self._audit.note("token rotate", name, overlap=overlap, expires_at=token.expires_at)
        until = [replace(former, expires_at=min(former.expires_at or ends_at, ends_at)) for former in known]
        others = [other for other in self.all() if other.access.name != name]
        self._write([*others, *(former for former in until if former.is_good(now)), token])
        return secret

    def revoke(self, name: str) -> None:
        """Forget a token, with those whose place it took: from now on they are refused."""
        self._named(name)
        self._audit.note("token revoke", name)
        self._write([token for token in self.all() if token.access.name != name])

    def _named(self, name: str) -> list[Token]:
        known = [token for token in self.all() if token.access.name == name]
        if not known:
            raise ArgumentRefused(f'there is no token "{name}"', hint="`headwater token list` shows them.")
        return known

    def all(self) -> list[Token]:
        """Every token, in the order in which they were made."""
        try:
            status = self._file.stat()
            stamp, known = (status.st_mtime_ns, status.st_ino), self._read  # another file each time that it is written
            if known is None or known[0] != stamp:
                known = stamp, self._parsed()
                self._read = known
        except FileNotFoundError:
            return []
        return list(known[1])

    def _parsed(self) -> list[Token]:
        try:
            return [_token(record) for record in json.loads(self._file.read_text("utf-8"))]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as cause:
            raise TokenRefused(
                "the tokens of the project can't be read",
                detail=f"The file {FILE} under .headwater is damaged, so that nobody is let in. It was left as it is.",
                hint="Its operator restores the file, or removes it and makes new tokens: `headwater token create`.",
            ) from cause

    def access(self, secret: str) -> Access:
        """The access that a token allows; `TokenRefused` if it isn't known, or has expired."""
        return self.of(hash_of(secret))

    def of(self, hashed: str) -> Access:
        """The access that the token with a hash allows."""
        known = [token for token in self.all() if hmac.compare_digest(token.hash, hashed)]
        if not known:
            raise TokenRefused("the token is not known", hint="It may have been revoked. Ask for another one.")
        if not known[0].is_good(self._now()):
            hint = "Ask for another one: `headwater token rotate` makes it."
            raise TokenRefused("the token has expired", detail=f"It was good until {known[0].expires_at}.", hint=hint)
        return known[0].access

    def _write(self, tokens: list[Token]) -> None:
        with written(self._file), staged(self._file) as aside:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump([_record(token) for token in tokens], file)


def _make(access: Access, now: datetime, expires: timedelta | None) -> tuple[str, Token]:
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, Token(access, hash_of(secret), now, None if expires is None else now + expires)


def _record(token: Token) -> dict[str, Any]:
    expires_at = None if token.expires_at is None else token.expires_at.isoformat()
    return asdict(token.access) | {"hash": token.hash, "made_at": token.made_at.isoformat(), "expires_at": expires_at}


def _token(record: dict[str, Any]) -> Token:
    scope = {name: tuple(record[name]) for name in ("streams", "views")}
    access = Access(record["name"], record["role"], **scope)
    expires_at = record.get("expires_at")
    until = None if expires_at is None else datetime.fromisoformat(expires_at)
    return Token(access, record["hash"], datetime.fromisoformat(record["made_at"]), until)


def hash_of(secret: str) -> str:
    """The hash of a token or a session. They have 256 bits of chance: nothing slower is needed to guard them."""
    return hashlib.sha256(secret.encode()).hexdigest()
