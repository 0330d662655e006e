"""A backlog of a real broker, read by Spark's tasks: the rows and dead letters that one process takes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import app
from headwater.errors import TooMuchPoison
from headwater.intake.kafka.ranges import Range
from headwater.kafka.client import Partition
from headwater.log import TopicLog
from headwater.operate.backlog import split
from headwater.project import Project
from headwater.schemas.known import Draft
from tests.intake.kafka.shop import STREAM, Shop, event


def test_a_backlog_is_split_into_ranges_of_about_the_same_size() -> None:
    a, b = Partition("t", 0), Partition("t", 1)
    assert list(split({b: (5, 8), a: (0, 7)}, 2)) == [
        Range(a, 0, 5, start=0),
        Range(a, 5, 7, start=5),
        Range(b, 5, 8, start=7),
    ]


@pytest.fixture
def shop(kafka_server: Any, tmp_path: Any) -> Callable[..., Shop]:
    count = 0

    def make(topic: str, **declared: Any) -> Shop:
        nonlocal count
        count += 1
        home = tmp_path / str(count)
        home.mkdir()
        return Shop(kafka_server.bootstrap, topic, home, **declared)

    return make


def rows(project: Project) -> list[dict[str, Any]]:
    found = project.read("payments", columns=["id", "amount", "at", "_source"]).to_pylist()
    return sorted(found, key=lambda row: (row["_source"], row["amount"]))


def letters(project: Project) -> list[tuple[Any, ...]]:
    names = ["position", "error", "reason", "bytes", "source", "key", "sent_at", "headers"]
    found = project.dead("payments").select(names).to_pylist()
    return sorted(tuple(map(str, letter.values())) for letter in found)


@pytest.mark.usefixtures("spark")
def test_tasks_take_in_what_one_process_takes_in(shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.operate.backlog.TASK_MESSAGES", 700)
    options = "format = 'json-schema', unique = 'id', idle = '10 seconds'"
    bulk = shop("payments-bulk", options=options, partitions=3)
    frame = b"\0\0\0\0\1"
    for partition in range(2):
        numbers = range(1000 * partition, 1000 * partition + 1000)
        values = [b"poison" if number % 100 == 7 else frame + event(number, number % 60) for number in numbers]
        bulk.send(values, partition=partition, key=b"k", headers={"trace": b"1"})
    producer = Producer({"bootstrap.servers": bulk.brokers, "transactional.id": bulk.topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(bulk.topic, frame + event(5000), partition=2)
    producer.flush(30)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(bulk.topic, frame + event(5001), partition=2)
    producer.flush(30)  # and left open
    straight = shop("payments-bulk", options=options, partitions=0)
    with hw.open(straight.folder) as one, hw.open(bulk.folder) as many:
        for project in (one, many):
            project.schemas.register("payments", Draft("JSON", "{}"))
        (by_one,) = one.take_in()
        (by_many,) = many.take_in(bulk_above=1999)
        assert (by_one.path, by_many.path) == ("process", "spark")
        assert (by_many.rows, by_many.dead, by_many.positions) == (1980, 20, by_one.positions)
        assert (rows(many), letters(many)) == (rows(one), letters(one))
        assert many.log.watermark("payments") == one.log.watermark("payments")
        assert [commit.rows for commit in many.log.commits("payments") if commit.rows] == [1980]
        found = many.read("payments", columns=["_commit", "_row", "_id"])
        assert len(set(found["_row"].to_pylist())) == 1980
        assert found["_id"].null_count == 0
    producer.commit_transaction(30)
    done = CliRunner().invoke(
        app, ["append", "payments", "--from", "kafka", "--bulk-above", "9", "-p", str(bulk.folder)]
    )
    assert done.output.startswith("payments: 1 row; next payments-bulk[0]: 1,000, payments-bulk[1]: 1,000,")
    done = CliRunner().invoke(
        app, ["append", "payments", "--from", "kafka", "--bulk-above", "0", "-p", str(bulk.folder)]
    )
    assert done.output.startswith("payments: 0 rows; next")


@pytest.mark.usefixtures("spark")
def test_a_commit_that_another_writer_took_and_a_kill_lose_and_double_nothing(
    shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    payments = shop("payments-raced", declared=STREAM, partitions=2)
    for partition in range(2):
        payments.send([event(100 * partition + number) for number in range(20)] + [b"mess"], partition=partition)
    commit = TopicLog.commit

    def killed(log: TopicLog, propose: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(TopicLog, "commit", killed)
    with hw.open(payments.folder) as project, pytest.raises(KeyboardInterrupt):
        project.take_in(bulk_above=0)

    def raced(log: TopicLog, propose: Any) -> Any:
        monkeypatch.setattr(TopicLog, "commit", commit)
        project.append("payments", [{"id": "other", "amount": -1, "at": "2026-01-01T00:00:00Z"}])
        return commit(log, propose)

    monkeypatch.setattr(TopicLog, "commit", raced)
    with hw.open(payments.folder) as project:
        (taken,) = project.take_in(bulk_above=0)
        assert (taken.rows, taken.dead, taken.path) == (40, 0, "spark")
        found = project.read("payments", columns=["amount", "_commit", "_watermark"]).to_pylist()
        bulk = [row for row in found if row["amount"] >= 0]
        assert sorted(row["amount"] for row in bulk) == [*range(20), *range(100, 120)]
        assert {row["_commit"] for row in bulk} == {project.log.head("payments")}
        assert project.dead("payments").num_rows == 2


@pytest.mark.usefixtures("spark")
def test_far_too_much_poison_is_refused_by_tasks_too(shop: Callable[..., Shop]) -> None:
    payments = shop("payments-poisoned", partitions=1)
    payments.send([b"mess"] * 1200)
    with hw.open(payments.folder) as project:
        with pytest.raises(TooMuchPoison):
            project.take_in(bulk_above=0)
        assert (project.dead("payments").num_rows, project.read("payments").num_rows) == (0, 0)
