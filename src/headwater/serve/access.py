"""Access: who may do what. On a loopback address everyone may do everything; elsewhere each request needs a token.

Tokens are kept as hashes: nobody can read one out of the project's folder.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from headwater.errors import TokenRefused
from headwater.operate.audit import set_actor
from headwater.serve.access_log import LAID_TO
from headwater.serve.role import Access, Role
from headwater.serve.tokens import Tokens


def access_of(connection: HTTPConnection, role: Role) -> Access:
    """The access of a request, which must include a role."""
    tokens: Tokens | None = connection.app.state.tokens
    access = Access() if tokens is None else tokens.access(secret_of(connection))
    connection.scope[LAID_TO] = laid_to(access)
    access.check_role(role)
    set_actor(laid_to(access))
    return access


def laid_to(access: Access) -> str:
    """Whom the audit trail names for what is done with an access."""
    return f"token {access.name}" if access != Access() else "loopback"


def asks(role: Role) -> Callable[[HTTPConnection], Awaitable[Access]]:
    """The dependency of a route: the access of a request, which must include a role."""

    async def access(connection: HTTPConnection) -> Access:  # so that it needs no thread
        return access_of(connection, role)

    return access


Reads = Annotated[Access, Depends(asks("read"))]
Writes = Annotated[Access, Depends(asks("write"))]
Operates = Annotated[Access, Depends(asks("operate"))]


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
