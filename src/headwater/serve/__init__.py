"""Serving a project over HTTP: events in, views out, changes as they happen. Needs the extra `serve`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from headwater.errors import ExtraMissing

if TYPE_CHECKING:
    from headwater.config import ServeSettings
    from headwater.project import Project
    from headwater.serve.server import Server
    from headwater.serve.workers import Workers

_NEEDED = ("fastapi", "uvicorn", "orjson", "prometheus_client", "websockets", "nicegui")


def require_extra() -> None:
    """Raise `ExtraMissing` if the packages of the server aren't installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ExtraMissing(
            "the server needs packages that are not installed",
            detail=f"Missing: {', '.join(missing)}.",
            hint="Install them with pip install 'headwater[serve]', or run without serving (--no-serve).",
            extra="serve",
        )


def open_server(project: Project, settings: ServeSettings) -> Server | Workers:
    """A server for a project; it serves within a `with` block. `ExtraMissing` if its packages aren't installed."""
    require_extra()
    if settings.workers:
        from headwater.serve.workers import Workers

        return Workers(project, settings)
    from headwater.serve.server import Server

    return Server(project, settings)
