"""Counts of unknown fields: part of the commit that they came with, and known to whoever opens the log."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from headwater.log import TopicLog, bulk, open_storage
from headwater.log.maintenance import checkpoint, clean, compact
from headwater.model import INSTANT, Bounded, Column, Stream
from tests.log.conftest import START, Wall

TOPIC = Stream(
    name="orders", columns=(Column("at", INSTANT, nullable=False),), time="at", watermark=Bounded(), idle=timedelta(1)
)


def rows(count: int = 1) -> pa.Table:
    return pa.table({"at": [START] * count}, schema=TOPIC.schema)


def test_the_total_survives_every_kind_of_entry_and_every_process(tmp_path: Path, wall: Wall) -> None:
    def opened() -> TopicLog:
        return TopicLog(TOPIC, open_storage(str(tmp_path / "orders")), now=wall)

    assert opened().unknown == {}
    one, other = opened(), opened()
    one.append(rows(), unknown={"colour": 1})
    other.append(rows(), unknown={"colour": 2, "size": 1})
    one.append(rows(), unknown={"size": 4})
    assert one.unknown == other.unknown == opened().unknown == {"size": 5, "colour": 3}
    bulk.load(one, [rows(2), rows(3)], unknown=lambda: {"size": 5})
    one.tick(START + timedelta(hours=1))
    compact(one)
    checkpoint(one)
    clean(one)
    opened().append(rows())
    assert opened().unknown == {"size": 10, "colour": 3}


def test_a_repeated_append_is_not_counted_again(tmp_path: Path, wall: Wall) -> None:
    log = TopicLog(TOPIC, open_storage(str(tmp_path / "orders")), now=wall)
    for _ in range(2):
        log.append(rows(), sequence=("till", 1), unknown={"colour": 1})
    assert log.unknown == {"colour": 1}
