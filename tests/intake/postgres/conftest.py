"""Databases of a real server, and projects that take them in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.intake.postgres.shop import Database, Shop
from tests.servers.postgres import PostgresServer


@pytest.fixture
def database(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database of its own, whose address is in the environment."""
    made = Database(postgres_server.url)
    monkeypatch.setenv("SHOP_DB", made.url)
    yield made
    made.drop()


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Shop:
    """A project without a declaration."""
    return Shop(database, tmp_path)
