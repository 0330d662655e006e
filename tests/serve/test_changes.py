"""Subscriptions: a snapshot, then changes, resumable, by server-sent events and by WebSocket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from headwater.serve.feed import WAITING, Feed
from headwater.serve.message import PART_BYTES, Delivery, Message, Since
from tests.patience import PATIENCE, Rounds
from tests.serve.conftest import Bank, serve

Found = tuple[str, str | None, Any]


@contextmanager
def subscribed(bank: Bank, query: str = "", **headers: str) -> Iterator[Iterator[Found]]:
    """The messages of a subscription as (event, id, data), one after the other."""
    with bank.client.stream("GET", f"/views/spend/changes{query}", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield messages(response)


def messages(response: httpx.Response) -> Iterator[Found]:
    event, name = "", None
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            event, name = value, None
        elif field == "id":
            name = value
        elif field == "data":
            yield event, name, json.loads(value)


def test_a_snapshot_is_followed_by_what_changes(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    with subscribed(bank) as found:
        event, name, data = next(found)
        assert (event, name, [row["card"] for row in data["rows"]]) == ("snapshot", "1.0", ["c1"])
        bank.write([("c1", "3.00", 2), ("c2", "5.00", 1)])
        changes = [next(found), next(found)]
        assert [(event, data["op"]) for event, _, data in changes] == [("change", "update"), ("change", "insert")]
        assert (changes[0][2]["before"]["spent"], changes[0][2]["after"]["spent"]) == ("1.00", "3.00")
        assert changes[0][2]["timing"] == "late", "the watermark had been at noon before"
        assert [name for _, name, _ in changes] == [None, "1.1"], "the last change of a batch has its id"
        bank.write([], gone=["c2"])
        event, name, data = next(found)
        assert (data["op"], data["before"]["card"], data["after"], name) == ("delete", "c2", None, "1.2")


def test_whoever_comes_back_gets_what_was_missed_and_nothing_twice(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    bank.write([("c1", "2.00", 2)])
    bank.write([("c1", "3.00", 3)])
    with subscribed(bank, **{"Last-Event-ID": "1.0"}) as found:
        assert [(next(found)[2]["after"]["n"]) for _ in range(2)] == [2, 3]
        bank.write([("c1", "4.00", 4)])
        _, name, data = next(found)
        assert (name, data["after"]["n"]) == ("1.3", 4)
    with subscribed(bank, "?since=1.2") as found:
        assert next(found)[2]["after"]["n"] == 4


def test_without_a_snapshot_only_changes_come(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    with subscribed(bank, "?snapshot=false") as found:
        assert next(found) == ("snapshot", "1.0", {"rows": [], "more": False})
        bank.write([("c2", "2.00", 1)])
        assert next(found)[2]["after"]["card"] == "c2"


def test_another_version_brings_a_new_snapshot(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    with subscribed(bank) as found:
        next(found)
        bank.version, bank.batch = 2, -1
        bank.write([("c7", "7.00", 7)])
        event, name, data = next(found)
        assert (event, name, [row["card"] for row in data["rows"]]) == ("snapshot", "2.0", ["c7"])
    with subscribed(bank, "?since=1.0") as found:
        assert next(found)[0] == "snapshot", "a place in a version that is not served any more leads nowhere"


def test_a_websocket_is_sent_the_same(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    address = str(bank.client.base_url).replace("http", "ws").rstrip("/")
    with connect(f"{address}/views/spend/changes", open_timeout=PATIENCE) as socket:
        first = json.loads(socket.recv(timeout=PATIENCE))
        assert (first["event"], first["id"], first["rows"][0]["card"]) == ("snapshot", "1.0", "c1")
        bank.write([("c2", "2.00", 1)])
        assert json.loads(socket.recv(timeout=PATIENCE))["after"]["card"] == "c2"
    with connect(f"{address}/views/nope/changes", open_timeout=PATIENCE) as socket:
        assert json.loads(socket.recv(timeout=PATIENCE))["type"] == "urn:headwater:error:unknown-view"


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Bank]:
    yield from serve(tmp_path / "impatient", heartbeat="100 ms", subscriptions=1)


def test_silence_is_alive_and_there_is_room_for_so_many(impatient: Bank) -> None:
    impatient.write([("c1", "1.00", 1)])
    with subscribed(impatient) as found:
        assert [next(found)[0] for _ in range(3)] == ["snapshot", "heartbeat", "heartbeat"]
        refused = httpx.get(f"{impatient.client.base_url}/views/spend/changes", timeout=PATIENCE)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:headwater:error:overloaded")


def test_what_cannot_be_subscribed_to_is_a_problem(bank: Bank) -> None:
    for path, status in (
        ("/views/nope/changes", 404),
        ("/views/spend/changes", 404),
        ("/views/spend/changes?since=x", 400),
    ):
        assert bank.client.get(path).status_code == status, path


def test_subscriptions_end_with_the_server(tmp_path: Path) -> None:
    served = serve(tmp_path / "ended")
    bank = next(served)
    bank.write([("c1", "1.00", 1)])
    with httpx.stream("GET", f"{bank.client.base_url}/views/spend/changes", timeout=PATIENCE) as response:
        found = messages(response)
        assert next(found)[0] == "snapshot"
        ending = threading.Thread(target=lambda: list(served))
        ending.start()
        assert list(found) == [], "the stream ends as streams do, so that the client comes back by itself"
        ending.join(PATIENCE)
        assert not ending.is_alive()


def test_a_batch_of_this_process_is_told_without_looking_for_it(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.serve.feed.POLL", timedelta(days=1))
    bank.write([("c1", "1.00", 1)])
    with subscribed(bank) as found:
        next(found)
        for number in range(2, 5):
            bank.write([("c1", f"{number}.00", number)])
            assert next(found)[2]["after"]["n"] == number
        bank.version, bank.batch = 2, -1
        bank.write([("c7", "7.00", 7)])
        assert next(found)[0] == "snapshot", "a promotion is told too"


def test_what_is_delivered_is_spelled_once_for_all(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = Rounds(monkeypatch, Message, "as_event")
    bank.write([("c1", "1.00", 1)])
    with ExitStack() as stack:
        subscribers = [stack.enter_context(subscribed(bank)) for _ in range(5)]
        for subscriber in subscribers:
            next(subscriber)
        before = spelled.count
        bank.write([("c1", "2.00", 2), ("c2", "1.00", 1)])
        for subscriber in subscribers:
            assert [next(subscriber)[2]["op"] for _ in range(2)] == ["update", "insert"]
        assert spelled.count == before + 2


def test_many_messages_are_sent_in_parts_of_a_bearable_size() -> None:
    delivery = Delivery.of_changes(Since(1, 7), [{"op": "insert", "text": "x" * 1000}] * 200)
    assert b"".join(delivery.events) == b"".join(message.as_event() for message in delivery.messages)
    assert all(len(part) < PART_BYTES + 2000 for part in delivery.events) and len(delivery.events) == 4
    assert Delivery.of_changes(Since(1, 7), []).events == ()


def test_a_subscriber_that_does_not_read_is_let_go_and_told_so(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])

    async def neglect() -> tuple[int, list[object]]:
        feed = Feed(bank.project, "spend")
        (neglected, _), (read, _) = await feed.open(), await feed.open()
        received: list[object] = []
        for number in range(2 * WAITING):
            feed._give(Delivery.of_changes(Since(1, number), [{"op": "insert"}]))
            received.append(read.get_nowait())
        feed.close(read)
        held = [neglected.get_nowait() for _ in range(neglected.qsize())]
        assert held[-1] == "slow"
        return len(held), received

    held, received = asyncio.run(neglect())
    assert held == WAITING + 1, "no more than that is kept for it"
    assert len(received) == 2 * WAITING, "and the others don't notice"
