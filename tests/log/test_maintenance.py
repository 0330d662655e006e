"""Maintenance: in the background of a long log, invisible to readers, and never at the cost of the clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from headwater.log import TopicLog, maintenance, open_storage
from headwater.log.maintenance import Maintainer, checkpoint, clean, compact
from headwater.log.read import commits, follow, read
from tests.log.conftest import ORDERS, Wall, orders, seconds

Again = Callable[[], TopicLog]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders"


@pytest.fixture
def again(folder: Path, wall: Wall) -> Again:
    return lambda: TopicLog(ORDERS, open_storage(str(folder)), now=wall)


def ids(log: TopicLog, first: int = 0) -> list[str]:
    return read(log, first)["id"].to_pylist()  # type: ignore[no-any-return]


def test_a_long_log_is_compacted_and_checkpointed_by_itself(again: Again, folder: Path) -> None:
    log, maintainer = again(), Maintainer()
    for number in range(250):
        maintainer.after(log, log.append(orders((str(number), number))).commit)
    maintainer.close()
    assert ids(again()) == [str(number) for number in range(250)]
    assert log.entries.last_checkpoint() is not None
    assert len(again().snapshot().files) < 200, "compacted at least once"
    assert seconds(again().watermark) == 249 - 5
    assert pl.read_delta(str(folder))["id"].n_unique() == 250


def test_compaction_merges_neighbours_and_leaves_large_files_alone(again: Again) -> None:
    log = again()
    for number in range(6):
        log.append(orders((str(number), number)))
    size = min(file.size for file in log.snapshot().files.values())
    assert compact(log, target_size=2 * size) == 6
    ranges = sorted(file.commits for file in log.snapshot().files.values())
    assert ranges == [(1, 2), (3, 4), (5, 6)]
    assert compact(log, target_size=size) == 0, "files of the target size stay"
    assert ids(again()) == [str(number) for number in range(6)]


def test_of_two_compactions_at_once_one_gives_way(again: Again, folder: Path) -> None:
    log, slow = again(), again()
    for number in range(4):
        log.append(orders((str(number), number)))
    groups = list(maintenance._neighbours(slow, maintenance.LARGE_FILE))
    assert compact(log) == 4
    assert [maintenance._merge(slow, group) for group in groups] == [0]
    assert ids(again()) == ["0", "1", "2", "3"]
    assert len(list(folder.glob("*.parquet"))) == 5, "what the slower one wrote is gone"


def test_a_log_opened_from_its_checkpoint_goes_on(again: Again) -> None:
    for number in range(20):
        again().append(orders((str(number), number)), sequence=("till", number))
    checkpoint(again())
    log = again()
    assert log.append(orders(("20", 20)), sequence=("till", 20)).commit == 21
    assert again().append(orders(("3", 3)), sequence=("till", 3)).commit == 4, "an old sequence is still known"
    assert ids(again()) == [str(number) for number in range(21)]


def test_a_clock_behind_maintenance_entries_is_found(again: Again) -> None:
    for number in range(12):
        again().append(orders((str(number), number * 10)))
    compact(again())
    again().append(orders(("12", 120)))
    compact(again())
    assert [commit.kind for commit in commits(again())][-3:] == ["maintenance", "append", "maintenance"]
    assert seconds(again().watermark) == 115
    assert again().append(orders(("13", 1))).behind == 1


def test_readers_and_writers_that_were_open_before_compaction_go_on(again: Again) -> None:
    writer, reader = again(), again()
    batches = follow(reader, poll=timedelta(milliseconds=1))
    for number in range(12):
        writer.append(orders((str(number), number)))
    assert next(batches).rows.num_rows == 12
    compact(again())
    writer.append(orders(("12", 12)))
    batch = next(batches)
    while not batch.rows.num_rows:
        batch = next(batches)
    assert batch.rows["id"].to_pylist() == ["12"]


def test_files_that_compaction_replaced_may_be_deleted_under_a_reader(again: Again, folder: Path) -> None:
    log = again()
    for number in range(12):
        log.append(orders((str(number), number)))
    log.snapshot()  # the reader knows the small files by name
    old = {path.name for path in folder.glob("*.parquet")}
    other = again()
    compact(other)
    for name in old:
        (folder / name).unlink()
    assert ids(log) == [str(number) for number in range(12)]


def test_cleaning_keeps_the_clock_and_what_is_needed(again: Again, folder: Path, wall: Wall) -> None:
    for number in range(12):
        again().append(orders((str(number), number * 10)))
    compact(again())
    stray = folder / "00000000000000000099-crashed.parquet"
    stray.write_bytes(b"left behind by a crash")
    long_ago = time.time() - 40 * 24 * 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (long_ago, long_ago))
    wall.move(days=40)
    clean(again())
    assert not stray.exists()
    assert again().entries.first() > 5, "old entries live on in the checkpoint"
    assert ids(again()) == [str(number) for number in range(12)]
    assert seconds(again().watermark) == 105
    assert again().append(orders(("next", 1))).behind == 1


def test_a_writer_that_slept_while_entries_were_let_go_finds_the_head_again(again: Again, wall: Wall) -> None:
    sleeper = again()
    sleeper.append(orders(("0", 0)), sequence=("till", 1))
    for number in range(1, 12):
        again().append(orders((str(number), number)), sequence=("till", number + 1))
    wall.move(days=40)
    clean(again())
    assert again().entries.first() > 2, "the number after the sleeper's is free again"
    sleeper._journal._known_at -= 7200
    assert sleeper.append(orders(("11", 11)), sequence=("till", 12)).commit == 12, (
        "the last sequence is never forgotten"
    )
    assert sleeper.append(orders(("last", 20))).commit == again().head
    assert ids(again()) == [*map(str, range(12)), "last"]


def test_failed_maintenance_is_logged_and_appends_go_on(
    again: Again, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, maintainer = again(), Maintainer()
    for number in range(99):
        maintainer.after(log, log.append(orders((str(number), number))).commit)
    (folder / "_delta_log" / "_last_checkpoint").write_text("damaged")
    maintainer.after(log, log.append(orders(("99", 99))).commit)
    maintainer.close()
    assert "maintenance of" in caplog.text
    assert log.append(orders(("100", 100))).commit == 101
