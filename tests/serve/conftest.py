"""A bank that is served by a real server on a free port. Its views are filled as a run would, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import headwater as hw
from headwater.config import ServeSettings
from headwater.project import Project
from headwater.serve import open_server
from headwater.serve.server import Server
from headwater.store import Batch, Position, Target
from tests.patience import PATIENCE

DECLARED = """
CREATE STREAM payments (id STRING NOT NULL, card STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'card');
CREATE MATERIALIZED VIEW spend AS
SELECT card, window_end, sum(amount) AS spent, count(*) AS n
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY card, window_end;
CREATE MATERIALIZED VIEW untouched AS SELECT id FROM payments;
"""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def event(number: int, card: str = "c1", **more: Any) -> dict[str, Any]:
    return {"id": f"p-{number}", "card": card, "amount": "9.50", "at": "2026-01-01T12:00:01Z"} | more


@dataclass
class Bank:
    """A project, its server, and a hand that writes batches into the view `spend`."""

    project: Project
    client: httpx.Client
    server: Server | None = None
    batch: int = -1
    version: int = 1

    @property
    def target(self) -> Target:
        planned = self.project.plan().view("spend")
        return Target("spend", self.version, planned.columns, planned.key.columns, planned.emit)

    def write(self, rows: list[tuple[str, str, int]], gone: list[str] = [], commit: int | None = None) -> None:  # noqa: B006
        """A batch of (card, spent, n) for the window that ends at noon, and cards that are gone from it."""
        store, target = self.project.views.opened().ask.store("spend"), self.target
        epoch = store.open(target, self.project.plan().view("spend").fingerprint)
        self.batch += 1
        values = [{"card": card, "window_end": NOON, "spent": spent, "n": n} for card, spent, n in rows]
        columns = [pa.array([row[field.name] for row in values]).cast(field.type) for field in target.schema]
        upserts = pa.table(columns, schema=target.schema)
        keys = pa.schema([target.schema.field(name) for name in target.key])
        deletes = pa.Table.from_pylist([{"card": card, "window_end": NOON} for card in gone], schema=keys)
        commit = self.project.log.head("payments") if commit is None else commit
        position = Position(self.batch, (("payments", commit),), NOON)
        store.apply(target, epoch, Batch(upserts, deletes, position, {"logged": len(rows), "used": len(rows)}))
        if store.promoted("spend") != self.version:
            store.promote("spend", self.version)


def serve(folder: Path, store: str = "sqlite:///views.db", **settings: Any) -> Iterator[Bank]:
    folder.mkdir(exist_ok=True)
    (folder / "headwater.toml").write_text(f'name = "bank"\n[stores.main]\nurl = "{store}"\n')
    (folder / "bank.sql").write_text(DECLARED)
    with (
        hw.open(folder) as project,
        open_server(project, ServeSettings(port=0, dashboard=False, **settings)) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield Bank(project, client, server)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """A bank that nothing has happened to yet."""
    yield from serve(tmp_path / "bank")
