"""The storages that every log test of the conformance suite runs on, and small topics."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.log import Storage, TopicLog, open_storage
from headwater.log.seal import SEAL
from headwater.model import INSTANT, Bounded, Column, Stream

START = datetime(2026, 1, 1, tzinfo=UTC)

ORDERS = Stream(
    name="orders",
    columns=(Column("id", pa.string()), Column("amount", pa.decimal128(12, 2)), Column("at", INSTANT, nullable=False)),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
    key=("id",),
)


def orders(*rows: tuple[str, int]) -> pa.Table:
    """Rows of (id, seconds after START)."""
    values = [{"id": name, "amount": None, "at": START + timedelta(seconds=at)} for name, at in rows]
    return pa.Table.from_pylist(values, schema=ORDERS.schema)


def seconds(at: datetime) -> float:
    """How long after START an instant is."""
    return (at - START).total_seconds()


def unseal(folder: Path) -> None:
    """Make a log in a folder one from before entries had seals."""
    for path in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        info = actions[0]["commitInfo"]
        del info[SEAL]
        note = json.loads(info["headwater"])
        info["headwater"] = json.dumps({name: note[name] for name in note if name not in ("number", "previous")})
        path.write_text("\n".join(map(json.dumps, actions)))
    shutil.rmtree(folder / "_headwater")


class Wall:
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture(params=["local", "memory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty place of each kind."""
    match request.param:
        case "local":
            return open_storage(str(tmp_path / "orders"))
        case "memory":
            return open_storage(f"memory://{uuid.uuid4()}")
        case _:
            server = request.getfixturevalue("s3_server")
            return open_storage(f"{server.url}/{uuid.uuid4()}", server.storage_options)


@pytest.fixture
def log(storage: Storage, wall: Wall) -> TopicLog:
    return TopicLog(ORDERS, storage, now=wall)


@pytest.fixture
def again(storage: Storage, wall: Wall) -> Callable[..., TopicLog]:
    """Open the same log as another process would: nothing shared but the storage."""
    return lambda topic=ORDERS: TopicLog(topic, storage, now=wall)
