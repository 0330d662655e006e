"""A schema of its own for each test, and a store in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.store.postgres import PostgresStore
from tests.servers.postgres import PostgresServer


@pytest.fixture
def schema() -> str:
    return f"test_{uuid.uuid4().hex}"


Open = Callable[..., PostgresStore]


@pytest.fixture
def open_store(postgres_server: PostgresServer, schema: str) -> Iterator[Open]:
    """Opens a store in the test's schema, with options."""
    opened: list[PostgresStore] = []

    def open_again(**options: Any) -> PostgresStore:
        options = {"reader": postgres_server.reader_url} | options
        opened.append(PostgresStore(postgres_server.url, schema=schema, **options))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> PostgresStore:
    return open_store()
