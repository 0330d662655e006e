"""The payments of the demo."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import headwater as hw
from headwater.cli import template
from headwater.cli.bank import BURST, COUNTRIES, FRAUD_EVERY, Bank

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_same_seed_gives_the_same_payments() -> None:
    once, again, other = (list(Bank(seed).second(5, START)) for seed in (7, 7, 8))
    assert once == again != other


def test_everything_that_happens_to_streams_happens(tmp_path: Path) -> None:
    list(template.create(tmp_path / "bank", "bank", "bank"))
    at = START
    with hw.open(tmp_path / "bank", now=lambda: at) as project:
        assert project.plan().views
        for number in range(45):
            at = START + timedelta(seconds=number)
            for sent in Bank().second(number, at):
                project.append("payments", sent.lines, source=sent.source)
        rows = project.read("payments").to_pylist()
        letters = project.dead("payments").to_pylist()
        at += timedelta(seconds=60)
        assert project.redrive("payments").rows == sum(letter["source"] == "old till" for letter in letters) > 0
    errors = {letter["error"] for letter in letters}
    assert errors == {"unreadable-event", "wrong-type", "missing-value", "time-out-of-range"}
    assert {row["_source"] for row in rows} == {"till", "web", "phone", "kiosk"}
    late = [row for row in rows if row["at"] < row["_watermark"]]
    assert 0 < len(late) < len(rows) / 10
    names = [row["id"] for row in rows]
    assert len(set(names)) < len(names), "some come twice"
    kiosk = {row["_arrived_at"] for row in rows if row["_source"] == "kiosk"}
    assert not [found for found in kiosk if START + timedelta(seconds=15) <= found < START + timedelta(seconds=40)]


def test_a_stolen_card_is_used_in_another_country() -> None:
    sent = [part for number in (FRAUD_EVERY, FRAUD_EVERY + 1) for part in Bank().second(number, START)]
    fraud = [event for part in sent for event in part.events if event["id"].startswith("f-")]
    assert len(fraud) == BURST
    assert len({event["card"] for event in fraud}) == len({event["country"] for event in fraud}) == 1
    card = int(fraud[0]["card"].removeprefix("card-"))
    assert fraud[0]["country"] != COUNTRIES[card % len(COUNTRIES)]
    assert all(json.loads(line) for part in sent for line in part.lines.splitlines() if line.endswith(b"}"))
