"""Outlets to a real Kafka broker: each change once for those who read what is committed, whatever stops when."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation

from headwater.errors import Fenced, TargetDenied, TargetReplaced
from headwater.outlets import Feed, Target
from headwater.testing.crash import Crash, Fuse, doomed
from tests.outlets.kafka.topic import KafkaTopic
from tests.outlets.shop import NOON, Shop, row
from tests.servers.kafka import KafkaServer


@pytest.fixture
def topic(kafka_server: KafkaServer) -> KafkaTopic:
    return KafkaTopic(kafka_server.bootstrap)


@pytest.fixture
def shop(topic: KafkaTopic, tmp_path: Path) -> Callable[..., Shop]:
    """Makes a project whose view is sent to the topic."""

    def make(envelope: str = "change", more: str = "", options: str = "", to: KafkaTopic = topic) -> Shop:
        # a name of its own: the progress of all tests is in one broker
        outlet = f"CREATE OUTLET o_{to.name.replace('-', '_')} FROM spend TO 'kafka://{to.name}'"
        outlet += f" WITH (envelope = '{envelope}'{more})"
        return Shop(tmp_path / "shop", outlet, settings=to.settings, options=options)

    return make


def send(shop: Shop) -> list[str | None]:
    """Send what there is; what went wrong, by outlet."""
    with shop.project() as project:
        return [sent.error and type(sent.error).__name__ for sent in project.send()]


def test_a_change_has_all_that_is_known_of_it(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop()
    spend.write(0, [row("a", "1.50")])
    spend.write(1, [row("a", "2.00")], watermark=NOON + timedelta(minutes=1))
    assert send(spend) == [None]
    first, second = topic.messages()
    end = "2026-01-01T12:01:00.000000Z"
    assert json.loads(first.value()) | {"at": ""} == {
        "id": "1.0.0", "op": "insert", "before": None, "after": {"card": "a", "window_end": end, "spent": 1.5},
        "view": "spend", "timing": "early", "version": 1, "batch": 0, "commit": {"payments": 1}, "at": "",
        "watermark": "2026-01-01T12:00:00.000000Z",
    }  # fmt: skip
    assert b'"spent":2.00}' in second.value()
    assert json.loads(second.value())["timing"] == "on time"
    assert json.loads(first.key()) == json.loads(second.key()) == {"card": "a", "window_end": end}
    headers = {name: value.decode() for name, value in second.headers()}
    assert (headers["headwater-id"], headers["headwater-op"]) == ("shop/spend/1.1.0", "update")
    assert headers["traceparent"].startswith("00-")


def test_an_upsert_is_the_row_under_its_key_and_a_delete_a_tombstone(
    shop: Callable[..., Shop], topic: KafkaTopic
) -> None:
    spend = shop("upsert")
    spend.write(0, [row("a", "1.50"), row(None, "9.00")])
    spend.write(1, deletes=[row("a", "1.50")])
    assert send(spend) == [None]
    assert [one.value() and json.loads(one.value())["spent"] for one in topic.messages()] == [1.5, 9.0, None]
    keys = [json.loads(one.key())["card"] for one in topic.messages()]
    assert keys == ["a", None, "a"]


def test_debezium_is_sent_as_debezium_does(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop("debezium")
    spend.write(0, [row("a", "1.50")])
    spend.write(1, [row("a", "2.00")])
    spend.write(2, deletes=[row("a", "2.00")])
    assert send(spend) == [None]
    *changes, tombstone = topic.values()
    assert [(one["op"], one["before"] is None, one["after"] is None) for one in changes] == [
        ("c", True, False),
        ("u", False, False),
        ("d", False, True),
    ]
    assert changes[0]["source"]["table"] == "spend"
    assert tombstone is None


def test_the_rows_of_a_view_that_is_final_are_sent_as_they_are(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop("row", options="WITH (emit = 'final')")
    spend.write(0, [row("a", "1.50"), row("b", "2.50")])
    assert send(spend) == [None]
    assert [(one["card"], one["spent"]) for one in topic.values()] == [("a", 1.5), ("b", 2.5)]


def test_a_key_is_always_in_the_same_partition_and_in_order(
    shop: Callable[..., Shop], kafka_server: KafkaServer
) -> None:
    wide = KafkaTopic(kafka_server.bootstrap, partitions=3)
    spend = shop("row", ", key = 'card'", "WITH (emit = 'final')", wide)
    spend.write(0, [row(f"c{card}", f"{minute}.00", minute) for minute in range(1, 4) for card in range(6)])
    assert send(spend) == [None]
    places: dict[str, list[Any]] = {}
    for message in wide.messages():
        value = json.loads(message.value())
        places.setdefault(value["card"], []).append((message.partition(), value["spent"]))
    assert len(places) == 6
    for found in places.values():
        assert [spent for _, spent in found] == [1.0, 2.0, 3.0]
        assert len({partition for partition, _ in found}) == 1


class Point(Crash):
    """A crash at a step of a producer."""

    def __post_init__(self) -> None:
        """Every point is allowed."""


@pytest.mark.parametrize(
    ("point", "time"),
    [
        ("before begin_transaction", 2),
        ("before produce", 3),
        ("after produce", 4),
        ("before commit_transaction", 2),
        ("after commit_transaction", 2),
        ("after init_transactions", 1),
    ],
)
def test_each_change_is_there_once_wherever_a_process_dies(
    shop: Callable[..., Shop], topic: KafkaTopic, monkeypatch: pytest.MonkeyPatch, point: str, time: int
) -> None:
    spend, fuse = shop(), Fuse()
    for number in range(3):
        spend.write(number, [row("a", f"{number}.00"), row("b", f"{number}.00")])
    fuse.arm(Point(point, time))
    with monkeypatch.context() as dying:
        dying.setattr(
            "headwater.outlets.kafka.target.Producer", lambda *given, **named: doomed(Producer(*given, **named), fuse)
        )
        assert send(spend) == ["Crashed"]
    spend.write(3, [row("a", "3.00")])
    assert send(spend) == [None]
    assert [one["id"] for one in topic.values()] == ["1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.2.0", "1.2.1", "1.3.0"]


def test_a_zombie_is_fenced_and_told_by_whom(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop()
    spend.write(0, [row("a", "1.00")])
    with spend.project() as project:
        zombie, feed = target_of(project), feed_of(project)
        place = zombie.open()
        (first,) = feed.after(place)
        assert send(spend) == [None]  # another run comes, and sends
        with pytest.raises(Fenced, match="taken over by another run") as fenced:
            zombie.deliver(first, lambda refused: None)
        zombie.close()
    assert "process" in fenced.value.fields["holder"]
    assert [one["id"] for one in topic.values()] == ["1.0.0"]
    spend.write(1, [row("a", "2.00")])
    assert send(spend) == [None]
    assert len(topic.values()) == 2


def target_of(project: Any) -> Target:
    (planned,) = project.plan().outlets.values()
    return project.outlets.run(planned).target()  # type: ignore[no-any-return]


def feed_of(project: Any) -> Feed:
    (planned,) = project.plan().outlets.values()
    return project.views.opened().ask.feed(planned)  # type: ignore[no-any-return]


def test_what_is_too_large_is_a_dead_letter_and_the_rest_is_sent(
    shop: Callable[..., Shop], kafka_server: KafkaServer
) -> None:
    narrow = KafkaTopic(kafka_server.bootstrap, **{"max.message.bytes": "20000"})
    spend = shop(to=narrow)
    spend.write(0, [row("a", "1.00"), row("b", "3.00"), row("x" * 30_000, "2.00")])
    assert send(spend) == [None]
    assert [one["after"]["card"] for one in narrow.values()] == ["a", "b"]
    with spend.project() as project:
        (outlet,) = project.outlets.names()
        (letter,) = project.dead(outlet).to_pylist()
        (status,) = project.status().outlets
    assert (letter["error"], letter["position"]) == ("message-too-large", "1.0.2")
    assert json.loads(letter["bytes"])["after"]["spent"] == 2.0
    assert (status.sent.changes, status.sent.dead, status.lag) == (2, 1, 0)


def test_a_topic_that_is_missing_is_named_and_never_made(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop()
    spend.write(0, [row("a", "1.00")])
    topic.delete()
    with spend.project() as project:
        (sent,) = project.send()
    assert isinstance(sent.error, TargetDenied)
    assert topic.name in sent.error.summary
    assert topic.name not in topic.admin.list_topics(timeout=10).topics


@pytest.mark.parametrize("operation", [AclOperation.WRITE, AclOperation.DESCRIBE])
def test_a_right_that_is_missing_is_named(
    shop: Callable[..., Shop], topic: KafkaTopic, operation: AclOperation
) -> None:
    spend = shop()
    spend.write(0, [row("a", "1.00")])
    topic.deny(operation)
    with spend.project() as project:
        (sent,) = project.send()
    assert isinstance(sent.error, TargetDenied)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(sent.error)


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop()
    spend.write(0, [row("a", "1.00")])
    assert send(spend) == [None]
    topic.delete()
    topic.create()
    spend.write(1, [row("a", "2.00")])
    with spend.project() as project:
        (sent,) = project.send()
    assert isinstance(sent.error, TargetReplaced)
    assert topic.values() == []


def test_a_delivery_without_changes_moves_the_place(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop(more=", start = 'latest'")
    spend.write(0, [row("a", "1.00")])
    assert send(spend) == [None]
    spend.write(1, [row("a", "2.00")])
    assert send(spend) == [None]
    assert [one["id"] for one in topic.values()] == ["1.1.0"]


def test_an_option_that_exactly_once_rests_on_is_refused(shop: Callable[..., Shop], topic: KafkaTopic) -> None:
    spend = shop()
    (spend.folder / "headwater.toml").write_text(f'name = "shop"\n{topic.settings}"acks" = "0"\n')
    spend.write(0, [row("a", "1.00")])
    assert send(spend) == ["SettingsRefused"]
