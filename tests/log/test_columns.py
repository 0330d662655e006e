"""Columns of files kept in memory: read once, let go of when others need the room."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest

from headwater.errors import LogDamaged
from headwater.log import TopicLog, open_storage
from headwater.log.columns import KeptColumns
from headwater.log.datafile import DataFile
from tests.log.conftest import ORDERS, Wall, orders


@pytest.fixture
def log(wall: Wall) -> TopicLog:
    log = TopicLog(ORDERS, open_storage(f"memory://{uuid.uuid4()}"), now=wall)
    for number in range(3):
        log.append(orders((f"{number}a", number), (f"{number}b", number)))
    return log


def files(log: TopicLog) -> list[DataFile]:
    return list(log.snapshot().files.values())


def delete(log: TopicLog, file: DataFile) -> None:
    log.storage.delete(file.path)


def test_a_column_that_was_read_is_not_read_again(log: TopicLog) -> None:
    kept, file = KeptColumns(), files(log)[0]
    whole = kept.read(log, file, ["id", "at"])
    assert whole["id"].to_pylist() == ["0a", "0b"]
    delete(log, file)
    assert kept.read(log, file, ["at", "id"]).equals(whole.select(["at", "id"]))


def test_a_column_that_a_file_lacks_is_null_as_in_every_reading(log: TopicLog) -> None:
    assert KeptColumns().read(log, files(log)[0], ["amount"]) == pa.table({"amount": pa.nulls(2, pa.decimal128(12, 2))})


def test_what_was_not_asked_for_longest_makes_room(log: TopicLog) -> None:
    first, second, third = files(log)
    size = KeptColumns().read(log, first, ["id"]).nbytes
    kept = KeptColumns(room=2 * size)
    for file in (first, second, first, third):
        kept.read(log, file, ["id"])
    for file in (first, second, third):
        delete(log, file)
    assert kept.read(log, first, ["id"])["id"].to_pylist() == ["0a", "0b"]
    assert kept.read(log, third, ["id"])["id"].to_pylist() == ["2a", "2b"]
    with pytest.raises(LogDamaged, match="it is missing"):
        kept.read(log, second, ["id"])
