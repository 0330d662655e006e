"""The pages, and where each is. NiceGUI has one set of pages in a process: they show the project mounted last."""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import core, ui

from headwater.serve.dashboard.alerts import alerts_page
from headwater.serve.dashboard.history import History
from headwater.serve.dashboard.overview import overview
from headwater.serve.dashboard.query import query_page
from headwater.serve.dashboard.stream import stream_page
from headwater.serve.dashboard.view import view_page
from headwater.serve.dashboard.visit import Visit
from headwater.serve.door import Door
from headwater.serve.service import Service

PATIENCE = 30.0
"""For how many seconds a page that lost its connection may come back to what it showed: a busy machine answers late."""

_mounted: list[tuple[Service, History, Door]] = []


def mount(app: FastAPI, service: Service, history: History, door: Door) -> None:
    """Serve the dashboard at the root of an application, beside its API."""
    _mounted[:] = [(service, history, door)]
    core.app.user_middleware.clear()  # it was mounted before, in a server that has ended
    core.app.middleware_stack = None
    ui.run_with(app, title=f"Headwater: {service.project.name}", favicon="🌊", reconnect_timeout=PATIENCE,
                show_welcome_message=False)  # fmt: skip


def _visit() -> Visit:
    return Visit(*_mounted[0], ui.context.client.request)


@ui.page("/")
def _overview() -> None:
    overview(_visit())


@ui.page("/dashboard/views/{name}")
def _view(name: str) -> None:
    view_page(_visit(), name)


@ui.page("/dashboard/streams/{name}")
def _stream(name: str) -> None:
    stream_page(_visit(), name)


@ui.page("/dashboard/alerts")
def _alerts() -> None:
    alerts_page(_visit())


@ui.page("/dashboard/query")
def _query() -> None:
    query_page(_visit())
