"""A part of an application that is made while the rest is served already."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater.serve.later import Later
from tests.patience import PATIENCE


def api() -> FastAPI:
    app = FastAPI()
    app.get("/healthz")(lambda: "healthy")
    return app


def test_the_rest_is_served_before_it_is_there_and_who_asks_for_it_waits() -> None:
    may_go, app, lived = threading.Event(), api(), list[str]()

    @asynccontextmanager
    async def lifespan(_: FastAPI):  # type: ignore[no-untyped-def]
        lived.append("begins")
        yield
        lived.append("ends")

    def make() -> FastAPI:
        assert may_go.wait(PATIENCE)
        page = FastAPI(lifespan=lifespan)
        page.get("/")(lambda: "a page")
        return page

    Later(app, make)
    with TestClient(app) as client, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.get, "/")
        assert client.get("/healthz").json() == "healthy"
        assert not asked.done()
        may_go.set()
        assert asked.result(PATIENCE).json() == "a page"
        assert lived == ["begins"]
    assert lived == ["begins", "ends"]


def test_one_that_can_not_be_made_is_told_of_and_the_rest_is_served(caplog: pytest.LogCaptureFixture) -> None:
    app = api()

    def make() -> FastAPI:
        raise ImportError("no module of that name")

    Later(app, make)
    with caplog.at_level(logging.ERROR), TestClient(app) as client:
        answer = client.get("/")
        assert (answer.status_code, client.get("/healthz").json()) == (503, "healthy")
    assert "the dashboard stopped by a mistake of ours" in caplog.text
