"""The audit trail: lines are only added, whoever adds them, and a broken one hides no other."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

from headwater.operate.audit import Audit, acting_as

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_acts_are_told_oldest_first_with_who_did_them(tmp_path: Path) -> None:
    audit = Audit(tmp_path, lambda: NOON)
    with acting_as("token till"):
        audit.note("pause view", "spend", reason="migration", since=None)
    audit.note("promote")
    first, second = audit.read()
    assert (first.at, first.actor, first.act, first.subject) == (NOON.isoformat(), "token till", "pause view", "spend")
    assert first.details == {"reason": "migration"}
    assert second.actor.startswith("user ")
    assert audit.read(last=1) == [second]
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_a_line_that_was_cut_off_hides_no_other(tmp_path: Path) -> None:
    audit = Audit(tmp_path)
    audit.note("pause view", "spend")
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"at": "2026-01\xff\n')
    audit.note("resume view", "spend")
    assert [act.act for act in audit.read()] == ["pause view", "resume view"]


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    def write(name: str) -> None:
        for _ in range(50):
            Audit(tmp_path).note("act", name, padding=name * 500)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    acts = Audit(tmp_path).read()
    assert len(acts) == 200
    assert all(act.details["padding"] == (act.subject or "") * 500 for act in acts)
