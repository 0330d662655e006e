"""Databases of a real server, and projects that take them in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.intake.mysql.shop import Database, Shop
from tests.servers.mariadb import MariadbServer


@pytest.fixture
def database(mariadb_server: MariadbServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database of its own, whose address is in the environment."""
    made = Database(mariadb_server)
    monkeypatch.setenv("SHOP_DB", made.url)
    yield made
    made.drop()


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Shop:
    """A project without a declaration."""
    return Shop(database, tmp_path)
