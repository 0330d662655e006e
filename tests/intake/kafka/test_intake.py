"""A real broker's messages in the log: each once, whatever happens in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

import headwater as hw
from headwater.errors import (
    ArgumentRefused,
    RetentionGap,
    SettingsRefused,
    SourceRefused,
    SourceReplaced,
    SourceUnavailable,
    TooMuchPoison,
)
from headwater.intake.run import Intake
from headwater.operate.halt import Halt
from headwater.project import Project
from headwater.schemas.known import Draft
from tests.intake.kafka.shop import STREAM, Shop, event
from tests.patience import PATIENCE, until
from tests.servers.process import free_port

Make = Callable[..., Shop]


def ids(shop: Shop) -> list[str]:
    with shop.open() as project:
        return project.read("payments")["id"].to_pylist()


def letters(shop: Shop) -> list[tuple[str, str]]:
    with shop.open() as project:
        found = project.dead("payments")
        return list(zip(found["position"].to_pylist(), found["error"].to_pylist(), strict=True))


def take_in(shop: Shop) -> tuple[int, int]:
    """Rows and dead letters of one run up to the head."""
    with shop.open() as project:
        (taken,) = project.take_in()
        return taken.rows, taken.dead


def test_each_message_becomes_a_row_or_a_dead_letter_once(shop: Make) -> None:
    payments = shop()
    payments.send([event(0), b"half a mess", event(1), None, b" \n"], partition=0)
    payments.send([b'{\n  "id": "p2",\n  "at": "2026-01-01T00:00:00Z"\n}\n'], partition=1)
    assert take_in(payments) == (3, 3)
    assert take_in(payments) == (0, 0)
    payments.send([event(3)], partition=1)
    assert take_in(payments) == (1, 0)
    assert ids(payments) == ["p0", "p1", "p2", "p3"]
    topic = payments.topic
    assert letters(payments) == [
        (f"{topic}[0]:1", "unreadable-event"),
        (f"{topic}[0]:3", "missing-value"),
        (f"{topic}[0]:4", "missing-value"),
    ]


def test_partitions_are_sources_and_one_that_is_silent_holds_the_watermark_until_it_is_idle(shop: Make) -> None:
    payments = shop(options="idle = '1 second'")
    payments.send([event(0, second=10)], partition=0)
    with payments.open() as project:
        project.take_in()
        assert project.read("payments")["_source"].to_pylist() == [f"{payments.topic}[0]"]
        nothing = datetime(1970, 1, 1, tzinfo=UTC)
        assert project.log.watermark("payments") == nothing
        until(lambda: project.log.tick("payments") and project.log.watermark("payments") > nothing)
        assert project.log.watermark("payments") >= datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


def test_the_first_run_begins_where_it_is_told_and_that_is_written_down(shop: Make) -> None:
    latest = shop(options="start = 'latest'")
    latest.send([event(0)])
    assert take_in(latest) == (0, 0)
    latest.send([event(1)])  # before the second run: the first one has decided that it counts
    latest.add_partitions(3)
    latest.send([event(2)], partition=2)  # a partition that came later is read from its start
    assert take_in(latest) == (2, 0)
    assert sorted(ids(latest)) == ["p1", "p2"]

    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    at = shop(options="start = '2026-01-01T12:00Z'")
    for number in range(4):
        sent = noon + timedelta(minutes=number - 2)
        at.send([event(number)], timestamp=int(sent.timestamp() * 1000))
    assert take_in(at) == (2, 0)
    assert ids(at) == ["p2", "p3"]


def test_key_time_and_headers_of_a_message_are_columns_if_they_are_declared(shop: Make) -> None:
    declared = """CREATE STREAM payments (id STRING, card STRING, raw MAP<STRING, BINARY>, at TIMESTAMP,
        WATERMARK FOR at AS at)"""
    payments = shop(declared=declared, options="message_key = 'card', message_headers = 'raw', message_time = 'at'")
    payments.send([b'{"id": "p0"}'], key=b"c-1", headers={"trace": b"\xff"}, timestamp=1_700_000_000_000)
    payments.send([b'{"id": "p1", "card": "no"}'], timestamp=1_700_000_000_001)
    assert take_in(payments) == (2, 0)
    with payments.open() as project:
        first, second = project.read("payments", columns=["id", "card", "raw", "at"]).to_pylist()
    assert (first["card"], first["raw"]) == ("c-1", [("trace", b"\xff")])
    assert (second["card"], second["raw"]) == (None, None)
    assert second["at"] - first["at"] == timedelta(milliseconds=1)


def test_a_dead_letter_keeps_what_came_beside_its_value_so_that_it_can_come_back(shop: Make) -> None:
    declared = """CREATE STREAM payments (id STRING, card STRING, raw MAP<STRING, BINARY>, at TIMESTAMP,
        WATERMARK FOR at AS at)"""
    options = "message_key = 'card', message_headers = 'raw', message_time = 'at', max_ahead = '1 minute'"
    payments = shop(declared=declared, options=options)
    soon = datetime.now(UTC) + timedelta(minutes=30)
    payments.send([b'{"id": "p0"}'], key=b"c-1", headers={"trace": b"1"}, timestamp=int(soon.timestamp() * 1000))
    assert take_in(payments) == (0, 1)
    payments.declare(declared, options.replace("1 minute", "none"))
    with payments.open() as project:
        assert project.redrive("payments").rows == 1
        (row,) = project.read("payments").to_pylist()
    assert (row["id"], row["card"], row["raw"]) == ("p0", "c-1", [("trace", b"1")])
    assert abs(row["at"] - soon) < timedelta(milliseconds=1)
    assert row["_source"] == f"{payments.topic}[0]"


def test_a_message_without_a_value_deletes_its_key_from_a_table(shop: Make) -> None:
    prices = shop(declared="CREATE TABLE payments (id STRING PRIMARY KEY, amount INT)")
    prices.send([b'{"id": "7", "amount": 1}'], key=b"7")
    prices.send([None], key=b"7")
    prices.send([None], key=b'{"id": "8"}')
    prices.send([None])
    assert take_in(prices) == (3, 1)
    with prices.open() as project:
        found = project.read("payments", columns=["id", "amount", "_op"]).to_pylist()
    assert [(row["id"], row["amount"], row["_op"]) for row in found] == [
        ("7", 1, "upsert"),
        ("7", None, "delete"),
        ("8", None, "delete"),
    ]


def test_positions_come_from_the_log_and_are_shown_to_the_tools_of_kafka(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.send([event(number) for number in range(10)])
    assert take_in(payments) == (10, 0)
    group = Consumer({"bootstrap.servers": payments.brokers, "group.id": "headwater.shop"})
    place = TopicPartition(payments.topic, 0)
    assert [found.offset for found in group.committed([place], 20)] == [10]
    group.commit(offsets=[TopicPartition(payments.topic, 0, 3)], asynchronous=False)
    group.close()
    assert take_in(payments) == (0, 0)


@contextmanager
def running(*projects: Project) -> Iterator[None]:
    """Let the intake of each project run meanwhile."""
    with halted(*(intake for one in projects for intake in one.intakes.open())):
        yield


@contextmanager
def halted(*intakes: Intake) -> Iterator[None]:
    """Let intakes run meanwhile, and end."""
    halt = Halt()
    threads = [threading.Thread(target=intake.run, args=(halt,)) for intake in intakes]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        halt.now()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_processes_that_run_share_the_partitions_and_go_on_without_each_other(shop: Make) -> None:
    payments = shop(partitions=4)
    sent = 0

    def send() -> None:
        nonlocal sent
        for partition in range(4):
            payments.send([event(sent + at) for at in range(10)], partition=partition)
            sent += 10

    with payments.open() as first, payments.open() as second:
        with running(first):
            send()
            until(lambda: first.read("payments").num_rows == sent)
            with running(second):
                until(lambda: len(owners(payments)) == 2)
                send()
                until(lambda: first.read("payments").num_rows == sent)
                assert sorted(number for numbers in owners(payments) for number in numbers) == [0, 1, 2, 3]
            send()  # to partitions that were the other one's
            until(lambda: first.read("payments").num_rows == sent)
        assert sorted(first.read("payments")["id"].to_pylist()) == sorted(f"p{number}" for number in range(sent))


def test_two_streams_of_one_topic_get_all_of_it_each(shop: Make) -> None:
    payments = shop(partitions=2)
    second = (payments.folder / "payments.sql").read_text().replace("STREAM payments", "STREAM copies")
    (payments.folder / "copies.sql").write_text(second)
    payments.send([event(0)], partition=0)
    payments.send([event(1)], partition=1)
    with payments.open() as project, running(project):
        until(lambda: [project.read(name).num_rows for name in ("payments", "copies")] == [2, 2])


def owners(payments: Shop) -> list[list[int]]:
    """The partitions of each member of the group that has any."""
    asked = payments.admin.describe_consumer_groups(["headwater.shop"], request_timeout=PATIENCE)
    members = asked["headwater.shop"].result().members
    found = ([at.partition for at in one.assignment.topic_partitions if at.topic == payments.topic] for one in members)
    return [numbers for numbers in found if numbers]


def test_several_topics_are_one_stream_and_one_that_comes_later_is_read_from_its_start(shop: Make) -> None:
    payments = shop(partitions=1)
    refunds = f"{payments.topic}-refunds"
    payments.send([event(0)])
    payments.declare_topic(f"^{payments.topic}.*")
    with payments.open() as project, running(project):
        until(lambda: ids(payments) == ["p0"])
        payments.admin.create_topics([NewTopic(refunds, 1, 1)])[refunds].result(PATIENCE)
        payments.send([event(1)], topic=refunds)
        until(lambda: len(ids(payments)) == 2)
    payments.declare_topic(f"{payments.topic}, {refunds}")
    payments.send([event(2)], topic=refunds)
    payments.send([event(3)])
    assert take_in(payments) == (2, 0)
    with payments.open() as project:
        rows = project.read("payments").select(["id", "_source"]).to_pylist()
    assert sorted((row["id"], row["_source"]) for row in rows) == [
        ("p0", f"{payments.topic}[0]"),
        ("p1", f"{refunds}[0]"),
        ("p2", f"{refunds}[0]"),
        ("p3", f"{payments.topic}[0]"),
    ]


def test_the_first_run_may_begin_at_offsets(shop: Make) -> None:
    payments = shop(options="start = '0:3'")
    payments.send([event(number) for number in range(5)], partition=0)
    payments.send([event(9)], partition=1)
    assert take_in(payments) == (3, 0)
    assert sorted(ids(payments)) == ["p3", "p4", "p9"]
    beyond = shop(options="start = '1:7'")
    with pytest.raises(SourceRefused, match="has no offset 7"):
        take_in(beyond)


def test_a_run_takes_in_what_comes_until_it_is_halted(shop: Make) -> None:
    payments = shop(options="idle = '1 second'")
    with payments.open() as project:
        (intake,) = project.intakes.open()
        halt = Halt()
        thread = threading.Thread(target=intake.run, args=(halt,))
        thread.start()
        for number in range(3):
            payments.send([event(number, second=number)], partition=number % 2)
            until(lambda: project.read("payments").num_rows == number + 1)  # noqa: B023  # called at once
        # nothing more comes: each partition is at its end, so the watermark goes on
        until(lambda: project.log.watermark("payments") >= datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC))
        halt.now()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_project_that_runs_takes_in_its_topics(shop: Make) -> None:
    payments = shop()
    with payments.open() as project:
        stop = threading.Event()
        thread = threading.Thread(target=project.run, kwargs={"stop": stop})
        thread.start()
        payments.send([event(0)])
        until(lambda: project.read("payments").num_rows == 1)
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_topic_that_declares_no_intake_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "payments.sql").write_text(f"{STREAM};")
    with hw.open(tmp_path) as project:
        assert project.take_in() == []
        with pytest.raises(ArgumentRefused, match='"payments" declares no intake'):
            project.take_in("payments")


@pytest.mark.parametrize(
    ("section", "error", "says"),
    [
        ("", SettingsRefused, "brokers"),
        ('"bootstrap.servers" = "127.0.0.1:1"\n"auto.offset.reset" = "latest"', SettingsRefused, "auto.offset.reset"),
        ('"bootstrap.servers" = "127.0.0.1:1"\n"no.such.option" = "1"', SourceRefused, "no.such.option"),
    ],
)
def test_options_that_cant_be_used_are_refused(tmp_path: Path, section: str, error: type, says: str) -> None:
    (tmp_path / "headwater.toml").write_text(f'name = "shop"\n[kafka.main]\n{section}\n')
    (tmp_path / "payments.sql").write_text(f"{STREAM} WITH (connector = 'kafka', topic = 'payments');")
    with hw.open(tmp_path) as project, pytest.raises(error) as refused:
        project.take_in()
    assert says in str(refused.value)


# Faults


def test_offsets_that_are_gone_are_an_error_that_names_them_and_can_be_skipped(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.send([event(number) for number in range(5)])
    assert take_in(payments) == (5, 0)
    payments.send([event(number) for number in range(5, 12)])
    payments.delete_before(0, 9)
    with pytest.raises(RetentionGap) as gap:
        take_in(payments)
    assert (gap.value.fields["first"], gap.value.fields["last"]) == (5, 8)
    payments.declare(options="gaps = 'skip'")
    assert take_in(payments) == (3, 0)
    assert ids(payments) == [f"p{number}" for number in (0, 1, 2, 3, 4, 9, 10, 11)]
    assert letters(payments) == [(f"{payments.topic}[0]:5-8", "events-lost")]
    assert take_in(payments) == (0, 0)


def test_an_aborted_transaction_leaves_nothing_and_an_open_one_is_waited_for(shop: Make) -> None:
    payments = shop(partitions=1)
    producer = Producer({"bootstrap.servers": payments.brokers, "transactional.id": payments.topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(payments.topic, event(0), partition=0)
    producer.flush(30)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(payments.topic, event(1), partition=0)
    producer.flush(30)
    assert take_in(payments) == (0, 0)
    producer.commit_transaction(30)
    assert take_in(payments) == (1, 0)
    assert ids(payments) == ["p1"]
    # the marks of both transactions are behind the log too, so that letting go of them is no gap
    payments.delete_before(0, 4)
    assert take_in(payments) == (0, 0)


def test_a_topic_that_was_made_anew_is_not_mixed_with_the_old_one(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.send([event(0)])
    assert take_in(payments) == (1, 0)
    payments.delete()
    until(lambda: payments.topic not in payments.admin.list_topics(timeout=10).topics)
    with pytest.raises(SourceReplaced, match="is gone"):
        take_in(payments)
    until(lambda: _created(payments))
    payments.send([event(7), event(8)])
    with pytest.raises(SourceReplaced, match="was deleted and made anew"):
        take_in(payments)
    assert ids(payments) == ["p0"]


def _created(payments: Shop) -> bool:
    try:
        payments.create(1)
    except Exception as error:
        return "already exists" in str(error)
    return True


def test_a_topic_that_is_not_there_yet_is_waited_for(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.delete()
    with pytest.raises(SourceUnavailable, match="has no topic"):
        take_in(payments)


def test_brokers_that_are_down_are_an_error_that_may_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.kafka.admin.ANSWER_SECONDS", 1.0)
    with Shop(f"127.0.0.1:{free_port()}", "payments", tmp_path, partitions=0).open() as project:
        with pytest.raises(SourceUnavailable, match="Kafka did not say") as down:
            project.take_in()
        assert down.value.transient


def test_a_message_of_five_megabytes_is_a_dead_letter_and_the_others_go_on(shop: Make) -> None:
    payments = shop(partitions=1)
    payments.send([event(0), b'{"id": "' + b"x" * 5_000_000 + b'"}', event(1)])
    assert take_in(payments) == (2, 1)
    assert letters(payments) == [(f"{payments.topic}[0]:1", "event-too-large")]


def test_too_much_poison_pauses_and_nothing_of_it_is_kept_until_it_can_be_read(shop: Make) -> None:
    payments = shop(options="format = 'json-schema'", partitions=1)
    payments.send([b"\0\0\0\0\x01" + event(number) for number in range(1200)])
    waited: list[str | None] = []
    with payments.open() as project:
        with pytest.raises(TooMuchPoison, match="1,200 of the last 1,200"):
            project.take_in()
        assert (project.read("payments").num_rows, project.dead("payments").num_rows) == (0, 0)
        (intake,) = project.intakes.open(waits=lambda _, error: waited.append(error and error.code()))
        with halted(intake):
            until(lambda: waited == ["too-much-poison"])
            assert project.status().topics[0].waits == '"payments" gets more poison than it is to take'
            project.schemas.register("payments", Draft("JSON", "{}"))
            until(lambda: project.read("payments").num_rows == 1200)
        assert (waited[-1], project.status().topics[0].waits) == (None, None)


def test_a_dead_letter_is_copied_to_a_topic_with_its_reason(shop: Make) -> None:
    payments = shop(partitions=1)
    copies = f"{payments.topic}-dead"
    payments.admin.create_topics([NewTopic(copies, 1, 1)])[copies].result(PATIENCE)
    payments.declare(options=f"dead_topic = '{copies}'")
    payments.send([event(0)])
    payments.send([b"poison"], key=b"k", headers={"trace": b"1"}, timestamp=1_700_000_000_000)
    assert take_in(payments) == (1, 1)
    consumer = Consumer({"bootstrap.servers": payments.brokers, "group.id": "dead"})
    consumer.assign([TopicPartition(copies, 0, 0)])
    (copy,) = consumer.consume(1, 30)
    consumer.close()
    assert (copy.key(), copy.value(), copy.timestamp()[1]) == (b"k", b"poison", 1_700_000_000_000)
    assert dict(copy.headers() or ()) == {
        "trace": b"1",
        "headwater.error": b"unreadable-event",
        "headwater.reason": b"the message is not JSON: expecting value at character 1",
        "headwater.topic": payments.topic.encode(),
        "headwater.partition": b"0",
        "headwater.offset": b"1",
    }


def test_a_project_that_runs_takes_in_what_comes_until_it_is_stopped(shop: Make) -> None:
    payments, stop = shop(), threading.Event()
    with payments.open() as project:
        running = threading.Thread(target=project.run, kwargs={"stop": stop})
        running.start()
        for number in range(3):
            payments.send([event(number)])
            until(lambda: project.read("payments").num_rows == number + 1)  # noqa: B023  # called at once
        stop.set()
        running.join(PATIENCE)
        assert not running.is_alive()
    assert ids(payments) == ["p0", "p1", "p2"]


def test_duplicates_are_rows_and_a_clock_set_to_2099_is_a_dead_letter(shop: Make) -> None:
    payments = shop(partitions=1)
    ahead = b'{"id": "p9", "amount": 9, "at": "2099-01-01T00:00:00Z"}'
    payments.send([event(0), event(0), ahead, event(1)])
    assert take_in(payments) == (3, 1)
    assert ids(payments) == ["p0", "p0", "p1"]
    assert letters(payments) == [(f"{payments.topic}[0]:2", "time-out-of-range")]
    with payments.open() as project:
        assert project.log.watermark("payments") < datetime(2027, 1, 1, tzinfo=UTC)
