"""Spark's checkpoint as files: what it says, and the damage that can be seen by looking at it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater.engine.checkpoint import Checkpoint, Unreadable
from headwater.operators import Scan
from tests.plan.planning import view

SOURCES = {"s1": Scan((), "sales", "stream"), "s2": Scan((), "events", "stream"), "s3": Scan((), "sales", "stream")}


def offsets(*commits: int) -> str:
    named = (f's{number}:{{"commit": {commit}, "tick": 0}}' for number, commit in enumerate(commits, 1))
    return "\n".join(["v2", '{"batchWatermarkMs":0,"batchTimestampMs":1767225600500,"conf":{}}', *named])


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """A checkpoint in which batch 1 has succeeded and batch 2 was begun."""
    found = Checkpoint(tmp_path / "v1", SOURCES)
    found.renew()
    (found.folder / "metadata").write_text('{"id":"6a0ee1a9"}')
    for folder in ("offsets", "commits"):
        (found.folder / folder).mkdir()
    for batch, commits in enumerate([(1, 1, 1), (4, 2, 4), (6, 2, 5)]):
        (found.folder / "offsets" / str(batch)).write_text(offsets(*commits))
    for batch in (0, 1):
        (found.folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return found


def test_a_whole_checkpoint_has_no_damage_and_says_where_each_batch_ends(checkpoint: Checkpoint) -> None:
    assert checkpoint.damage() is None
    assert (checkpoint.last_begun(), checkpoint.last_finished()) == (2, 1)
    assert checkpoint.commits(1) == {"sales": 4, "events": 2}
    assert checkpoint.commits(2) == {"sales": 5, "events": 2}, "a topic that is read twice: as far as both are"
    assert checkpoint.began_at(1) == datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)


def test_a_new_checkpoint_has_begun_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "v1", SOURCES)
    assert (checkpoint.last_begun(), checkpoint.last_finished()) == (None, None)
    assert checkpoint.damage() == "v1/lowering can't be read."
    checkpoint.renew()
    assert checkpoint.damage() == "It has no offsets."


def write(place: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / place).write_text(text)


def remove(place: str) -> Callable[[Path], object]:
    return lambda folder: (folder / place).unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (write("offsets/2", ""), "offsets/2 doesn't say where its sources are."),
        (write("offsets/2", "v2\n{}"), "offsets/2 doesn't say where its sources are."),
        (write("offsets/2", offsets(6, 2)), "offsets/2 doesn't say where its sources are."),
        (write("offsets/2", offsets(6, 2, 5)[:-9]), "offsets/2 doesn't say where its sources are."),
        (remove("offsets/2"), None),
        (remove("offsets/1"), "offsets/1 can't be read."),
        (write("commits/1", ""), "commits/1 holds something else than Spark writes there."),
        (write("commits/1", "v1\nrubbish"), "commits/1 holds something else than Spark writes there."),
        (remove("commits/1"), "Batch 2 was begun, and the last one that it says has succeeded is 0."),
        (write("metadata", "rubbish"), "metadata holds something else than Spark writes there."),
        (write("metadata", ""), "metadata holds something else than Spark writes there."),
        (remove("metadata"), "v1/metadata can't be read."),
        (write("lowering", "0\n"), "It was made by another version of Headwater."),
        (remove("lowering"), "v1/lowering can't be read."),
    ],
)
def test_damage_is_seen_and_said(checkpoint: Checkpoint, damage: Callable[[Path], object], said: str | None) -> None:
    damage(checkpoint.folder)
    assert checkpoint.damage() == said


def test_a_missing_folder_is_damage_too(checkpoint: Checkpoint) -> None:
    for file in (checkpoint.folder / "commits").iterdir():
        file.unlink()
    (checkpoint.folder / "commits").rmdir()
    assert checkpoint.damage() == "Batch 2 was begun, and the last one that it says has succeeded is None."


@pytest.mark.parametrize("text", ["", "2", "[]", "{", "null"])
def test_inputs_that_cannot_be_read_are_not_known(checkpoint: Checkpoint, text: str) -> None:
    checkpoint.remember({"sales": "6a0e"})
    assert checkpoint.inputs() == {"sales": "6a0e"}
    (checkpoint.folder / "inputs").write_text(text)
    assert checkpoint.inputs() == {}


def test_a_batch_that_is_not_there_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(Unreadable, match="offsets/9"):
        checkpoint.commits(9)


def test_the_sources_of_a_view_are_named_in_the_order_of_its_scans() -> None:
    planned = view("SELECT id FROM payments UNION ALL SELECT id FROM orders")
    sources = Checkpoint.of(planned, Path("v1")).sources
    assert {name: scan.relation for name, scan in sources.items()} == {"s1": "payments", "s2": "orders"}
