"""Tables: what a changelog comes to, now and before, and what changed between two commits."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headwater.errors import PositionRefused
from headwater.log import TopicLog, folded, open_storage
from headwater.log import table as tables
from headwater.log.compaction import compact_table
from headwater.log.folded import FoldedSnapshots
from headwater.log.maintenance import compact
from headwater.log.table import TableLog, Version
from headwater.model import INSTANT, Bounded, Column, Table
from tests.log.conftest import START, Wall

PRICES = Table(
    name="prices",
    columns=(
        Column("shop", pa.string(), nullable=False),
        Column("day", pa.int32(), nullable=False),
        Column("price", pa.decimal128(8, 2)),
        Column("at", INSTANT, nullable=False),
    ),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
    primary_key=("shop", "day"),
)
NAMES = Table(
    name="names",
    columns=(Column("id", pa.int64(), nullable=False), Column("name", pa.string())),
    primary_key=("id",),
)
Change = tuple[str, int, str | None, int]
"""Shop, day, price (None: deleted), seconds after the start."""


def prices(*changes: Change) -> pa.Table:
    rows = [
        {"shop": shop, "day": day, "price": price, "at": START + timedelta(seconds=at)}
        for shop, day, price, at in changes
    ]
    schema = PRICES.schema.set(2, pa.field("price", pa.string()))
    typed = pa.Table.from_pylist(rows, schema).cast(PRICES.schema)
    return typed.append_column("_op", pa.array(["delete" if c[2] is None else "upsert" for c in changes], pa.string()))


def names(*changes: tuple[int, str | None]) -> pa.Table:
    rows = pa.Table.from_pylist([{"id": key, "name": name} for key, name in changes], NAMES.schema)
    return rows.append_column("_op", pa.array(["delete" if c[1] is None else "upsert" for c in changes], pa.string()))


@pytest.fixture
def named(tmp_path: Path, wall: Wall) -> TopicLog:
    return TopicLog(NAMES, open_storage(str(tmp_path / "names")), now=wall)


@pytest.fixture
def priced(tmp_path: Path, wall: Wall) -> TopicLog:
    return TopicLog(PRICES, open_storage(str(tmp_path / "prices")), now=wall)


def shown(rows: pa.Table) -> dict[Any, Any]:
    return {row["id"]: row["name"] for row in rows.to_pylist()}


def test_the_newest_change_of_a_key_counts_and_a_delete_takes_it_away(named: TopicLog) -> None:
    table = TableLog(named)
    assert table.rows().num_rows == 0
    named.append(names((1, "one"), (2, "two"), (1, "uno")))
    named.append(names((2, None), (3, "three"), (9, None)))
    assert shown(table.rows()) == {1: "uno", 3: "three"}
    assert shown(table.rows(commit=1)) == {1: "uno", 2: "two"}
    assert table.rows(columns=["name"]).to_pylist() == [{"name": "uno"}, {"name": "three"}]


def test_a_table_without_event_time_is_as_it_had_arrived(named: TopicLog, wall: Wall) -> None:
    table = TableLog(named)
    for name in ("a", "b", None, "d"):
        wall.move(seconds=10)
        named.append(names((1, name)))
    states = [shown(table.rows(Version(as_of=START + timedelta(seconds=at)))) for at in (9, 10, 19, 25, 30, 49)]
    assert states == [{}, {1: "a"}, {1: "a"}, {1: "b"}, {}, {1: "d"}]


def test_a_late_change_takes_its_place_by_event_time(priced: TopicLog, wall: Wall) -> None:
    table = TableLog(priced)
    priced.append(prices(("n", 1, "1.00", 10), ("n", 1, "3.00", 30), ("s", 1, "9.00", 10)))
    wall.move(seconds=60)
    priced.append(prices(("n", 1, "2.00", 20), ("s", 1, None, 40)))
    priced.append(prices(("s", 1, "8.00", 35)))

    def at(second: int, **known: int) -> dict[str, str]:
        instants = {name: START + timedelta(seconds=value) for name, value in known.items()}
        rows = table.rows(Version(as_of=START + timedelta(seconds=second), **instants)).to_pylist()
        return {row["shop"]: str(row["price"]) for row in rows}

    assert [at(9), at(10), at(25), at(35), at(40)] == [
        {}, {"n": "1.00", "s": "9.00"}, {"n": "2.00", "s": "9.00"}, {"n": "3.00", "s": "8.00"}, {"n": "3.00"},
    ]  # fmt: skip
    assert at(99, known_at=59) == {"n": "3.00", "s": "9.00"}, "what came later was not known then"
    assert [row["shop"] for row in table.rows().to_pylist()] == ["n"], "deleted at 40, whatever came behind"


def test_what_changed_between_commits_has_each_key_once_before_and_after(named: TopicLog) -> None:
    table = TableLog(named)
    named.append(names((1, "one"), (2, "two"), (3, "three")))
    named.append(names((1, "uno"), (2, None), (4, "four")))
    named.append(names((1, "eins"), (4, None), (7, None)))
    changed = table.changed(1, 3)
    assert (shown(changed.before), shown(changed.after)) == ({1: "one", 2: "two"}, {1: "eins"})
    assert shown(table.changed(2, 3).before) == {1: "uno", 4: "four"}
    assert table.changed(3, 3).after.num_rows == table.changed(3, 3).before.num_rows == 0
    assert shown(table.changed(0, 1).after) == {1: "one", 2: "two", 3: "three"}


def test_a_change_behind_a_newer_one_changes_nothing(priced: TopicLog) -> None:
    priced.append(prices(("n", 1, "3.00", 30), ("s", 1, None, 30)))
    priced.append(prices(("n", 1, "2.00", 20), ("s", 1, "1.00", 20)))
    changed = TableLog(priced).changed(1, 2)
    assert changed.before.num_rows == changed.after.num_rows == 0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots of few changes, in parts of few rows."""
    monkeypatch.setattr(tables, "TAIL_ROWS", 8)
    monkeypatch.setattr(folded, "PART_ROWS", 5)


def snapshot_files(log: TopicLog, suffix: str) -> list[Path]:
    return sorted((Path(log.storage.url) / folded.FOLDER).glob(f"*{suffix}"))


@pytest.mark.usefixtures("small")
def test_a_reader_starts_from_a_snapshot_and_the_changes_behind_it(named: TopicLog) -> None:
    table = TableLog(named)
    for commit in range(1, 41):
        named.append(
            names(*((key, None if key % 7 == commit % 7 else f"{key} {commit}") for key in range(commit % 3, 20, 3)))
        )
        expected = shown(pa.Table.from_pylist(_model(named), NAMES.schema))
        assert shown(table.rows()) == expected
    snapshot = FoldedSnapshots(NAMES, named.storage, named.identity).newest(40)
    assert snapshot is not None
    assert snapshot.commit > 30
    assert [part.rows for part in snapshot.parts] == [5, 5, 5, 5]
    assert [(part.least, part.greatest) for part in snapshot.parts] == [(0, 4), (5, 9), (10, 14), (15, 19)]
    assert len(snapshot_files(named, ".note")) == folded.KEPT
    assert len(snapshot_files(named, ".parquet")) == 4 * folded.KEPT


def _model(log: TopicLog) -> list[dict[str, Any]]:
    """The table as a dictionary has it."""
    from headwater.log.read import read

    state: dict[int, dict[str, Any]] = {}
    for row in read(log).to_pylist():
        if row["_op"] == "delete":
            state.pop(row["id"], None)
        else:
            state[row["id"]] = {"id": row["id"], "name": row["name"]}
    return list(state.values())


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".note", ".parquet"])
@pytest.mark.parametrize("harm", [_flip, Path.unlink, lambda file: file.write_bytes(b"")], ids=["bit", "gone", "empty"])
def test_a_snapshot_that_is_damaged_or_gone_is_made_again(
    named: TopicLog, suffix: str, harm: Callable[[Path], object]
) -> None:
    table = TableLog(named)
    for commit in range(10):
        named.append(names(*((key, f"{key} {commit}") for key in range(20))))
    expected = shown(table.rows())
    for file in snapshot_files(named, suffix):
        harm(file)
    assert shown(table.rows()) == expected == shown(pa.Table.from_pylist(_model(named), NAMES.schema))
    for file in snapshot_files(named, suffix):
        harm(file)
    assert shown(table.changed(9, 10).after) == expected
    assert shown(table.rows()) == expected


@pytest.mark.usefixtures("small")
def test_a_snapshot_of_another_declaration_is_not_used(named: TopicLog, wall: Wall) -> None:
    named.append(names(*((key, "x") for key in range(20))))
    TableLog(named).rows()
    wider = Table(name="names", columns=(*NAMES.columns, Column("note", pa.string())), primary_key=("id",))
    log = TopicLog(wider, named.storage, now=wall)
    assert TableLog(log).rows()["note"].null_count == 20


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(4))
def test_random_changelogs_are_as_duckdb_folds_them(priced: TopicLog, wall: Wall, seed: int) -> None:
    chance, table = random.Random(seed), TableLog(priced)
    everything = pa.table({name: pa.array([], kind) for name, kind in (("_commit", pa.int64()),)})
    for _ in range(25):
        wall.move(seconds=chance.randint(1, 20))
        changes = [
            (chance.choice("nsew"), chance.randint(1, 3), chance.choice([None, "1.00", "2.50"]), chance.randint(1, 60))
            for _ in range(chance.randint(1, 6))
        ]
        priced.append(prices(*changes))
        if chance.random() < 0.1:
            compact(priced)
        if chance.random() < 0.3:
            table.rows()
    from headwater.log.read import read

    everything = read(priced)  # noqa: F841  # DuckDB reads it by its name
    for _ in range(15):
        commit, second, arrived = chance.randint(0, priced.head), chance.randint(1, 60), chance.randint(1, 500)
        for version, condition in (
            (Version(), f"_commit <= {commit}"),
            (Version(START + timedelta(seconds=second)), f"_commit <= {commit} AND everything.at <= {_sql(second)}"),
            (
                Version(START + timedelta(seconds=second), START + timedelta(seconds=arrived)),
                f"_commit <= {commit} AND everything.at <= {_sql(second)} AND _arrived_at <= {_sql(arrived)}",
            ),
        ):
            order = "everything.at DESC, _commit DESC, _row DESC"
            newest = f"QUALIFY row_number() OVER (PARTITION BY shop, day ORDER BY {order}) = 1"
            folded_there = f"SELECT * FROM everything WHERE {condition} {newest}"
            expected = duckdb.sql(
                f"SELECT shop, day, price, everything.at FROM ({folded_there}) AS everything WHERE _op = 'upsert'"
            )
            assert _rows(table.rows(version, commit=commit)) == _rows(expected.to_arrow_table())
    for after in range(0, priced.head, 3):
        changed = table.changed(after, priced.head)
        before, now = _rows(table.rows(commit=after)), _rows(table.rows())
        assert _rows(changed.before) <= before
        assert (before - _rows(changed.before)) | _rows(changed.after) == now


@pytest.mark.parametrize("seed", range(3))
def test_a_compacted_table_is_what_it_was_from_then_on(priced: TopicLog, wall: Wall, seed: int) -> None:
    chance, table = random.Random(seed), TableLog(priced)
    for _ in range(30):
        wall.move(seconds=10)
        changes = [
            (chance.choice("ns"), chance.randint(1, 3), chance.choice([None, "1.00", "2.50"]), chance.randint(1, 300))
            for _ in range(chance.randint(1, 4))
        ]
        priced.append(prices(*changes))
        if chance.random() < 0.2:
            compact(priced)
    until = [150, 200]
    asked = [(at, known) for at in (200, 201, 250, 299, 400) for known in (None, 200, 205, 260)]
    versions = [
        Version(START + timedelta(seconds=at), None if known is None else START + timedelta(seconds=known))
        for at, known in asked
    ]
    before, rows = [_rows(table.rows(version)) for version in versions], priced.head
    was = _rows(table.rows())
    changed = table.changed(28, rows)
    counted = [compact_table(priced, START + timedelta(seconds=at)).rows for at in until]
    assert all(counted)
    again = TableLog(TopicLog(PRICES, open_storage(priced.storage.url), now=wall))
    assert [_rows(again.rows(version)) for version in versions] == before
    assert _rows(again.rows()) == was
    assert _rows(again.changed(28, rows).after) == _rows(changed.after)
    for refused in (lambda: again.rows(Version(START + timedelta(seconds=199))), lambda: again.changed(3, rows)):
        with pytest.raises(PositionRefused, match="as it was then"):
            refused()
    assert compact_table(priced, START + timedelta(seconds=180)).rows == 0, "it goes no further back"


def test_deletes_go_where_the_log_is_the_order_and_stay_where_time_is(named: TopicLog, priced: TopicLog) -> None:
    named.append(names((1, "one"), (2, "two")))
    named.append(names((1, None)))
    priced.append(prices(("n", 1, "1.00", 10)))
    priced.append(prices(("n", 1, None, 20)))
    assert [compact_table(log, START + timedelta(hours=1)).rows for log in (named, priced)] == [2, 1]
    assert shown(TableLog(named).rows()) == {2: "two"}
    priced.append(prices(("n", 1, "1.50", 15)))
    assert TableLog(priced).rows().num_rows == 0, "deleted at 20, whatever comes late"


def _sql(second: int) -> str:
    return f"TIMESTAMPTZ '{(START + timedelta(seconds=second)).isoformat()}'"


def _rows(rows: pa.Table) -> set[tuple[Any, ...]]:
    found = [tuple(row.values()) for row in rows.to_pylist()]
    assert len(set(found)) == len(found)
    return set(found)
