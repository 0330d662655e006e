"""How often a client may ask, what every answer says about itself, and what is never logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from headwater.serve.limit import Rates
from headwater.serve.tokens import Tokens
from tests.serve.conftest import Bank, event, serve
from tests.serve.test_access import bearer


def test_an_allowance_fills_up_as_time_passes() -> None:
    now = 0.0
    rates = Rates(5, lambda: now)
    assert [rates.take("a") for _ in range(11)] == [True] * 10 + [False]
    assert rates.take("b"), "each client has its own"
    now = 0.2
    assert [rates.take("a"), rates.take("a")] == [True, False]
    now = 60.0
    assert sum(rates.take("a") for _ in range(20)) == 10, "no more than so many at once"


def test_clients_that_have_been_silent_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.serve.limit._REMEMBERED", 3)
    now = 0.0
    rates = Rates(1, lambda: now)
    for name in "abc":
        rates.take(name)
    now = 10.0
    for _ in range(3):
        rates.take("d")
    assert not rates.take("d"), "one that asks too often isn't"
    assert list(rates._clients) == ["d"]


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Bank]:
    yield from serve(tmp_path / "limited", host="0.0.0.0", requests_per_second=0.001)


def test_a_client_that_asks_too_often_is_told_to_come_back(limited: Bank) -> None:
    tokens = Tokens(limited.project.folder)
    busy, calm = tokens.create("busy", "read"), tokens.create("calm", "read")
    first, refused = (limited.client.get("/status", headers=bearer(busy)) for _ in range(2))
    assert first.status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert (refused.json()["type"], refused.json()["who"]) == ("urn:headwater:error:overloaded", "caller")
    assert limited.client.get("/status", headers=bearer(calm)).status_code == 200
    statuses = [limited.client.get("/healthz", headers=bearer(f"hw_{number}")).status_code for number in range(2)]
    assert statuses[-1] == 429, "tokens that nobody knows are one client: the address"
    with pytest.raises(InvalidStatus):
        connect(str(limited.client.base_url).replace("http", "ws").rstrip("/") + "/views/spend/changes")


def test_on_loopback_nobody_is_limited_unless_told(bank: Bank) -> None:
    assert {bank.client.get("/healthz").status_code for _ in range(50)} == {200}


def test_every_answer_says_that_it_is_data_and_not_to_be_kept(bank: Bank) -> None:
    for path in ("/healthz", "/nothing", "/views/nope"):
        headers = bank.client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_tokens_are_never_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for bank in serve(tmp_path / "logged", host="0.0.0.0"):
        token = Tokens(bank.project.folder).create("till", "write")
        for path in ("/streams/payments/events", "/streams/nope/events", "/views/spend/pause"):
            answered = bank.client.post(path, json=event(1), headers=bearer(token))
            assert token not in answered.text
        assert token not in bank.client.get("/status", headers=bearer(token)).text
    told = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert not [line for line in told if token in line]
