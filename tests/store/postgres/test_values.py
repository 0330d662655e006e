"""Every value that PostgreSQL can hold comes back as it went in; what it can't hold is refused before it is written."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import BatchRefused
from headwater.model import INSTANT, Column, Emit, Variant
from headwater.store import Batch, Target
from headwater.store.postgres import PostgresStore
from headwater.store.postgres.arrays import can_be_array
from headwater.store.postgres.values import codec_of
from headwater.testing.conformance.targets import position
from tests.servers.postgres import PostgresServer
from tests.store.strategies import NUMBERED, arrays, identical, types

YEAR = 31_556_952_000_000
NUMBERS = count(1)


def target_of(*kinds: pa.DataType) -> Target:
    columns = tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds))
    return Target("v", next(NUMBERS), columns, (), Emit.CHANGES)


def applied(store: PostgresStore, target: Target, columns: list[pa.Array]) -> None:
    rows = pa.Table.from_arrays(columns, schema=target.schema)
    store.apply(target, store.open(target, "plan"), Batch(rows, rows.slice(0, 0).select([]), position(0)))


def can_be_held(value: Any, kind: pa.DataType, inside: bool = False) -> bool:
    """Whether PostgreSQL has a place for a value; `inside` another value."""
    if value is None:
        return True
    if isinstance(kind, Variant) or pa.types.is_struct(kind):
        fields = list(kind.storage_type if isinstance(kind, Variant) else kind)
        return all(can_be_held(value[field.name], field.type, True) for field in fields)
    if pa.types.is_list(kind):
        within = inside or not can_be_array(kind)
        return all(can_be_held(item, kind.value_type, within) for item in value)
    if pa.types.is_map(kind):
        return all(
            can_be_held(key, kind.key_type, True) and can_be_held(item, kind.item_type, True) for key, item in value
        )
    if inside and isinstance(value, float):
        return math.copysign(1, value) > 0 or value != 0  # JSON's numbers have no −0.0
    if kind == pa.month_day_nano_interval() and not inside:
        return value[2] % 1000 == 0
    return not (isinstance(value, str) and "\0" in value)


def all_held(column: pa.Array) -> bool:
    if column.type in NUMBERED:
        number = NUMBERED[column.type][0]
        values = [value for value in column.cast(number).to_pylist() if value is not None]
        if column.type == pa.date32():
            return all(-2_400_000 < value < 2_145_000_000 for value in values)
        return column.type in (pa.time64("us"), pa.duration("us")) or all(
            -6_600 * YEAR < value < 292_000 * YEAR for value in values
        )
    return all(can_be_held(value, column.type) for value in column.to_pylist())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kinds=st.lists(types(), min_size=1, max_size=4), size=st.integers(1, 6))
def test_every_value_of_every_type_comes_back_to_the_bit(
    store: PostgresStore, data: st.DataObject, kinds: list[Any], size: int
) -> None:
    columns = [data.draw(arrays(kind, size)) for kind in kinds]
    target = target_of(*kinds)
    try:
        applied(store, target, columns)
    except BatchRefused:
        assert not all(map(all_held, columns))
        return
    read = store.read("v", target.version)
    store.promote("v", target.version)
    asked = store.query("SELECT * FROM v")  # few rows of one batch: they come as they were written
    changed = [found["after"].combine_chunks().flatten() for found in store.changes("v", target.version)]
    assert read.schema == target.schema
    for place, column in enumerate(columns):
        if all_held(column):
            assert identical(read.column(place).combine_chunks(), column)
            assert identical(changed[0][place], column)
            assert identical(asked.column(place).combine_chunks(), column)


def test_texts_that_look_like_something_else_come_back(store: PostgresStore) -> None:
    texts = [
        "",
        "NULL",
        "\\N",
        "\\.",
        'a "b"',
        "a,b",
        "line\nline",
        "\r\n",
        "\n\\.\n",
        " ",
        "\\",
        "'",
        "%s",
        "🌊",
        None,
    ]
    for columns in ([pa.array(texts)], [pa.array(texts), pa.array(texts[::-1])]):
        target = target_of(*(column.type for column in columns))
        applied(store, target, columns)
        assert store.read("v", target.version).column(0).to_pylist() == texts


def test_a_client_finds_values_of_postgresqls_own_types(store: PostgresStore, postgres_server: PostgresServer) -> None:
    kinds = [pa.decimal128(22, 2), INSTANT, pa.struct([("a", pa.int32())]), pa.list_(pa.string()), pa.float32()]
    rows: list[list[Any]] = [[Decimal("12345678901234567890.50")], [0], [{"a": 1}], [["x", None]], [1.5]]
    target = target_of(*kinds)
    applied(store, target, [pa.array(values, kind) for values, kind in zip(rows, kinds, strict=True)])
    store.promote("v", target.version)
    found = store.query(
        "SELECT pg_typeof(c0)::text AS t0, pg_typeof(c1)::text AS t1, c2 -> 'a' AS a, c3[1] AS x, c0 * 2 AS twice, "
        "cardinality(c3) AS size, c4 + 1 AS more, c1 + interval '1 day' AS next FROM v"
    ).to_pylist()
    assert found[0]["t0"] == "numeric" and found[0]["t1"] == "timestamp with time zone"
    assert (found[0]["a"], found[0]["x"], found[0]["size"]) == ("1", "x", 2)
    assert found[0]["twice"] == Decimal("24691357802469135781.00")
    assert found[0]["more"] == 2.5
    assert found[0]["next"].isoformat() == "1970-01-02T00:00:00+00:00"


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (pa.string(), "a\0b", "invalid byte sequence"),
        (pa.month_day_nano_interval(), (1, 0, 1), "can't hold one of its values"),
        (pa.date32(), -3_000_000, "date out of range"),
    ],
    ids=["NUL", "nanoseconds", "before 4713 BC"],
)
def test_what_cannot_be_held_is_refused_and_nothing_is_written(
    store: PostgresStore, kind: pa.DataType, value: Any, told: str
) -> None:
    target = target_of(kind)
    column = pa.array([value], pa.int32()).cast(kind) if kind == pa.date32() else pa.array([value], kind)
    with pytest.raises(BatchRefused, match="can't take batch 0") as refused:
        applied(store, target, [column])
    assert told in str(refused.value)
    assert store.position("v", target.version) is None


def test_a_map_keeps_its_order_and_everything_else_can_be_compared() -> None:
    assert codec_of(pa.map_(pa.string(), pa.int32())).declared == "json"
    assert codec_of(pa.list_(pa.map_(pa.string(), pa.int32()))).declared == "json"
    assert codec_of(pa.list_(pa.list_(pa.float64()))).declared == "jsonb"


@pytest.mark.parametrize(
    ("kind", "values", "declared"),
    [
        (pa.string(), ["", "NULL", None, 'a "b"', "\\", "{a,b}", " x ", "a,b", "line\nline"], "text[]"),
        (pa.float64(), [-0.0, float("inf"), 1e-300, None], "double precision[]"),
        (pa.decimal128(22, 2), [Decimal("12345678901234567890.50"), None], "numeric(22,2)[]"),
        (INSTANT, [0, 1_767_225_600_000_001, None], "timestamp with time zone[]"),
        (pa.binary(), [b"", b"\x00\xff", None], "bytea[]"),
        (pa.bool_(), [True, False, None], "boolean[]"),
    ],
)
def test_an_array_of_plain_values_is_an_array_there(
    store: PostgresStore, kind: pa.DataType, values: list[Any], declared: str
) -> None:
    column = pa.array([values, None, [], [None]], pa.list_(kind))
    target = target_of(column.type)
    assert codec_of(column.type).declared == declared
    applied(store, target, [column])
    assert identical(store.read("v", target.version).column(0).combine_chunks(), column)
