"""A disk that is full at every write, in turn: so many pages are free that one write more fails than before.

Nothing that was acknowledged is lost, what isn't written is refused by its name, `/readyz` says so, and everything goes
on by itself when there is room again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError

from headwater.errors import HeadwaterError, OperatorError
from headwater.log import TopicLog, folder_of, open_storage
from headwater.log.maintenance import checkpoint, compact
from headwater.operate.audit import Audit
from headwater.serve import status
from headwater.serve.tokens import Tokens
from tests.chaos.test_disks import Disk, disk  # noqa: F401  # a fixture
from tests.serve.conftest import Bank, event, serve

PAGE = 4096
PAGES = range(10)
"""How many pages are free, so that each of the writes of an append fails once: data file, entry, witness."""


class Ballast:
    """A file that takes all the room there is but for some pages."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ballast"

    def leave(self, pages: int) -> None:
        """Leave so many pages free."""
        with self._path.open("ab") as file, suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(PAGE))
        os.truncate(self._path, max(0, self._path.stat().st_size - pages * PAGE))

    def let_go(self) -> None:
        """Leave all of it free."""
        self._path.unlink(missing_ok=True)


@pytest.fixture
def ballast(disk: Disk) -> Ballast:  # noqa: F811
    return Ballast(disk.folder)


@pytest.fixture
def bank(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:  # noqa: F811
    monkeypatch.setattr(status, "LEAST_FREE", 64 * PAGE)
    disk.resize(16)
    yield from serve(disk.folder / "bank", access_log=".headwater/access.jsonl")


def sent(bank: Bank, number: int, *more: object) -> int:
    """The status of an append; a refusal is one of ours, that may pass."""
    answered = bank.client.post("/streams/payments/events", json=[event(number), *more])
    if answered.status_code >= 400:
        assert answered.status_code == 503, (answered.status_code, answered.text)
        assert "space" in answered.json()["detail"].lower(), answered.text
    return answered.status_code


def test_appends_and_dead_letters(bank: Bank, ballast: Ballast) -> None:
    acknowledged, letters, refused = [], 0, 0
    for number, pages in enumerate(pages for pages in PAGES for _ in range(2)):
        ballast.leave(pages)
        poison = [{"id": 7, "at": "never"}] if number % 2 else []
        code = sent(bank, number, *poison)
        acknowledged += [f"p-{number}"] if code < 400 else []
        letters += len(poison) if code < 400 else 0
        refused += code == 503
        ready = bank.client.get("/readyz")
        assert (ready.status_code, ready.json()["reason"]) == (503, "disk-full")
        assert bank.client.get("/healthz").status_code == 200
    assert refused >= 4 and acknowledged, "some fail and some don't"
    ballast.let_go()
    assert sent(bank, 1000) == 201
    assert bank.client.get("/readyz").json().get("reason") != "disk-full"
    ids = bank.project.read("payments")["id"].to_pylist()
    assert [name for name in ids if name in acknowledged] == acknowledged, "each once"
    assert ids[-1] == "p-1000"
    assert bank.project.dead("payments").num_rows >= letters
    assert not [hurt for log in bank.project.integrity.scrub() for hurt in log.hurt]


def test_a_key_is_appended_once_however_often_it_failed(bank: Bank, ballast: Ballast) -> None:
    for pages in PAGES:
        ballast.leave(pages)
        bank.client.post("/streams/payments/events", json=event(1), headers={"idempotency-key": "till:1"})
    ballast.let_go()
    answered = bank.client.post("/streams/payments/events", json=event(1), headers={"idempotency-key": "till:1"})
    assert answered.status_code == 201
    assert bank.project.read("payments")["id"].to_pylist() == ["p-1"]


def test_checkpoints_and_backups(bank: Bank, ballast: Ballast, disk: Disk) -> None:  # noqa: F811
    for number in range(12):
        assert sent(bank, number) == 201
    topic = bank.project.declarations.topic("payments")
    log = TopicLog(topic, open_storage(str(bank.project.folder / "data" / "log" / folder_of(topic.name))))
    copy = str(disk.folder / "copy")
    assert bank.project.integrity.backup(copy).good
    assert sent(bank, 12) == 201
    for pages in PAGES:
        ballast.leave(pages)
        with suppress(OperatorError):
            compact(log)
        with suppress(DeltaError, OSError, OperatorError):  # maintenance tries it again, whatever failed
            checkpoint(log)
        with suppress(OperatorError):
            bank.project.integrity.backup(copy)
    ballast.let_go()
    assert bank.project.integrity.backup(copy).good
    assert bank.project.read("payments").num_rows == 13
    assert not [hurt for log in bank.project.integrity.scrub() for hurt in log.hurt]
    restored = bank.project.integrity.restore(copy, str(disk.folder / "restored"))
    assert restored.good and restored.heads == bank.project.integrity.backup(copy).heads


def test_tokens_the_audit_trail_and_the_access_log(bank: Bank, ballast: Ballast) -> None:
    folder = bank.project.folder
    tokens, audit = Tokens(folder), Audit(folder / ".headwater")
    first = tokens.create("first", "read")
    noted = []
    for number, pages in enumerate(page for page in (0, 0, 1, 2) for _ in range(20)):
        ballast.leave(pages)
        with suppress(HeadwaterError):
            tokens.create(f"t{number}", "read")
        with suppress(HeadwaterError):
            audit.note("pause", "x" * 300, number=number)
            noted.append(number)
        assert tokens.access(first).role == "read", "the tokens that there are stay good"
        assert bank.client.get("/status").status_code == 200, "a request that can't be noted is answered"
        paused = bank.client.post("/views/spend/pause")
        assert paused.status_code in (202, 503), paused.text
    assert len(noted) < 80, "some fail"
    ballast.let_go()
    audit.note("pause", "after", number=1000)
    acts = [act.details["number"] for act in audit.read() if "number" in act.details]
    assert [number for number in acts if number in noted] == noted, "what was done is in the trail"
    assert acts[-1] == 1000
    tokens.create("last", "read")
    assert bank.client.get("/healthz").status_code == 200
    lines = (folder / ".headwater" / "access.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["path"]


def test_a_view_in_sqlite(bank: Bank, ballast: Ballast) -> None:
    bank.write([(f"c{number}", "1.00", 1) for number in range(100)], commit=0)
    written = 0
    for pages in PAGES:
        ballast.leave(pages)
        batch = bank.batch
        try:
            bank.write([(f"c{number}", "2.00", pages) for number in range(100)], commit=0)
            written += 1
        except HeadwaterError as refused:
            assert refused.transient, refused
            bank.batch = batch
        assert bank.client.get("/views/spend").status_code == 200, "what is there is served"
    assert written < len(PAGES)
    ballast.let_go()
    bank.write([("c1", "3.00", 7)], commit=0)
    assert bank.client.get("/views/spend?card=c1").json()["rows"][0]["n"] == 7
