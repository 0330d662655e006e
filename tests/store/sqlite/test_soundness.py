"""A SQLite file that is not as it was left is refused, and put aside; a new one takes its place."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import StoreDamaged, UnknownVersion
from headwater.operate.mend import mend
from headwater.store.sqlite import SqliteStore
from headwater.store.sqlite.soundness import what_is_wrong
from headwater.testing.conformance.targets import SPEND, batch, rows_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "views.db")
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [(f"card-{number}", number, 1) for number in range(500)]))
    store.promote("spend", 1)
    store.close()
    return tmp_path / "views.db"


def rows(path: Path) -> list[str]:
    store = SqliteStore(path)
    try:
        return sorted(map(repr, rows_of(store)))
    finally:
        store.close()


def test_a_flipped_bit_gives_the_right_rows_or_a_refusal(path: Path) -> None:
    expected, before, rng = rows(path), path.read_bytes(), random.Random(1)
    places = [*range(100), *(rng.randrange(len(before)) for _ in range(200))]
    refused = 0
    for at in places:
        content = bytearray(before)
        content[at] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        try:
            assert rows(path) == expected, at
        except StoreDamaged as damaged:
            assert damaged.fields["path"] == str(path)
            refused += 1
        path.write_bytes(before)
    assert refused >= len(places) - 12, "but for the counters of the header, which hold no rows"


@pytest.mark.parametrize("kept", [0, 50, 5000])
def test_a_file_that_was_cut_is_refused(path: Path, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StoreDamaged if kept else UnknownVersion):
        rows(path)


def test_a_damaged_file_is_put_aside_and_a_new_one_takes_its_place(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    store = SqliteStore(path)
    with pytest.raises(StoreDamaged, match="it was left with"):
        store.read("spend")
    (aside,) = mend([store])
    assert aside.read_bytes() == content
    assert store.open(SPEND, "plan") == 1
    assert store.position("spend", 1) is None
    assert not mend([store])
    store.close()


def test_a_file_that_is_written_by_another_process_is_left_alone(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.apply(SPEND, store.open(SPEND, "plan"), batch(1, [("new", 1, 1)]))
        assert what_is_wrong(path) is None
        assert not mend([SqliteStore(path)])


def test_what_other_clients_may_do_is_no_damage(path: Path) -> None:
    expected = rows(path)
    for statement in ("VACUUM", "CREATE INDEX mine ON spend__v1 (spent)", "ANALYZE"):
        with closing(sqlite3.connect(path)) as client:
            client.execute(statement)
            client.commit()
        assert rows(path) == expected, statement


def test_after_a_kill_the_file_is_looked_through(path: Path) -> None:
    path.with_name("views.db.sum").unlink()
    assert what_is_wrong(path) is None
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    assert what_is_wrong(path) is not None
