"""Delta tables as other tools see them, and what is done about what other tools do to them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headwater.errors import ArgumentRefused, Fenced, PositionRefused, StoreDamaged, StoreUnavailable
from headwater.log import open_storage
from headwater.model import Store as Declared
from headwater.store import Batch, open_store
from headwater.store.delta import DeltaStore, upkeep
from headwater.testing import Wall
from headwater.testing.conformance.targets import ADDED, FINAL, HIDDEN, SPEND, batch, position, rows_of
from headwater.testing.crash import Crashed, Fuse, doomed
from tests.servers.s3 import S3Server

DAY = timedelta(days=1)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def store(tmp_path: Path, wall: Wall) -> Iterator[DeltaStore]:
    with closing(opened(tmp_path, wall)) as found:
        yield found


def opened(lake: Path, wall: Wall) -> DeltaStore:
    return DeltaStore("lake", lambda path: open_storage(str(lake / path)), changes_retention=DAY, now=wall)


def filled(store: DeltaStore) -> int:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1), (None, 1, 1)]))
    store.promote("spend", 1)
    store.apply(SPEND, epoch, batch(1, [("a", 1, 2), ("c", 1, 1)], deletes=[("b", 1)]))
    return epoch


def test_the_name_of_a_view_does_not_show_a_hidden_key(store: DeltaStore, tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{"n": 1, "_key_card": "a"}, {"n": 1, "_key_card": "b"}], HIDDEN.schema)
    store.apply(HIDDEN, store.open(HIDDEN, "plan"), Batch(rows, rows.select(["_key_card"]).slice(0, 0), position(0)))
    store.promote("counts", 1)
    assert DeltaTable(tmp_path / "counts").to_pyarrow_table().to_pylist() == [{"n": 1}, {"n": 1}]
    assert store.read("counts").num_rows == 2


def test_other_tools_read_the_view_under_its_own_name(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    wanted = {("a", "2.00"), ("c", "1.00"), (None, "1.00")}
    table = DeltaTable(tmp_path / "spend")
    spend = table.to_pyarrow_dataset()  # noqa: F841  # the query names it
    by_sql = duckdb.sql("SELECT card, CAST(spent AS VARCHAR) FROM spend WHERE minute = 1").fetchall()
    by_frame = polars.read_delta(str(tmp_path / "spend"))
    assert set(by_sql) == wanted
    assert {(card, str(spent)) for card, spent in by_frame.select("card", "spent").rows()} == wanted
    assert table.transaction_version("headwater") == 1


def test_an_earlier_state_is_an_earlier_version_of_the_table(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    before = DeltaTable(tmp_path / "spend" / "_v1", version=1).to_pyarrow_table()
    assert sorted(before["card"].to_pylist(), key=str) == [None, "a", "b"]


def test_the_changelog_is_deltas_change_data_feed(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    feed = pa.table(DeltaTable(tmp_path / "spend" / "_v1").load_cdf(starting_version=1).read_all()).to_pylist()
    found = {(row["_change_type"], row["card"], str(row["spent"]), row["_commit_version"]) for row in feed}
    assert found == {
        ("insert", "a", "1.00", 1),
        ("insert", "b", "1.00", 1),
        ("insert", None, "1.00", 1),
        ("update_preimage", "a", "1.00", 2),
        ("update_postimage", "a", "2.00", 2),
        ("insert", "c", "1.00", 2),
        ("delete", "b", "1.00", 2),
    }


def test_a_process_that_stops_before_the_name_has_followed_leaves_it_whole_and_the_next_brings_it_on(
    store: DeltaStore, tmp_path: Path, wall: Wall
) -> None:
    epoch, fuse = filled(store), Fuse()
    storage = DeltaStore("lake", lambda path: open_storage(str(tmp_path / path)), now=wall)
    storage._tables.root("spend").commit = doomed(storage._tables.root("spend"), fuse).commit  # type: ignore[method-assign]
    fuse.is_blown = True
    with pytest.raises(Crashed):
        storage.apply(SPEND, epoch, batch(2, [("a", 1, 3)]))
    behind = DeltaTable(tmp_path / "spend")
    assert behind.transaction_version("headwater") == 1
    assert behind.to_pyarrow_table().num_rows == 3
    store.open(SPEND, "plan")
    ahead = DeltaTable(tmp_path / "spend")
    assert ahead.transaction_version("headwater") == 2
    assert rows_of(store, None) == rows_of(store, 1) == {("a", 1, "3.00"), ("c", 1, "1.00"), (None, 1, "1.00")}


@pytest.mark.parametrize("place", ["_v1", ""])
def test_rows_that_another_tool_writes_are_refused_and_not_built_upon(
    store: DeltaStore, tmp_path: Path, place: str
) -> None:
    epoch = filled(store)
    rows = pa.Table.from_pylist([{"card": "x", "minute": 1, "spent": None}], SPEND.schema)
    write_deltalake(tmp_path / "spend" / place, rows, mode="append")
    with pytest.raises(StoreDamaged, match="are not as Headwater left them") as refused:
        store.apply(SPEND, epoch, batch(2, [("a", 1, 3)]))
    assert "headwater replay" in str(refused.value)
    with pytest.raises(StoreDamaged):
        store.open(SPEND, "plan")


def test_a_table_that_is_deleted_is_never_made_again_empty(store: DeltaStore, tmp_path: Path, wall: Wall) -> None:
    epoch = filled(store)
    shutil.rmtree(tmp_path / "spend" / "_v1")
    with pytest.raises(StoreDamaged):
        store.apply(SPEND, epoch, batch(2, [("a", 1, 3)]))
    with pytest.raises(StoreDamaged):
        opened(tmp_path, wall).open(SPEND, "plan")


def test_a_file_that_is_deleted_is_told_of_when_the_view_is_opened_and_read(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    for file in (tmp_path / "spend" / "_v1").glob("*.parquet"):
        file.unlink()
    with pytest.raises(StoreDamaged):
        store.open(SPEND, "plan")
    with pytest.raises(StoreDamaged):
        store.read("spend")


def test_another_tool_may_compact_a_version(store: DeltaStore, tmp_path: Path) -> None:
    epoch = filled(store)
    for number in range(2, 5):
        store.apply(SPEND, epoch, batch(number, [(f"card-{number}", number, 1)]))
    compacted = DeltaTable(tmp_path / "spend" / "_v1").optimize.compact()
    assert compacted["numFilesRemoved"] > 1
    assert store.apply(SPEND, epoch, batch(5, [("a", 1, 9)]))
    assert not store.apply(SPEND, epoch, batch(3, [("card-3", 3, 1)])), "a batch from before is still known"
    wanted = {("a", 1, "9.00"), ("c", 1, "1.00"), (None, 1, "1.00"), *((f"card-{n}", n, "1.00") for n in range(2, 5))}
    assert rows_of(store, None) == rows_of(store, 1) == wanted
    assert [found["batch"][0].as_py() for found in store.changes("spend", 1, since=2)] == [3, 4, 5]


def test_somebodys_own_table_is_left_alone(store: DeltaStore, tmp_path: Path) -> None:
    for _ in range(2):
        write_deltalake(tmp_path / "spend", pa.table({"mine": [1]}), mode="append")
    with pytest.raises(ArgumentRefused, match='already has a table "spend"'):
        store.open(SPEND, "plan")
    assert DeltaTable(tmp_path / "spend").to_pyarrow_table().num_rows == 2


def test_many_small_files_become_few_and_rows_stay_in_their_order(
    store: DeltaStore, tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SMALL_FILES", 8)
    epoch = store.open(ADDED, "plan")
    store.promote("spend", 1)
    for number in range(20):
        store.apply(ADDED, epoch, batch(number, [(f"{number:02}", 1, 1), ("x", 1, 1)], target=ADDED))
    wanted = [name for number in range(20) for name in (f"{number:02}", "x")]
    assert store.read("spend")["card"].to_pylist() == wanted
    assert len(DeltaTable(tmp_path / "spend").file_uris()) <= 8
    assert len(list(store.changes("spend", 1))) == 20, "the files of each batch are kept as long as its changes are"


def test_after_their_retention_changes_and_what_was_replaced_are_deleted(
    store: DeltaStore, tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_EVERY", 10)
    epoch = store.open(SPEND, "plan")
    store.promote("spend", 1)
    for number in range(30):
        store.apply(SPEND, epoch, batch(number, [("a", 1, number)]))
        wall.move(hours=2)
    folder = tmp_path / "spend" / "_v1"
    assert len(list((folder / "_delta_log").glob("*.json"))) < 30
    assert len(list(folder.glob("*.parquet"))) < 30
    again = opened(tmp_path, wall)
    assert rows_of(again, None) == {("a", 1, "29.00")} == rows_of(again, 1)
    assert again.position("spend", 1) == position(29)
    kept = [found["batch"][0].as_py() for found in again.changes("spend", 1)]
    assert kept == list(range(kept[0], 30)) and 10 < kept[0] < 25
    with pytest.raises(PositionRefused):
        list(again.changes("spend", 1, since=3))
    assert DeltaTable(folder).to_pyarrow_table()["spent"].to_pylist() == again.read("spend")["spent"].to_pylist()
    assert again.open(SPEND, "plan") == epoch + 1
    with pytest.raises(Fenced):
        store.apply(SPEND, epoch, batch(30, [("a", 1, 30)]))


def test_large_batches_are_several_files_and_a_change_writes_only_those_that_have_its_keys(
    store: DeltaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.store.delta.files.LARGEST", 100)
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [(f"{number * 7 % 1000:03}", 1, 0) for number in range(1000)]))
    before = set(DeltaTable(tmp_path / "spend" / "_v1").file_uris())
    store.apply(SPEND, epoch, batch(1, [("500", 1, 1), ("501", 1, 1)]))
    after = set(DeltaTable(tmp_path / "spend" / "_v1").file_uris())
    assert len(before) == len(after) == 10
    assert len(before - after) == 1
    found = {(card, spent) for card, _, spent in rows_of(store)}
    assert len(found) == 1000 and {("500", "1.00"), ("501", "1.00"), ("502", "0.00")} <= found


def test_a_version_with_other_columns_takes_the_name_in_one_step(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    other = replace(FINAL, version=2, columns=FINAL.columns[:2], key=("card",))
    store.apply(other, store.open(other, "plan"), batch(0, [("z", 7)], target=other))
    store.promote("spend", 2)
    assert DeltaTable(tmp_path / "spend").to_pyarrow_table().to_pylist() == [{"card": "z", "minute": 7}]
    store.promote("spend", 1)
    assert set(DeltaTable(tmp_path / "spend").to_pyarrow_table()["card"].to_pylist()) == {"a", "c", None}


def test_a_folder_that_cannot_be_written_is_told_of(tmp_path: Path, wall: Wall) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailable, match='the store "lake" could not be read') as told:
        opened(tmp_path / "lake", wall).open(SPEND, "plan")
    assert "Not a directory" in str(told.value)


def test_a_view_in_an_object_store_is_fenced_and_read_back(s3_server: S3Server, tmp_path: Path) -> None:
    options = tuple(s3_server.storage_options.items())
    declared = Declared(name="lake", url=f"delta+{s3_server.url}/{tmp_path.name}", options=options)
    zombie, heir = (open_store(declared, tmp_path) for _ in range(2))
    old = zombie.open(SPEND, "plan")
    zombie.apply(SPEND, old, batch(0, [("a", 1, 1), ("b", 1, 1)]))
    new = heir.open(SPEND, "plan")
    heir.promote("spend", 1)
    heir.apply(SPEND, new, batch(1, [("a", 1, 2)], deletes=[("b", 1)]))
    with pytest.raises(Fenced):
        zombie.apply(SPEND, old, batch(1, [("a", 1, 3)]))
    assert rows_of(zombie, None) == {("a", 1, "2.00")}
    assert [found.target.version for found in zombie.versions("spend")] == [1]
    table = DeltaTable(f"{s3_server.url}/{tmp_path.name}/spend", storage_options=s3_server.storage_options)
    assert table.to_pyarrow_table()["card"].to_pylist() == ["a"]


def test_another_tool_may_vacuum_and_compact_the_table_of_the_name(store: DeltaStore, tmp_path: Path) -> None:
    epoch = filled(store)
    for number in range(2, 5):
        store.apply(SPEND, epoch, batch(number, [(f"card-{number}", number, 1)]))
    table = DeltaTable(tmp_path / "spend")
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    wanted = {("a", 1, "2.00"), ("c", 1, "1.00"), (None, 1, "1.00"), *((f"card-{n}", n, "1.00") for n in range(2, 5))}
    assert rows_of(store, None) == rows_of(store, 1) == wanted
    store.apply(SPEND, epoch, batch(5, [("a", 1, 9)]))
    table.update_incremental()
    found = {(row["card"], row["minute"], str(row["spent"])) for row in table.to_pyarrow_table().to_pylist()}
    assert found == rows_of(store) == {*wanted - {("a", 1, "2.00")}, ("a", 1, "9.00")}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_split_merged_and_deleted_the_rows_are_those_of_the_batches(
    tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Small limits, so that everything happens often: files are split and merged, checkpoints written, what is old
    deleted, and the store is opened anew by other processes."""
    monkeypatch.setattr("headwater.store.delta.files.LARGEST", 6)
    monkeypatch.setattr(upkeep, "LARGEST", 6)
    monkeypatch.setattr(upkeep, "SMALL_FILES", 3)
    monkeypatch.setattr(upkeep, "CHECKPOINT_EVERY", 5)
    chance, rows = random.Random(seed), dict[tuple[str | None, int], int]()
    store = opened(tmp_path, wall)
    epoch = store.open(SPEND, "plan")
    store.promote("spend", 1)
    for number in range(25):
        keys = [(chance.choice((None, "a", "b", "c")), chance.randrange(8)) for _ in range(chance.randrange(12))]
        deleted = [key for key in keys if chance.random() < 0.3]
        upserts = {key: chance.randrange(3) for key in keys if key not in deleted}
        store.apply(SPEND, epoch, batch(number, [(*key, spent) for key, spent in upserts.items()], deleted))
        rows = {key: spent for key, spent in rows.items() if key not in deleted} | upserts
        wall.move(hours=chance.choice((0, 1, 12)))
        if chance.random() < 0.3:
            store = opened(tmp_path, wall)
            epoch = store.open(SPEND, "plan")
    wanted = {(*key, f"{spent}.00") for key, spent in rows.items()}
    found = DeltaTable(tmp_path / "spend").to_pyarrow_table().to_pylist()
    assert rows_of(store) == rows_of(store, None) == wanted
    assert {(row["card"], row["minute"], str(row["spent"])) for row in found} == wanted and len(found) == len(wanted)
