"""Roles and scopes: what a token allows.

`read` asks, `write` appends as well, `operate` may do everything. A token that is to be narrow names the streams
or views that it is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from headwater.errors import RoleRefused

Role = Literal["read", "write", "operate"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Access:
    """The rights of a request. No streams, or no views, are named: all of them."""

    name: str = "loopback"
    role: Role = "operate"
    streams: tuple[str, ...] = ()
    views: tuple[str, ...] = ()

    def allows(self, role: Role) -> bool:
        """Tells whether the role includes another one."""
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

    def check_role(self, role: Role) -> None:
        """Refuse what needs a role that this one doesn't include."""
        if not self.allows(role):
            raise RoleRefused(
                f'token "{self.name}" doesn\'t allow this',
                detail=f"It has the role {self.role}, and this needs {role}.",
                hint="Ask for a token with that role.",
            )

    def _check(self, kind: str, name: str, allowed: tuple[str, ...], others: bool) -> None:
        if (allowed or others) and name.lower() not in {allowed_name.lower() for allowed_name in allowed}:
            raise self._refusal(f'it is not for {kind} "{name}"')

    def _refusal(self, why: str) -> RoleRefused:
        return RoleRefused(
            f'token "{self.name}" doesn\'t allow this',
            detail=f"{why[0].upper()}{why[1:]}.",
            hint="Ask for a token with that scope: `headwater token create` makes one.",
        )
