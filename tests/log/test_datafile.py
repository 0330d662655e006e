"""Data files: what is written comes back, and numbers are kept in the way that reads fastest."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.log import TopicLog, open_storage
from headwater.log.read import read
from headwater.model import INSTANT, Bounded, Column, Stream

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
VALUES = {
    "yes": (pa.bool_(), [True, None]),
    "tiny": (pa.int8(), [-128, 127]),
    "small": (pa.int16(), [-32768, 32767]),
    "middle": (pa.int32(), [-(2**31), 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "single": (pa.float32(), [0.5, float("inf")]),
    "double": (pa.float64(), [-0.0, None]),
    "cents": (pa.decimal128(12, 2), [Decimal("-9999999999.99"), Decimal("0.01")]),
    "longest": (pa.decimal128(18, 18), [Decimal("0.999999999999999999"), None]),
    "wide": (pa.decimal128(38, 2), [Decimal("9" * 36 + ".99"), None]),
    "text": (pa.string(), ["ä", ""]),
    "bytes": (pa.binary(), [b"\x00", None]),
    "day": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "instant": (INSTANT, [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]),
    "local": (pa.timestamp("us"), [datetime(1969, 7, 20), None]),
    "tags": (pa.list_(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])), [[{"a": 1, "b": ["x"]}], []]),
    "counts": (pa.map_(pa.string(), pa.decimal128(10, 1)), [[("k", Decimal("1.5"))], None]),
    "nested": (pa.struct([("m", pa.map_(pa.int32(), pa.date32()))]), [{"m": [(1, date(2026, 1, 1))]}, None]),
}


@pytest.fixture
def log(tmp_path: Path) -> TopicLog:
    columns = tuple(Column(name, kind) for name, (kind, _) in VALUES.items())
    topic = Stream(
        name="things",
        columns=(*columns, Column("at", INSTANT, nullable=False)),
        time="at",
        watermark=Bounded(timedelta(seconds=5)),
    )
    return TopicLog(topic, open_storage(str(tmp_path)))


def rows(log: TopicLog) -> pa.Table:
    given = {name: values for name, (_, values) in VALUES.items()} | {"at": [AT, AT]}
    return pa.table(given, schema=log.topic.schema)


def test_every_type_comes_back_as_it_was(log: TopicLog) -> None:
    log.append(rows(log))
    assert read(log, columns=log.topic.schema.names).equals(rows(log))


def test_numbers_and_instants_are_kept_as_differences_and_all_else_with_a_dictionary(log: TopicLog) -> None:
    log.append(rows(log))
    (file,) = log.snapshot().files.values()
    with log.storage.open(file.path, file.size) as opened, pq.ParquetFile(opened) as parquet:
        group = parquet.metadata.row_group(0)
        found = {group.column(n).path_in_schema: set(group.column(n).encodings) for n in range(group.num_columns)}
    as_differences = {name for name, encodings in found.items() if "DELTA_BINARY_PACKED" in encodings}
    with_dictionary = {name for name, encodings in found.items() if "RLE_DICTIONARY" in encodings}
    own = {"_commit", "_row", "_arrived_at", "_watermark"}
    numbers = {"tiny", "small", "middle", "long", "cents", "longest", "day", "instant", "local", "at"}
    assert as_differences == numbers | own
    assert with_dictionary == found.keys() - as_differences - {"yes"}
