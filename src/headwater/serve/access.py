"""Access: who may do what. On a loopback address everyone may do everything; elsewhere each request needs a token.

A *token* has a role and, if it is to be narrow, the streams or views that it is for. `read` asks, `write` appends as
well, `operate` may do everything. Tokens are kept as hashes: nobody can read one out of the project's folder.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from starlette.requests import HTTPConnection

from headwater.errors import ArgumentRefused, RoleRefused, TokenRefused

Role = Literal["read", "write", "operate"]
ROLES: tuple[Role, ...] = get_args(Role)
FILE = "tokens.json"
_PREFIX = "hw_"


@dataclass(frozen=True)
class Access:
    """What a request may do. No streams, or no views, are named: all of them."""

    name: str = "loopback"
    role: Role = "operate"
    streams: tuple[str, ...] = ()
    views: tuple[str, ...] = ()

    def allows(self, role: Role) -> bool:
        """Whether the role includes another one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def check_stream(self, name: str) -> None:
        """Refuse a stream that the token isn't for."""
        self._check("stream", name, self.streams, bool(self.views))

    def check_view(self, name: str) -> None:
        """Refuse a view that the token isn't for."""
        self._check("view", name, self.views, bool(self.streams))

    def check_whole(self) -> None:
        """Refuse what concerns the whole project, unless the token is for all of it."""
        if self.streams or self.views:
            raise self._refusal("it is for some streams and views, and this is about all of them")

    def _check(self, kind: str, name: str, allowed: tuple[str, ...], others: bool) -> None:
        if (allowed or others) and name.lower() not in {found.lower() for found in allowed}:
            raise self._refusal(f'it is not for {kind} "{name}"')

    def _refusal(self, why: str) -> RoleRefused:
        return RoleRefused(
            f'token "{self.name}" doesn\'t allow this',
            detail=f"{why[0].upper()}{why[1:]}.",
            hint="Ask for a token with that scope: `headwater token create` makes one.",
        )


@dataclass(frozen=True)
class Token:
    """A token as it is kept."""

    access: Access
    hash: str
    made_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


class Tokens:
    """The tokens of a project, in a file that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / ".headwater" / FILE
        self._read: tuple[tuple[int, int], list[Token]] | None = None

    def create(self, name: str, role: Role, streams: Iterable[str] = (), views: Iterable[str] = ()) -> str:
        """A new token, which is told once and kept as a hash."""
        if any(token.access.name == name for token in self.all()):
            raise ArgumentRefused(f'there is a token "{name}" already', hint="Revoke it, or take another name.")
        secret = _PREFIX + secrets.token_urlsafe(32)
        access = Access(name, role, tuple(streams), tuple(views))
        self._write([*self.all(), Token(access, hash_of(secret))])
        return secret

    def revoke(self, name: str) -> None:
        """Forget a token: from now on it is refused."""
        kept = [token for token in self.all() if token.access.name != name]
        if len(kept) == len(self.all()):
            raise ArgumentRefused(f'there is no token "{name}"', hint="`headwater token list` shows them.")
        self._write(kept)

    def all(self) -> list[Token]:
        """Every token, in the order in which they were made."""
        try:
            status = self._file.stat()
            stamp, known = (status.st_mtime_ns, status.st_ino), self._read  # another file each time that it is written
            if known is None or known[0] != stamp:
                known = stamp, [_token(record) for record in json.loads(self._file.read_text("utf-8"))]
                self._read = known
        except FileNotFoundError:
            return []
        return list(known[1])

    def access(self, secret: str) -> Access:
        """What a token allows; `TokenRefused` if it isn't known."""
        return self.of(hash_of(secret))

    def of(self, hashed: str) -> Access:
        """What the token with a hash allows."""
        found = [token.access for token in self.all() if hmac.compare_digest(token.hash, hashed)]
        if not found:
            raise TokenRefused("the token is not known", hint="It may have been revoked. Ask for another one.")
        return found[0]

    def _write(self, tokens: list[Token]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        staged = self._file.with_suffix(".tmp")
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([asdict(token.access) | {"hash": token.hash, "made_at": token.made_at} for token in tokens], file)
        staged.replace(self._file)


def _token(record: dict[str, Any]) -> Token:
    scope = {name: tuple(record[name]) for name in ("streams", "views")}
    return Token(Access(record["name"], record["role"], **scope), record["hash"], record["made_at"])


def hash_of(secret: str) -> str:
    """What is kept of a token or a session. They have 256 bits of chance: nothing slower is needed to guard them."""
    return hashlib.sha256(secret.encode()).hexdigest()


def access_of(connection: HTTPConnection, role: Role) -> Access:
    """The access of a request, which must include a role."""
    tokens: Tokens | None = connection.app.state.tokens
    found = Access() if tokens is None else tokens.access(secret_of(connection))
    if not found.allows(role):
        raise RoleRefused(
            f'token "{found.name}" doesn\'t allow this',
            detail=f"It has the role {found.role}, and this needs {role}.",
            hint="Ask for a token with that role.",
        )
    return found


def asks(role: Role) -> Callable[[HTTPConnection], Awaitable[Access]]:
    """What a route depends on: the access of a request, which must include a role."""

    async def access(connection: HTTPConnection) -> Access:  # so that it needs no thread
        return access_of(connection, role)

    return access


def secret_of(connection: HTTPConnection) -> str:
    """The token that a request carries; `TokenRefused` if it carries none."""
    kind, _, secret = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        secret = _password(secret)
    elif kind.lower() != "bearer":
        secret = ""
    if not secret:
        raise TokenRefused(
            "the request carries no token",
            detail="The project is served on an address that others can reach.",
            hint="Send the header Authorization: Bearer TOKEN; `headwater token create` makes one.",
        )
    return secret.strip()


def _password(text: str) -> str:
    """The password of Basic authentication, as clients of schema registries send a token; any name goes with it."""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
