"""An archive of a topic and the topic behind it: neither a gap nor an overlap, whatever is killed on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import headwater as hw
from headwater.errors import RetentionGap, SourceRefused
from headwater.log import TopicLog
from tests.intake.kafka.shop import Shop, event

Make = Callable[..., Shop]
ARCHIVE = "archive = 'archive', archive_offset = 'part, off'"


def row(number: int, partition: int, offset: int) -> dict[str, Any]:
    return {"id": f"p{number}", "amount": number, "at": "2026-01-01T00:00:00Z", "part": partition, "off": offset}


def as_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in rows)


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    at = pa.array([1767225600000000] * len(rows), pa.timestamp("us", "UTC"))
    return table.set_column(table.schema.get_field_index("at"), "at", at)


@pytest.fixture
def payments(shop: Make) -> Shop:
    """A topic whose first messages, 20 in each of two partitions, are in an archive and no longer in Kafka."""
    found = shop(options=ARCHIVE)
    for partition in range(2):
        found.send([event(100 * partition + number) for number in range(30)], partition=partition)
        found.delete_before(partition, 20)
    return found


def archived(payments: Shop) -> list[dict[str, Any]]:
    return [row(100 * partition + number, partition, number) for partition in range(2) for number in range(20)]


def fill(payments: Shop, rows: list[dict[str, Any]]) -> Path:
    folder = payments.folder / "archive"
    folder.mkdir(exist_ok=True)
    for at in range(0, len(rows), 15):
        pq.write_table(as_table(rows[at : at + 15]), folder / f"{at:04}.parquet")
    return folder


def take_in(payments: Shop) -> tuple[int, int]:
    with payments.open() as project:
        (taken,) = project.take_in()
        return taken.rows, taken.dead


def taken(payments: Shop) -> list[tuple[str, str]]:
    """The source and the id of every row, in order within its source."""
    with payments.open() as project:
        rows = (
            project.read("payments", columns=["id", "_source"]).to_pylist() if project.log.head("payments") >= 0 else []
        )
    return sorted(((found["_source"], found["id"]) for found in rows), key=lambda found: found[0])


def every(payments: Shop, count: int = 30) -> list[tuple[str, str]]:
    return [(f"{payments.topic}[{part}]", f"p{100 * part + number}") for part in range(2) for number in range(count)]


def test_the_topic_goes_on_behind_the_last_offset_of_its_archive(payments: Shop) -> None:
    fill(payments, archived(payments))
    assert take_in(payments) == (60, 0)
    assert taken(payments) == every(payments)
    assert take_in(payments) == (0, 0)
    payments.send([event(30)], partition=0)
    payments.send([event(130)], partition=1)
    assert take_in(payments) == (2, 0)
    assert taken(payments) == every(payments, 31)
    with payments.open() as project:
        (history,) = [commit for commit in project.log.commits("payments", last=100) if commit.kind == "history"]
        assert (history.rows, sorted(history.sources)) == (40, [f"{payments.topic}[0]", f"{payments.topic}[1]"])


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_process_that_is_killed_while_it_loads_the_archive_leaves_all_of_it_or_nothing(
    payments: Shop, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    rows = archived(payments)
    fill(payments, rows[:10])
    (payments.folder / "archive" / "z.jsonl").write_text(as_lines(rows[10:]) + "half a mess\n")
    commit = TopicLog.commit

    def kill(log: TopicLog, propose: Any) -> Any:
        if point == "after":
            commit(log, propose)
        raise KeyboardInterrupt

    monkeypatch.setattr(TopicLog, "commit", kill)
    with pytest.raises(KeyboardInterrupt):
        take_in(payments)
    monkeypatch.undo()
    assert len(taken(payments)) == (40 if point == "after" else 0)
    assert take_in(payments) == (20 if point == "after" else 60, 0)
    assert taken(payments) == every(payments)
    with payments.open() as project:
        assert project.dead("payments")["position"].to_pylist() == ["z.jsonl:31"]


def test_an_archive_may_be_a_delta_table_and_may_end_at_an_instant(shop: Make) -> None:
    noon = 1_767_268_800_000
    payments = shop(options="archive = 'lake', archive_format = 'delta', start = '2026-01-01T12:00Z'", partitions=1)
    for number in range(6):
        payments.send([event(number)], timestamp=noon + 1000 * (number - 3))
    rows = as_table([row(number, 0, number) for number in range(3)]).drop_columns(["part", "off"])
    write_deltalake(str(payments.folder / "lake"), rows.slice(0, 2))
    write_deltalake(str(payments.folder / "lake"), rows.slice(2), mode="append")
    assert take_in(payments) == (6, 0)
    assert sorted(one for _, one in taken(payments)) == [f"p{number}" for number in range(6)]


def test_what_neither_the_archive_nor_the_topic_has_is_a_gap(payments: Shop) -> None:
    rows = [found for found in archived(payments) if found["off"] < 15]
    fill(payments, rows)
    with pytest.raises(RetentionGap) as gap:
        take_in(payments)
    assert (gap.value.fields["first"], gap.value.fields["last"]) == (15, 19)
    assert len(taken(payments)) == 30  # the archive is there


def test_an_archive_that_cant_be_taken_in_is_refused_and_leaves_nothing(payments: Shop) -> None:
    folder = fill(payments, [row(7, partition=9, offset=0)])
    with pytest.raises(SourceRefused, match="partition 9"):
        take_in(payments)
    (folder / "0000.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceRefused, match="can't be taken in"):
        take_in(payments)
    (folder / "0000.parquet").unlink()
    with pytest.raises(SourceRefused, match="no files"):
        take_in(payments)
    assert taken(payments) == []


def test_an_archive_that_is_declared_too_late_is_refused(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.send([event(0)])
    assert take_in(payments) == (1, 0)
    payments.declare(options=ARCHIVE)
    with hw.open(payments.folder) as project, pytest.raises(SourceRefused, match="being taken in already"):
        project.take_in()
