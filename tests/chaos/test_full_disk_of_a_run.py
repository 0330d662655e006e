"""A disk that is full under what a run writes beside its log and its stores: locks, kept rows, places, records, loads.

What can be done without is done without; what can't is refused by an error that may pass. Nothing is left behind of
what isn't written whole, so that a disk that is full doesn't stay so for what nobody needs.
"""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import headwater as hw
from headwater.engine.kept import KeptRows
from headwater.engine.maintained.arrangement import Arrangement
from headwater.errors import FolderUnavailable, HeadwaterError, LogUnavailable, ViewBusy
from headwater.intake.kafka.member import claimed_name
from headwater.log import TopicLog, open_storage
from headwater.log.bulk import load
from headwater.model import INSTANT, Bounded, Column, Stream
from headwater.operate.lock import locked
from headwater.operate.record import put
from headwater.outlets import Place
from headwater.outlets.holding import Holding
from tests.chaos.test_disks import Disk, disk  # noqa: F401  # a fixture
from tests.chaos.test_full_disk import PAGES, Ballast, ballast  # noqa: F401  # a fixture

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BIDS = Stream(
    name="bids",
    columns=(Column("id", pa.int64()), Column("note", pa.string()), Column("at", INSTANT, nullable=False)),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
)


def bids(first: int, count: int) -> pa.Table:
    notes = [f"{number * 2_654_435_761 % 2**64:020}{number:020}" for number in range(first, first + count)]
    columns = {"id": range(first, first + count), "note": notes, "at": [NOON] * count}
    return pa.table({name: pa.array(values) for name, values in columns.items()}).cast(BIDS.schema)


def names_in(folder: Path) -> set[str]:
    return {file.name for file in folder.rglob("*") if file.is_file()}


def test_what_is_not_committed_leaves_no_file(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    log, known = TopicLog(BIDS, open_storage(str(disk.folder / "log"))), 0
    log.append(bids(0, 10))
    refused = 0
    for pages in (*PAGES, *PAGES):
        ballast.leave(pages)
        try:
            log.append(bids(10 * pages, 10))
            known += 1
        except LogUnavailable as full:
            assert full.transient and "space" in str(full.detail)
            refused += 1
    assert refused and known
    assert len(list((disk.folder / "log").glob("*.parquet"))) == known + 1, "a data file for each commit"


def test_a_load_that_does_not_fit_leaves_the_room_that_there_was(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    log = TopicLog(BIDS, open_storage(str(disk.folder / "log")))
    log.append(bids(0, 1))
    ballast.leave(20)
    for number in range(1, 4):
        with pytest.raises(LogUnavailable):
            load(log, (bids(part * 5_000, 5_000) for part in range(4)))
        assert len(list((disk.folder / "log").glob("*.parquet"))) == number, "as many as there are commits"
        log.append(bids(number, 1))
    ballast.let_go()
    assert load(log, (bids(part * 5_000, 5_000) for part in range(4))).rows == 20_000


def test_rows_that_can_not_be_put_aside_are_an_error_that_may_pass(
    disk: Disk,  # noqa: F811
    ballast: Ballast,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = TopicLog(BIDS, open_storage(str(tmp_path / "log")))
    (disk.folder / "aside").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(disk.folder / "aside"))
    for pages in (0, 1, 9):
        ballast.leave(pages)
        with pytest.raises(FolderUnavailable) as full:
            load(log, (bids(part * 5_000, 5_000) for part in range(4)))
        assert full.value.transient and "aside" in full.value.summary
        assert not names_in(disk.folder / "aside")
    ballast.let_go()
    assert load(log, (bids(part * 5_000, 5_000) for part in range(4))).rows == 20_000


def test_locks_are_held_without_the_name_of_their_holder(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    for pages in PAGES:
        ballast.leave(pages)
        with locked(disk.folder / f"lock-{pages}", lambda holder: ViewBusy(holder)) as held:
            assert held.heir() is None
            with (
                pytest.raises(ViewBusy),
                locked(disk.folder / f"lock-{pages}", lambda holder: ViewBusy(holder)),
            ):
                pass
        with claimed_name(disk.folder / "members", "group", f"stream-{pages}") as name:
            assert name.endswith("-1")


def test_a_lock_that_can_not_be_made_is_an_error_that_may_pass(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with (
        pytest.raises(FolderUnavailable) as refused,
        locked(tmp_path / "file" / "lock", lambda holder: ViewBusy(holder)),
    ):
        pass
    assert refused.value.transient
    with pytest.raises(FolderUnavailable), claimed_name(tmp_path / "file", "group", "stream"):
        pass


def test_rows_that_are_kept_are_done_without(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    folder = disk.folder / "state" / "spend" / "v1"
    kept, rows = KeptRows("open", folder), Arrangement(folder, "groups", unique=True)
    before: dict[str, int] = {"bids": 0}
    done, refused = 0, 0
    for step, pages in enumerate((*PAGES, *range(10, 60, 10)), 1):
        ballast.leave(pages)
        commits = {"bids": step}
        kept.write(commits, bids(step, 100), before)
        rows.put(pa.array([f"k{number}" for number in range(step * 50)], pa.large_string()), bids(0, step * 50))
        rows.keep(commits)
        assert not {name for name in names_in(folder) if name.endswith(".tmp")}
        again = Arrangement(folder, "groups", unique=True)
        if again.open() == commits:
            assert again.find(pa.array(["k7"], pa.large_string()))["id"].to_pylist() == [7]
            done += 1
        found = kept.read(commits)
        assert found is None or found.equals(bids(step, 100))
        refused += found is None
        before = commits
    assert done and refused
    ballast.let_go()
    rows.keep(before)
    assert Arrangement(folder, "groups", unique=True).open() == before


def test_an_intake_takes_in_each_event_once(disk: Disk, ballast: Ballast, tmp_path: Path) -> None:  # noqa: F811
    project, source = disk.folder / "shop", tmp_path / "in"
    project.mkdir()
    source.mkdir()
    (project / "headwater.toml").write_text('name = "shop"')
    (project / "bids.sql").write_text(
        "CREATE STREAM bids (id BIGINT, note STRING, at TIMESTAMP, WATERMARK FOR at AS at)"
        f" WITH (connector = 'folder', path = '{source}', settle = '0 seconds', poll = '10 milliseconds');"
    )
    refused = 0
    for number, pages in enumerate(PAGES):
        good = json.dumps({"id": number, "note": "x" * 500, "at": "2026-01-01T12:00:00Z"})
        (source / f"{number}.jsonl").write_text(f'{good}\n{{"id": "poison"}}\n')
        ballast.leave(pages)
        try:
            with hw.open(project) as shop:
                shop.take_in()
        except HeadwaterError as full:
            assert full.transient, full
            refused += 1
    assert refused
    ballast.let_go()
    with hw.open(project) as shop:
        shop.take_in()
        assert sorted(shop.read("bids")["id"].to_pylist()) == [*PAGES]
        assert shop.dead("bids").num_rows == len(PAGES)
        assert not [hurt for log in shop.integrity.scrub() for hurt in log.hurt]


def test_the_place_of_an_outlet_is_the_one_before_or_the_one_behind(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    storage = open_storage(str(disk.folder / "places"))
    holding, last, refused = Holding("hook", storage), None, 0
    holding.take()
    for batch, pages in enumerate((0, 1, 0, 2, 0, 1), 1):
        ballast.leave(pages)
        try:
            holding.keep(Place(1, batch))
            last = Place(1, batch)
        except LogUnavailable as full:
            assert full.transient
            refused += 1
        holding.check()
        assert names_in(disk.folder / "places") == {"hook.json"}
    assert refused and last is not None
    ballast.let_go()
    assert Holding("hook", storage).take() == last


def test_a_record_is_the_one_before_or_the_one_behind(disk: Disk, ballast: Ballast) -> None:  # noqa: F811
    file, known = disk.folder / "headwater.columns.json", ""
    put(file, known)
    for number, pages in enumerate((0, 1, 2, 0, 3), 1):
        ballast.leave(pages)
        try:
            put(file, f"{number}" * 9_000)
            known = f"{number}" * 9_000
        except HeadwaterError as full:
            assert isinstance(full, FolderUnavailable)
        assert file.read_text() == known
        assert names_in(disk.folder) == {"headwater.columns.json", "ballast"}
    assert known, "one could be written"
