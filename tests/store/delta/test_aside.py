"""Tables of a Delta store whose entries are damaged: refused, put aside for a replay, and made anew in their place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.errors import Fenced, StoreDamaged
from headwater.log import open_storage
from headwater.operate.mend import make_room
from headwater.store.delta import DeltaStore
from headwater.testing import Wall
from headwater.testing.conformance.targets import SPEND, batch, rows_of, version
from tests.servers.s3 import S3Server
from tests.store.delta.test_store import filled, opened

FIRST = f"{0:020d}.json"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeltaStore]:
    with closing(opened(tmp_path, Wall())) as found:
        yield found


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut_entry(view: Path) -> None:
    flip(view / "_v1" / "_delta_log" / FIRST)


def lost_entry(view: Path) -> None:
    (view / "_v1" / "_delta_log" / f"{1:020d}.json").unlink()


def names_entry(view: Path) -> None:
    flip(view / "_delta_log" / FIRST)


def lost_version(view: Path) -> None:
    shutil.rmtree(view / "_v1")


def rebuilt(store: DeltaStore) -> int:
    """Build the newest version there can be, as a replay does; returns its number."""
    number = max((known.target.version for known in store.versions("spend")), default=0) + 1
    target = version(number)
    assert store.apply(target, store.open(target, "plan"), batch(0, [("a", 1, 7)], target=target))
    store.promote("spend", number)
    return number


@pytest.mark.parametrize(
    ("damage", "number", "aside"),
    [(cut_entry, 1, {"_v1", "_delta_log", "_headwater"}), (lost_entry, 1, {"_v1", "_delta_log", "_headwater"}),
     (names_entry, 2, {"_delta_log", "_headwater"}), (lost_version, 1, {"_delta_log", "_headwater"})],
)  # fmt: skip
def test_what_is_damaged_is_put_aside_and_the_view_is_built_in_its_place(
    store: DeltaStore, tmp_path: Path, damage: Callable[[Path], None], number: int, aside: set[str]
) -> None:
    filled(store)
    reader, writer = opened(tmp_path, Wall()), opened(tmp_path, Wall())
    assert len(rows_of(reader, None)) == 3
    damage(tmp_path / "spend")
    store = opened(tmp_path, Wall())
    with pytest.raises(StoreDamaged, match="headwater replay spend"):
        store.open(SPEND, "plan")

    moved = make_room([store], "spend")
    assert {Path(place).name for place in moved} == aside
    assert all(Path(place).is_dir() for place in moved)
    assert make_room([store], "spend") == []
    assert rebuilt(store) == number
    assert rows_of(reader, None) == rows_of(store, None) == {("a", 1, "7.00")}
    assert DeltaTable(tmp_path / "spend").to_pyarrow_table().num_rows == 1
    assert store.versions("spend") == writer.versions("spend")


def test_who_held_a_version_that_is_put_aside_cannot_write_to_the_one_in_its_place(
    store: DeltaStore, tmp_path: Path
) -> None:
    sleeper = opened(tmp_path, Wall())
    epoch = filled(sleeper)
    cut_entry(tmp_path / "spend")
    store.make_room("spend")
    assert rebuilt(store) == 1
    with pytest.raises(Fenced):
        sleeper.apply(SPEND, epoch, batch(2, [("z", 1, 1)]))
    assert rows_of(store) == {("a", 1, "7.00")}


def test_what_is_sound_stays(store: DeltaStore, tmp_path: Path) -> None:
    filled(store)
    second = version(2)
    store.apply(second, store.open(second, "plan"), batch(0, [("a", 1, 5)], target=second))
    flip(tmp_path / "spend" / "_v2" / "_delta_log" / FIRST)
    assert [Path(place).name for place in store.make_room("spend")] == ["_v2"]
    assert [known.target.version for known in store.versions("spend")] == [1]
    assert len(rows_of(store, None)) == 3
    assert rebuilt(store) == 2


def test_in_an_object_store_it_is_moved_as_well(s3_server: S3Server, tmp_path: Path) -> None:
    lake, options = f"{s3_server.url}/{tmp_path.name}", s3_server.storage_options
    filled(DeltaStore("lake", lambda path: open_storage(f"{lake}/{path}", options)))
    folder = open_storage(f"{lake}/spend", options)
    folder.write(f"_v1/_delta_log/{FIRST}", b"{}")
    store = DeltaStore("lake", lambda path: open_storage(f"{lake}/{path}", options))
    with pytest.raises(StoreDamaged):
        store.versions("spend")
    assert len(store.make_room("spend")) == 3
    assert sum(name.startswith("_damaged-") for name, _ in folder.walk()) > 5
    assert rebuilt(store) == 1
    assert rows_of(store, None) == {("a", 1, "7.00")}
