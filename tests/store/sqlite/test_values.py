"""Every value comes back as it went in, and a person who opens the file can work with it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.model import INSTANT, Column, Emit
from headwater.store import Batch, Target
from headwater.store.plain import plain
from headwater.store.sqlite import SqliteStore
from headwater.store.sqlite.values import codec_of
from headwater.store.unfit import Unfit
from headwater.testing.conformance.targets import position
from tests.store.strategies import PLAIN, arrays, identical, types


def target_of(*kinds: pa.DataType, key: tuple[str, ...] = ()) -> Target:
    return Target("v", 1, tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds)), key, Emit.CHANGES)


def kept(folder: Path, target: Target, columns: list[pa.Array]) -> SqliteStore:
    """A store with these columns, promoted."""
    store = SqliteStore(folder / "views.db")
    rows = pa.Table.from_arrays(columns, schema=target.schema)
    store.apply(target, store.open(target, "plan"), Batch(rows, rows.slice(0, 0).select([]), position(0)))
    store.promote("v", 1)
    return store


@settings(max_examples=150)
@given(data=st.data(), kinds=st.lists(types(), min_size=1, max_size=3), count=st.integers(0, 6))
def test_every_value_of_every_type_comes_back_to_the_bit(data: st.DataObject, kinds: list[Any], count: int) -> None:
    columns = [data.draw(arrays(kind, count)) for kind in kinds]
    target = target_of(*kinds)
    with TemporaryDirectory() as folder, closing(kept(Path(folder), target, columns)) as store:
        read = store.read("v")
        asked = store.query("SELECT * FROM v__v1 ORDER BY _rowid_")
        changed = [found["after"].combine_chunks().flatten() for found in store.changes("v", 1)]
    assert read.schema == target.schema
    for place, column in enumerate(columns):
        assert identical(read.column(place).combine_chunks(), column)
        if count:
            assert identical(changed[0][place], column)
            assert identical(asked.column(place).combine_chunks(), column)


@settings(max_examples=300)
@given(data=st.data(), kind=types(), count=st.integers(0, 6))
def test_what_is_kept_is_shown_as_what_comes_back_would_be(data: st.DataObject, kind: Any, count: int) -> None:
    column, codec = data.draw(arrays(kind, count)), codec_of(kind)
    try:
        expected = json.dumps(plain(column))
    except (OverflowError, ValueError):  # Python has no instants of the years before 1 and after 9999
        with pytest.raises((OverflowError, ValueError)):
            codec.plain(codec.encode(column))
    else:
        assert json.dumps(list(codec.plain(codec.encode(column)))) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INSTANT, "yesterday"), (INSTANT, 7), (pa.date32(), "2026-1-1"), (pa.int64(), "7"), (pa.string(), 7),
        (pa.decimal128(10, 2), 0.125), (pa.decimal128(10, 2), "much"), (pa.binary(), 7), (pa.float64(), "much"),
    ],
)  # fmt: skip
def test_what_no_value_is_kept_as_is_not_shown(kind: pa.DataType, value: Any) -> None:
    with pytest.raises(Unfit):
        codec_of(kind).plain([value])


def test_what_sqlite_itself_would_change_comes_back(tmp_path: Path) -> None:
    doubles = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 0.1 + 0.2, 1e300, 5.0, None]
    long = ["99999999999999999.99", "-0.01", "12345678901234.50", "1234567890123456.78", "0.10"]
    columns = [
        pa.array(doubles),
        pa.array(doubles, pa.float32()),
        pa.array([Decimal(text) for text in [*long, *long]], pa.decimal128(22, 2)),
        pa.array(["007", "1e5", "NaN", "0x10", " 1 ", "", "1.50", "NULL", "a\0b", None]),
    ]
    with closing(kept(tmp_path, target_of(*(column.type for column in columns)), columns)) as store:
        for found, given in zip(store.read("v").columns, columns, strict=True):
            assert identical(found.combine_chunks(), given)


@pytest.mark.parametrize("kind", PLAIN, ids=str)
@settings(max_examples=60)
@given(data=st.data(), count=st.integers(1, 6))
def test_a_codec_gives_each_value_one_spelling(kind: pa.DataType, data: st.DataObject, count: int) -> None:
    codec, column = codec_of(kind), data.draw(arrays(kind, count))
    spelled = codec.encode(column)
    assert identical(codec.decode_strictly(spelled), column)
    assert [codec.encode(column.slice(place, 1))[0] for place in range(count)] == spelled


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.decimal128(12, 2), 0.1 + 0.2),
        (pa.decimal128(12, 2), 1.005),
        (pa.decimal128(12, 2), 1e11),
        (pa.decimal128(12, 2), "12.30"),
        (pa.decimal128(38, 20), 0.3333333333333333),
        (pa.decimal128(12, 2), "many"),
        (pa.int8(), 300),
        (pa.int64(), "1"),
        (pa.bool_(), 2),
        (pa.float32(), 0.1),
        (pa.date32(), "2026-01-01 00:00:00"),
        (INSTANT, "2026-01-01"),
        (INSTANT, 1767225600),
        (pa.list_(pa.int64()), "[1, 2]"),
        (pa.list_(pa.int64()), "not json"),
        (pa.string(), 1),
        (pa.string(), b"a"),
    ],
    ids=str,
)
def test_what_is_not_a_value_of_the_type_is_not_taken_for_one(kind: pa.DataType, value: Any) -> None:
    with pytest.raises(Unfit):
        codec_of(kind).decode_strictly([value])


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A plain client of a file with payments."""
    amounts = ["12.30", "-5.00", "100.00", "99999999999999999.99", "7.25", None]
    ratios = ["0.33333333333333333333", "0.5", "-0.66666666666666666667", "12345.678", "0.1", None]
    instants = [0, 1_767_225_600_000_000, 1_767_225_600_250_000, 1_767_225_600_250_125, 1_798_761_600_000_000, None]
    columns = [
        pa.array([None if text is None else Decimal(text) for text in amounts], pa.decimal128(22, 2)),
        pa.array([None if text is None else Decimal(text) for text in ratios], pa.decimal128(38, 20)),
        pa.array(instants, pa.int64()).cast(INSTANT),
        pa.array([1.5, float("nan"), float("-inf"), -0.0, 2.5, None]),
        pa.array([True, False, True, None, False, True]),
        pa.array([{"tags": ["x", "y"]}, None, None, None, None, None], pa.struct([("tags", pa.list_(pa.string()))])),
    ]
    names = ("amount", "ratio", "at", "x", "ok", "more")
    target = Target("v", 1, tuple(map(Column, names, (column.type for column in columns))), (), Emit.CHANGES)
    with closing(kept(tmp_path, target, columns)), closing(sqlite3.connect(tmp_path / "views.db")) as connection:
        yield connection


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT amount FROM v ORDER BY amount DESC LIMIT 3", [1e17, 100.0, 12.3]),
        ("SELECT ratio FROM v WHERE ratio IS NOT NULL ORDER BY ratio", [-2 / 3, 0.1, 1 / 3, 0.5, 12345.678]),
        ("SELECT sum(amount) FROM v WHERE amount < 1000", [114.55]),
        ("SELECT count(*) FROM v WHERE amount > 7", [4]),
        ("SELECT max(ratio) FROM v", [12345.678]),
        (
            "SELECT at FROM v WHERE at > '2026-01-01' ORDER BY at LIMIT 2",
            ["2026-01-01 00:00:00", "2026-01-01 00:00:00.250"],
        ),
        ("SELECT at FROM v WHERE at = '2026-01-01 00:00:00'", ["2026-01-01 00:00:00"]),
        ("SELECT max(at) FROM v", ["2027-01-01 00:00:00"]),
        ("SELECT at FROM v WHERE at < '2026-01-01'", ["1970-01-01 00:00:00"]),
        ("SELECT strftime('%Y', at) FROM v WHERE at IS NOT NULL ORDER BY at DESC LIMIT 1", ["2027"]),
        ("SELECT date(at, '+1 day') FROM v WHERE at = datetime('2026-01-01')", ["2026-01-02"]),
        ("SELECT x FROM v WHERE x IS NOT NULL ORDER BY x", [float("-inf"), -0.0, 1.5, 2.5, "NaN"]),
        ("SELECT count(*) FROM v WHERE ok", [3]),
        ("SELECT count(*) FROM v WHERE NOT ok", [2]),
        ("SELECT json_extract(more, '$.tags[1]') FROM v WHERE more IS NOT NULL", ["y"]),
    ],
)
def test_a_person_with_any_client_sorts_compares_and_adds(
    shell: sqlite3.Connection, sql: str, expected: list[Any]
) -> None:
    found = [value for (value,) in shell.execute(sql)]
    assert list(map(type, found)) == list(map(type, expected))
    for value, wanted in zip(found, expected, strict=True):
        assert value == (pytest.approx(wanted, rel=1e-15) if isinstance(wanted, float) else wanted)


def test_keys_of_every_scalar_type_are_found_again(tmp_path: Path) -> None:
    """The second batch hits the rows of the first, also where the key is NULL."""
    values: dict[pa.DataType, list[Any]] = {
        pa.bool_(): [True, False],
        pa.int64(): [0, -(2**63), 2**63 - 1],
        pa.float64(): [0.0, float("nan"), float("inf"), 0.1],
        pa.decimal128(12, 2): [Decimal("0.00"), Decimal("12.30")],
        pa.decimal128(38, 20): [Decimal("0.33333333333333333333"), Decimal("0.5"), Decimal(10**17)],
        pa.string(): ["", "0", "a\0b", "007"],
        pa.binary(): [b"", b"0", b"\0"],
        pa.date32(): [0, 20_000],
        INSTANT: [0, 1, 1_000, 1_000_000],
        pa.duration("us"): [0, 1, 2**62],
        pa.list_(pa.int64()): [[], [1, None]],
    }
    for number, (kind, found) in enumerate(values.items()):
        target = Target("v", number, (Column("k", kind), Column("n", pa.int64())), ("k",), Emit.CHANGES)
        keys = pa.array([*found, None], kind)
        store = SqliteStore(tmp_path / "views.db")
        epoch = store.open(target, "plan")
        for turn in range(2):
            rows = pa.Table.from_arrays([keys, pa.array([turn] * len(keys))], schema=target.schema)
            store.apply(target, epoch, Batch(rows, rows.slice(0, 0).select(["k"]), position(turn)))
        assert store.read("v", number)["n"].to_pylist() == [1] * len(keys), kind
        rows = pa.Table.from_arrays([keys], names=["k"])
        store.apply(target, epoch, Batch(target.schema.empty_table(), rows, position(2)))
        assert store.read("v", number).num_rows == 0, kind
        store.close()
