"""Which version a run works on: what is in the store and in the checkpoint decides, before Spark starts."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.errors import Fenced, UnknownView, ViewBusy
from headwater.operate.versions import Chosen, Versions
from headwater.plan import PlannedView
from headwater.store import Batch, Position, Target
from headwater.store.sqlite import SqliteStore
from tests.plan.planning import view

COUNTED = "SELECT id, amount FROM orders"
LIVE = "WITH (execution = 'live')"
CHANGED = "SELECT id, amount * 2 AS amount FROM orders"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "views.db")
    yield opened
    opened.close()


def versions(store: SqliteStore, tmp_path: Path, query: str = COUNTED, options: str = LIVE) -> Versions:
    return Versions(view(query, options), store, tmp_path / "state", {})


def run(versions: Versions, chosen: Chosen, batches: int, unfinished: bool = False) -> None:
    """Apply batches to a version and write what Spark would; the last one is cut off before Spark has finished it."""
    planned, store = versions.planned, versions.store
    target = target_of(planned, chosen.number)
    epoch = store.open(target, planned.fingerprint)
    folder = versions.checkpoint(chosen.number).folder
    (folder / "metadata").write_text('{"id":"1"}')
    for number in range(batches):
        for name in ("offsets", "commits"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "offsets" / str(number)).write_text(f'v2\n{{}}\ns1:{{"commit": {number + 1}, "tick": 0}}')
        empty = target.schema.empty_table()
        position = Position(number, (("orders", number + 1),), datetime(2026, 1, 1, tzinfo=UTC))
        store.apply(target, epoch, Batch(empty, empty.select(list(target.key)), position))
        if not (unfinished and number == batches - 1):
            (folder / "commits" / str(number)).write_text("v1\n{}")


def target_of(planned: PlannedView, number: int) -> Target:
    return Target(planned.name, number, planned.columns, (), planned.emit)


def test_the_first_version_is_built_where_there_is_none(store: SqliteStore, tmp_path: Path) -> None:
    assert versions(store, tmp_path).choose() == Chosen(1, resumes=False)


@pytest.mark.parametrize("unfinished", [False, True], ids=["finished", "cut off behind the store"])
def test_a_version_whose_checkpoint_fits_is_gone_on_with(store: SqliteStore, tmp_path: Path, unfinished: bool) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=3, unfinished=unfinished)
    assert found.choose() == Chosen(1, resumes=True)


def test_a_live_version_is_gone_on_with_in_small_steps_and_not_the_other_way_round(
    store: SqliteStore, tmp_path: Path
) -> None:
    live, settled = versions(store, tmp_path), versions(store, tmp_path, options="")
    run(live, live.choose(), batches=2)
    assert settled.planned.is_settled
    assert settled.choose() == Chosen(1, resumes=True)
    target = target_of(settled.planned, 1)
    empty = target.schema.empty_table()
    position = Position(2, (("orders", 7),), datetime(2026, 1, 1, tzinfo=UTC))
    epoch = store.open(target, settled.planned.fingerprint)
    store.apply(target, epoch, Batch(empty, empty.select(list(target.key)), position))
    assert settled.choose() == Chosen(1, resumes=True)
    assert live.choose() == Chosen(2, resumes=False, rebuilt="its store is ahead of its checkpoint")


def test_a_version_that_was_cut_off_before_its_first_batch_begins_again(store: SqliteStore, tmp_path: Path) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=0)
    left_over = found.checkpoint(1).folder / "offsets"
    left_over.mkdir()
    assert found.choose() == Chosen(1, resumes=False)
    assert not left_over.exists()


def test_a_changed_declaration_gets_a_version_of_its_own(store: SqliteStore, tmp_path: Path) -> None:
    before = versions(store, tmp_path)
    run(before, before.choose(), batches=1)
    after = versions(store, tmp_path, CHANGED)
    assert after.choose() == Chosen(2, resumes=False, rebuilt="its declaration has changed")


def test_a_declaration_that_is_changed_back_goes_on_where_it_was(store: SqliteStore, tmp_path: Path) -> None:
    before, after = versions(store, tmp_path), versions(store, tmp_path, CHANGED)
    run(before, before.choose(), batches=1)
    run(after, after.choose(), batches=1)
    assert before.choose() == Chosen(1, resumes=True)
    assert after.choose() == Chosen(2, resumes=True)


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ("", "its checkpoint is gone"),
        ("offsets", "its checkpoint is gone"),
        ("commits", "its checkpoint can't be read: Batch 2 was begun, and the last one that it says has succeeded is "),
        ("metadata", "its checkpoint can't be read: v1/metadata can't be read."),
        ("offsets/2", "its store is ahead of its checkpoint"),
    ],
    ids=["all", "offsets", "commits", "metadata", "the newest offsets"],
)
def test_a_version_that_cannot_be_gone_on_with_is_built_anew_beside_it(
    store: SqliteStore, tmp_path: Path, lost: str, reason: str
) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=3)
    store.promote("v", 1)
    place = found.checkpoint(1).folder / lost
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
        (place.parent.parent / "commits" / place.name).unlink(missing_ok=True)
    chosen = found.choose()
    assert (chosen.number, chosen.resumes) == (2, False)
    assert chosen.rebuilt is not None
    assert chosen.rebuilt.startswith(reason)
    assert found.promoted().target.version == 1, "what is served stays"


def test_a_store_that_is_older_than_the_checkpoint_is_behind_it(store: SqliteStore, tmp_path: Path) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=2)
    folder = found.checkpoint(1).folder
    (folder / "offsets" / "2").write_text('v2\n{}\ns1:{"commit": 3, "tick": 0}')
    (folder / "commits" / "2").write_text("v1\n{}")
    assert found.choose() == Chosen(2, resumes=False, rebuilt="its store is behind its checkpoint")


def test_a_checkpoint_that_ends_a_batch_elsewhere_belongs_to_other_rows(store: SqliteStore, tmp_path: Path) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=2)
    (found.checkpoint(1).folder / "offsets" / "1").write_text('v2\n{}\ns1:{"commit": 7, "tick": 0}')
    assert found.choose() == Chosen(2, resumes=False, rebuilt="its store is ahead of its checkpoint")


@pytest.mark.parametrize("served", [True, False])
def test_a_damaged_version_is_dropped_unless_it_is_served(store: SqliteStore, tmp_path: Path, served: bool) -> None:
    found = versions(store, tmp_path)
    run(found, found.choose(), batches=1)
    if served:
        store.promote("v", 1)
    with found.locked() as held:
        chosen = found.renew(found.choose(), "Stream is corrupted.", held)
    assert chosen == Chosen(2, resumes=False, rebuilt="its checkpoint can't be read: Stream is corrupted.")
    assert [version.target.version for version in store.versions("v")] == ([1] if served else [])


def test_one_run_at_a_time_works_on_a_view(store: SqliteStore, tmp_path: Path) -> None:
    mine, theirs = versions(store, tmp_path), versions(store, tmp_path)
    with mine.locked():
        with (
            pytest.raises(ViewBusy, match='view "v" is being brought up to date by another run') as caught,
            theirs.locked(),
        ):
            pass
        assert caught.value.fields["holder"].startswith("process ")
    with theirs.locked():
        pass


def test_a_view_that_was_never_built_has_no_served_version(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownView):
        versions(store, tmp_path).promoted()


def test_an_heir_goes_on_with_state_that_the_silent_run_can_no_longer_reach(store: SqliteStore, tmp_path: Path) -> None:
    before = replace(versions(store, tmp_path), lease=timedelta(seconds=1))
    run(before, before.choose(), 2)
    left = before.checkpoint(1).folder
    lock = left.parent / "lock"
    with lock.open("w") as silent:
        fcntl.flock(silent, fcntl.LOCK_EX)  # of this process, but of another file: as good as another run
        os.utime(lock, (0, 0))
        with before.locked() as held:
            assert held.inherited
            assert before.choose() == Chosen(1, resumes=True)
            assert before.checkpoint(1).folder != left
            left.mkdir()  # what the silent run writes when it wakes up
            (left / "offsets").mkdir()
            assert before.choose() == Chosen(1, resumes=True)
        os.utime(lock, (0, 0))
    with before.locked():
        assert before.choose() == Chosen(1, resumes=True)


def test_whatever_fails_after_a_view_was_taken_over_says_so(store: SqliteStore, tmp_path: Path) -> None:
    mine = replace(versions(store, tmp_path), lease=timedelta(seconds=1))
    chosen = mine.choose()
    lock = mine.checkpoint(1).folder.parent / "lock"
    for fail in (lambda held: mine.renew(chosen, "offsets/1 is gone", held), lambda held: 1 // 0):
        with pytest.raises(Fenced, match="taken over") as fenced, mine.locked() as held:
            os.utime(lock, (0, 0))  # as if nothing had been heard of this run
            with mine.locked():
                fail(held)
        assert str(os.getpid()) in str(fenced.value.detail)
    assert mine.checkpoint(1).folder.is_dir(), "the heir's state"
