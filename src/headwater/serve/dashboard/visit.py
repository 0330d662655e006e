"""A visit: what a page works with while a browser has it open."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import HTTPConnection

from headwater.errors import TokenRefused
from headwater.serve.dashboard.history import History
from headwater.serve.door import Door
from headwater.serve.role import Access, Role
from headwater.serve.service import Service


@dataclass(frozen=True)
class Visit:
    """The project that is served, its history, and who looks at it."""

    service: Service
    history: History
    door: Door
    request: HTTPConnection

    def access(self) -> Access:
        """The access of the visitor now: a token may have been revoked since the page was opened."""
        return self.door.access(self.request)

    def may(self, role: Role) -> bool:
        """Tells whether the visitor may do what needs a role."""
        try:
            return self.access().allows(role)
        except TokenRefused:
            return False
