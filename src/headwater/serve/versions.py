"""Routes of the versions of views, for the role `operate`: which there are, how two differ, which one is served."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from headwater.operate.compare import EXAMPLES
from headwater.serve.access import Operates
from headwater.serve.encode import answer
from headwater.serve.service import Service

Share = Annotated[float | None, Query(ge=0, le=1, description="A share of the rows: 0.001 is 0.1%.")]
Number = Annotated[int | None, Query(ge=1, description="A version; by default the newest, or the one before.")]
Require = Annotated[str | None, Query(max_length=10_000, description="A query over `old` and `new` that must be true.")]


def routes(service: Service) -> APIRouter:
    """The routes of versions, below /views."""
    router = APIRouter(prefix="/views", tags=["administration"])
    versions = service.project.versions

    @router.get("/{name}/versions")
    def listed(name: str, access: Operates) -> Response:
        """The versions of a view: which is served, which are kept up and until when, and how far each has come."""
        access.check_view(name)
        return answer({"view": name, "held": versions.is_held(name), "versions": list(map(asdict, versions.of(name)))})

    @router.get("/{name}/compare")
    def compare(
        name: str,
        access: Operates,
        version: Number = None,
        examples: Annotated[int, Query(ge=0, le=1000)] = EXAMPLES,
    ) -> Response:
        """The rows that only the served version has, that only another one has, and that differ, at one cut."""
        access.check_view(name)
        with service.queries.taken():
            return answer(versions.compare(name, version, examples=examples).as_dict())

    @router.post("/{name}/promote")
    def promote(
        name: str,
        access: Operates,
        version: Number = None,
        max_diff: Share = None,
        max_missing: Share = None,
        require: Require = None,
    ) -> Response:
        """Serve another version, unless more rows differ or are missing than may, or what is required doesn't hold."""
        access.check_view(name)
        with service.queries.taken():
            done = versions.promote(name, version=version, max_diff=max_diff, max_missing=max_missing, require=require)
        return answer(asdict(done))

    @router.post("/{name}/rollback")
    def rollback(name: str, access: Operates, version: Number = None) -> Response:
        """Serve the version again that was served before."""
        access.check_view(name)
        return answer(asdict(versions.rollback(name, version=version)))

    return router
