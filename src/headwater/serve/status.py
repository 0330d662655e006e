"""Routes about the whole: status, lineage, metrics, health."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from headwater.errors import HeadwaterError
from headwater.model import Table, Topic
from headwater.operate.query import DEFAULT_STORE
from headwater.project import Project
from headwater.serve.access import Reads
from headwater.serve.encode import answer
from headwater.serve.metrics import Metrics
from headwater.serve.service import Service

LEAST_FREE = 64 * 1024 * 1024
"""So many bytes have to be free on the disk for the project to be ready."""


def routes(service: Service) -> APIRouter:
    """The routes at the root."""
    router = APIRouter(tags=["project"])
    registry = CollectorRegistry()
    registry.register(Metrics(service.project))

    @router.get("/status")
    def status(access: Reads) -> Response:
        """The status of every topic, view and outlet: heads, watermarks, lag, rates, freshness, ledgers."""
        access.check_whole()
        return answer(service.project.status().as_dict())

    @router.get("/alerts")
    def alerts(access: Reads) -> Response:
        """The alerts of the rules: pending, firing, resolved within the hour; and the rules."""
        access.check_whole()
        return answer(service.project.alerts().as_dict())

    @router.get("/lineage")
    def lineage(access: Reads) -> Response:
        """The lineage: topics, views, stores and outlets, and the edges between them."""
        access.check_whole()
        return answer(lineage_of(service.project))

    @router.get("/metrics")
    def metrics(access: Reads) -> Response:
        """The figures for Prometheus."""
        access.check_whole()
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @router.get("/healthz")
    async def alive() -> Response:
        """Answers while the process lives."""
        return answer({"alive": True})

    @router.get("/readyz")
    def ready() -> Response:
        """Tells if the log and the stores answer, and no view has stopped or is unsound; 503 if not. It names no view.

        A view that is paused is as its operator wants it.
        """
        if _is_full(service.project):
            return answer({"ready": False, "reason": "disk-full"}, 503)
        try:
            views = service.project.status().views
        except HeadwaterError as error:
            return answer({"ready": False, "reason": error.code()}, 503)
        stopped = sum(view.state == "stopped" for view in views)
        empty = sum(view.version is None and view.paused is None for view in views)
        unsound = sum(view.unsound is not None for view in views)
        is_ready = not (stopped or empty or unsound)
        readiness = {"ready": is_ready, "stopped": stopped, "empty": empty, "unsound": unsound}
        return answer(readiness, 200 if is_ready else 503)

    return router


def _is_full(project: Project) -> bool:
    """Tells whether the disk with the project's folder, or with a log beside it, has no room for what comes."""
    data = project.settings.data
    folders = [project.folder] if "://" in data else [project.folder, project.folder / data]
    return any(shutil.disk_usage(folder).free < LEAST_FREE for folder in folders if folder.exists())


def _kind(topic: Topic) -> str:
    return "table" if isinstance(topic, Table) else "stream"


def lineage_of(project: Project) -> dict[str, Any]:
    """The graph of a project: nodes with their kinds, and edges from what is read to what reads it."""
    plan = project.plan()
    nodes = [{"name": topic.name, "kind": _kind(topic)} for topic in plan.topics.values()]
    edges = []
    for planned in plan.views.values():
        kind = "view" if planned.view.materialized else "inlined view"
        nodes.append({"name": planned.name, "kind": kind})
        edges += [{"from": source, "to": planned.name} for source in plan.graph.sources(planned.name)]
        if planned.view.materialized:
            named = planned.view.stores or (DEFAULT_STORE,)
            edges += [{"from": planned.name, "to": f"store {name}"} for name in named]
    stores = {edge["to"] for edge in edges if edge["to"].startswith("store ")}
    nodes += [{"name": name, "kind": "store"} for name in sorted(stores)]
    for outlet in plan.outlets.values():
        nodes.append({"name": outlet.name, "kind": "outlet"})
        edges.append({"from": outlet.view.name, "to": outlet.name})
    return {"nodes": nodes, "edges": edges}
