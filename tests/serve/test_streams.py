"""Events come in over HTTP."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

from tests.intake.test_arrow_stream import stream, with_offset
from tests.patience import PATIENCE
from tests.serve.conftest import Bank, event, serve

LINES = {"content-type": "application/x-ndjson"}


def test_an_object_an_array_lines_and_arrow_are_appended(bank: Bank) -> None:
    post = bank.client.post
    assert post("/streams/payments/events", json=event(1)).json()["rows"] == 1
    pretty = json.dumps([event(2), event(3, card='a "card", [1]')], indent=2)
    array = post(
        "/streams/payments/events", content=pretty, headers={"content-type": "application/json; charset=utf-8"}
    )
    assert (array.status_code, array.json()["rows"]) == (201, 2)
    lines = b"\n".join(json.dumps(event(number)).encode() for number in (4, 5))
    assert post("/streams/payments/events", content=lines, headers=LINES).json()["rows"] == 2
    table = pa.table({"id": ["p-6"], "card": ["c2"], "at": [datetime(2026, 1, 1, 12, tzinfo=UTC)]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrow = post(
        "/streams/payments/events",
        content=sink.getvalue(),
        headers={"content-type": "application/vnd.apache.arrow.stream"},
    )
    assert arrow.json()["rows"] == 1
    rows = bank.project.read("payments").to_pylist()
    assert [row["id"] for row in rows] == [f"p-{number}" for number in range(1, 7)]
    assert rows[2]["card"] == 'a "card", [1]'
    assert {row["_source"] for row in rows} == {"http"}


def test_digits_are_kept_as_they_were_written(bank: Bank) -> None:
    text = '[{"id": "p", "amount": 12345678.10, "at": "2026-01-01T12:00:00Z"}]'
    bank.client.post("/streams/payments/events", content=text, headers={"content-type": "application/json"})
    assert str(bank.project.read("payments")["amount"][0]) == "12345678.10"


def test_what_cannot_be_read_is_a_dead_letter_and_strictness_refuses_it(bank: Bank) -> None:
    body = [event(1), event(2, amount="much")]
    posted = bank.client.post("/streams/payments/events", json=body)
    answered = posted.json()
    assert (posted.status_code, answered["rows"], answered["dead"]) == (207, 1, 1)
    assert answered["became"] == "rows and dead letters"
    (letter,) = bank.client.get("/streams/payments/dead").json()["letters"]
    assert (letter["error"], json.loads(letter["bytes"])["amount"]) == ("wrong-type", "much")
    refused = bank.client.post("/streams/payments/events?strict=true", json=body)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:headwater:error:strict-load-refused")


def test_dead_letters_come_back_once_they_can_be_read(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=[event(1, amount="much")])
    done = bank.client.post("/streams/payments/redrive").json()
    assert done == {"topic": "payments", "rows": 0, "dead": 1}, "nothing has changed"
    assert bank.client.post("/streams/nope/redrive").status_code == 404


def test_the_same_key_again_appends_nothing(bank: Bank) -> None:
    def post(number: int, body: Any) -> httpx.Response:
        headers = {"Idempotency-Key": f"till-1:{number}"}
        return bank.client.post("/streams/payments/events", json=body, headers=headers)

    first, again = post(1, event(1)), post(1, event(1))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["commit"] == first.json()["commit"]
    assert again.json()["repeated"]
    other = post(1, event(2))
    assert (other.status_code, other.json()["who"]) == (409, "caller")
    assert post(2, event(2)).status_code == 201
    assert bank.project.read("payments").num_rows == 2
    for number, body, status in ((3, [event(3), event(4, amount="much")], 207), (4, event(5, amount="much"), 422)):
        assert [post(number, body).status_code for _ in range(2)] == [status, status], "whatever became of it"
    assert bank.project.dead("payments").num_rows == 2, "letters are not doubled either"


def test_an_append_of_which_nothing_became_a_row_says_so(bank: Bank) -> None:
    posted = bank.client.post("/streams/payments/events", json=event(1, amount="much"))
    answered = posted.json()
    assert (posted.status_code, answered["rows"], answered["dead"], answered["became"]) == (422, 0, 1, "dead letters")
    assert answered["title"] == '1 event is a dead letter of "payments"'
    assert "don't send them again" in answered["detail"]
    assert bank.project.dead("payments").num_rows == 1


def test_unknown_fields_are_in_the_receipt_the_status_and_the_metrics(bank: Bank) -> None:
    posted = bank.client.post("/streams/payments/events", json=[event(1) | {"colour": "red"}, event(2)])
    assert (posted.status_code, posted.json()["unknown"]) == (201, {"colour": 1})
    (topic, *_) = bank.client.get("/status").json()["topics"]
    assert topic["unknown"] == {"colour": 1}
    metrics = bank.client.get("/metrics").text
    assert 'headwater_topic_unknown_fields_total{field="colour",topic="payments"} 1.0' in metrics


REFUSED = {
    "no such stream": ("/streams/nope/events", b"{}", "application/json", 404, "unknown-topic"),
    "a view is no stream": ("/streams/spend/events", b"{}", "application/json", 404, "unknown-topic"),
    "not JSON": ("/streams/payments/events", b"{", "application/json", 422, "unreadable-event"),
    "half an array": ("/streams/payments/events", b"[{}, ", "application/json", 422, "unreadable-event"),
    "not UTF-8": ("/streams/payments/events", b'{"id": "\xff"}', "application/json", 422, "unreadable-event"),
    "not Arrow": ("/streams/payments/events", b"x", "application/vnd.apache.arrow.stream", 422, "unreadable-event"),
    "another type": ("/streams/payments/events", b"<a/>", "text/xml", 415, "format-refused"),
    "a form": ("/streams/payments/events", b"id=1", "application/x-www-form-urlencoded", 415, "format-refused"),
}


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A bank that nothing is ever appended to."""
    yield from serve(tmp_path_factory.mktemp("standing") / "bank")


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_who_must_act_and_appends_nothing(standing: Bank, case: str) -> None:
    path, body, kind, status, code = REFUSED[case]
    found = standing.client.post(path, content=body, headers={"content-type": kind})
    assert found.headers["content-type"] == "application/problem+json"
    told = found.json()
    assert (found.status_code, told["status"], told["type"]) == (status, status, f"urn:headwater:error:{code}")
    assert told["who"] == "caller"
    assert standing.project.log.head("payments") <= 0


def test_a_key_that_is_none_is_refused(bank: Bank) -> None:
    found = bank.client.post("/streams/payments/events", json=event(1), headers={"Idempotency-Key": "abc"})
    assert (found.status_code, found.json()["type"]) == (400, "urn:headwater:error:argument-refused")


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Bank]:
    yield from serve(tmp_path / "narrow", body_bytes=2000, appends=1)


def test_a_body_that_is_too_large_is_refused(narrow: Bank) -> None:
    found = narrow.client.post("/streams/payments/events", json=[event(number) for number in range(100)])
    assert (found.status_code, found.json()["type"]) == (413, "urn:headwater:error:too-large")


def test_more_appends_than_may_be_under_way_are_told_to_come_back(narrow: Bank) -> None:
    under_way, go_on = threading.Event(), threading.Event()
    append = narrow.project.append

    def slowly(*arguments: Any, **options: Any) -> Any:
        under_way.set()
        go_on.wait(PATIENCE)
        return append(*arguments, **options)

    narrow.project.append = slowly  # type: ignore[method-assign]
    with ThreadPoolExecutor() as pool, httpx.Client(base_url=narrow.client.base_url, timeout=PATIENCE) as other:
        first = pool.submit(other.post, "/streams/payments/events", json=event(1))
        assert under_way.wait(PATIENCE)
        refused = narrow.client.post("/streams/payments/events", json=event(2))
        go_on.set()
        assert first.result().status_code == 201
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["type"] == "urn:headwater:error:overloaded"
    assert narrow.client.post("/streams/payments/events", json=event(3)).status_code == 201


ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def test_arrow_that_would_crash_or_swallow_the_server_is_refused(bank: Bank) -> None:
    post = bank.client.post
    crash = with_offset(0x7FFFFFFF, 2, ["abcd", "efgh", "ijkl"])
    refused = post("/streams/payments/events", content=crash, headers=ARROW)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:headwater:error:unreadable-event")
    bomb = stream(pa.table({"id": pa.array(np.zeros(100_000_000, np.int64))}), "zstd")
    refused = post("/streams/payments/events", content=bomb, headers=ARROW)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:headwater:error:too-large")
    assert bank.project.read("payments").num_rows == 0
    assert bank.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("text", ["1e-999999999", "340282366920938463463374607431768211461", "5e-41"])
def test_a_number_that_does_not_fit_is_a_dead_letter(bank: Bank, text: str) -> None:
    body = f'{{"id": "p", "amount": {text}, "at": "2026-01-01T12:00:00Z"}}'
    answered = bank.client.post("/streams/payments/events", content=body, headers={"content-type": "application/json"})
    assert (answered.json()["rows"], answered.json()["dead"]) == (0, 1)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("[" * 100_000, 422),
        ('{"id":' * 1_000 + "1" + "}" * 1_000, 422),
        ('[{"id": "p"},]', 422),
        ('[{"id": "p"}] 7', 422),
        ('[{"id": "p"} {"id": "q"}]', 422),
        ('{"id": ' + "9" * 5_000 + "}", 422),
        ("[" + ",".join(["{}"] * 1_000_002) + "]", 413),
    ],
    ids=["deep array", "deep object", "comma", "behind", "no comma", "digits", "events"],
)
def test_a_body_that_is_no_document_of_events_is_refused(bank: Bank, body: str, status: int) -> None:
    answered = bank.client.post("/streams/payments/events", content=body, headers={"content-type": "application/json"})
    assert answered.status_code == status, answered.text
    assert bank.project.read("payments").num_rows == 0


def test_a_large_body_is_parsed_beside_the_loop_that_answers(bank: Bank) -> None:
    body = json.dumps([event(number) for number in range(100_000)]).encode()
    headers = {"content-type": "application/json"}
    slowest, done = 0.0, threading.Event()

    def append() -> None:
        with httpx.Client(base_url=bank.client.base_url, timeout=PATIENCE) as client:
            client.post("/streams/payments/events", content=body, headers=headers)
        done.set()

    threading.Thread(target=append).start()
    while not done.is_set():
        began = time.monotonic()
        assert bank.client.get("/healthz").status_code == 200
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 1, f"/healthz took {slowest:.2f} s"
