"""The log as a stream: what a batch holds, and that Spark and Python workers read the same rows from it.

If a test of this module fails for `direct` alone, a release of Spark has changed what `engine.direct` rests on.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.engine.direct import read_directly
from headwater.engine.source import START, Limits, LogStream, Offset, check_options
from headwater.engine.stream import read_commits, read_stream
from headwater.engine.workers import read_batch_with_workers, read_with_workers, share
from headwater.errors import ArgumentRefused
from headwater.log import TopicLog, bulk, open_storage
from headwater.log.datafile import DataFile
from headwater.log.maintenance import compact
from headwater.log.read import read
from headwater.model import INSTANT, Bounded, Column, PythonBody, Stream, Upcast
from tests.servers.s3 import S3Server

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
SALES = Stream(
    name="sales",
    columns=(Column("shop", pa.string()), Column("note", pa.string()), Column("at", INSTANT, nullable=False)),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
)
COLUMNS = ["shop", "_commit", "_row", "_watermark", "_arrived_at"]
Reader = Literal["direct", "workers"]


def at(second: int) -> datetime:
    return NEW_YEAR + timedelta(seconds=second)


def sales(*seconds: int, note: str = "") -> pa.Table:
    return pa.table({"shop": [f"s{s}" for s in seconds], "note": [note] * len(seconds), "at": [at(s) for s in seconds]})


@pytest.fixture
def log(tmp_path: Path) -> TopicLog:
    """An empty log."""
    return TopicLog(SALES, open_storage(str(tmp_path / "sales")), now=lambda: at(1000))


@pytest.fixture
def filled(log: TopicLog) -> TopicLog:
    """Four commits of 1, 2, 3 and 4 rows."""
    for seconds in ((1,), (2, 3), (4, 5, 6), (7, 8, 9, 10)):
        log.append(sales(*seconds))
    return log


def stream(log: TopicLog, columns: Sequence[str] = COLUMNS, **limits: int) -> LogStream:
    return LogStream(log, columns, Limits(**limits))


def ends(planned: LogStream, start: Offset = START) -> list[tuple[int, int]]:
    """Where the batches end, up to where there is nothing more to deliver."""
    found = []
    while (end := planned.latest(start)) != start:
        found.append((end["commit"], end["tick"]))
        start = end
    return found


# What a batch holds


def test_without_limits_a_batch_goes_to_the_head_and_one_more_delivers_the_tick(filled: TopicLog) -> None:
    assert ends(stream(filled)) == [(4, 0), (4, 1)]


def test_a_batch_has_whole_commits_up_to_max_rows(filled: TopicLog) -> None:
    assert ends(stream(filled, max_rows=6)) == [(3, 0), (4, 0), (4, 1)]
    assert ends(stream(filled, max_rows=7)) == [(3, 0), (4, 0), (4, 1)]
    assert ends(stream(filled, max_rows=2)) == [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1)], (
        "but never less than one commit"
    )


def test_a_batch_has_up_to_max_commits(filled: TopicLog) -> None:
    assert ends(stream(filled, max_commits=3)) == [(3, 0), (4, 0), (4, 1)]


def test_a_batch_has_up_to_max_bytes_of_the_columns_that_are_read(log: TopicLog) -> None:
    for second in range(4):
        log.append(sales(second, note=random.Random(second).randbytes(50_000).hex()))
    size = min(file.size for file in log.snapshot().files.values())
    assert ends(stream(log, max_bytes=2 * size)) == [(4, 0), (4, 1)], "the notes are most of a file, and are not read"
    every = [*COLUMNS, "note"]
    assert ends(stream(log, every, max_bytes=5 * size // 2)) == [(2, 0), (4, 0), (4, 1)]
    assert ends(stream(log, every, max_bytes=1)) == [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1)]


def test_a_commit_of_several_files_is_never_cut(log: TopicLog) -> None:
    log.append(sales(1))
    bulk.load(log, (sales(second) for second in range(2, 8)))
    log.append(sales(8))
    assert len(log.snapshot().files) == 8
    assert ends(stream(log, max_rows=3)) == [(1, 0), (2, 0), (3, 0), (3, 1)]


def test_a_file_that_compaction_made_is_read_at_once_and_counts_as_far_as_it_is_new(filled: TopicLog) -> None:
    compact(filled)
    filled.append(sales(11, 12))  # commit 6: compaction was the fifth entry
    assert ends(stream(filled, max_rows=2)) == [(5, 0), (6, 0), (6, 1)]
    assert ends(stream(filled, max_rows=5), {"commit": 3, "tick": 0}) == [(6, 0), (6, 1)], "a quarter of ten, and two"


def test_ticks_of_the_log_are_commits_without_rows(filled: TopicLog) -> None:
    filled.tick(at(60))
    planned = stream(filled, max_commits=4)
    assert ends(planned) == [(4, 0), (5, 0), (5, 1)]
    assert planned.portion({"commit": 4, "tick": 0}, {"commit": 5, "tick": 0}).files == ()


def test_at_the_head_nothing_comes_until_the_log_goes_on_or_the_stream_starts_again(filled: TopicLog) -> None:
    planned = stream(filled)
    assert ends(planned) == [(4, 0), (4, 1)]
    assert ends(planned, {"commit": 4, "tick": 1}) == []
    filled.append(sales(11))
    assert ends(planned, {"commit": 4, "tick": 1}) == [(5, 0), (5, 1)]
    assert ends(stream(filled), {"commit": 5, "tick": 1}) == [(5, 2)], "what is due closes without new data"


def test_a_stream_that_stops_at_the_head_ignores_what_comes_later(filled: TopicLog) -> None:
    planned = stream(filled)
    planned.stop_at_head()
    filled.append(sales(11))
    assert ends(planned) == [(4, 0), (4, 1)]


def test_an_empty_log_gives_a_tick(log: TopicLog) -> None:
    assert ends(stream(log)) == [(0, 1)]


def test_a_batch_ends_with_the_watermark_and_the_arrival_after_its_last_commit(filled: TopicLog) -> None:
    portion = stream(filled).portion(START, {"commit": 2, "tick": 0})
    assert (portion.first, portion.last, len(portion.files)) == (1, 2, 2)
    seconds = {name: at_us / 1e6 - NEW_YEAR.timestamp() for name, at_us in portion.ticks.items()}
    assert seconds == {"_watermark": 3 - 5, "_arrived_at": 1000}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_row": "1"}, 'no option "max_row"'),
        ({"max_rows": "0"}, '"0" is no max_rows'),
        ({"max_bytes": "1MB"}, "1MB"),
    ],
)
def test_options_that_a_stream_does_not_have_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ArgumentRefused, match=words):
        check_options(options)


def test_files_are_shared_among_as_many_workers_as_there_are_cores() -> None:
    files = [DataFile(str(number), 1, rows, {}, {}) for number, rows in enumerate([50, 1, 1, 48, 30, 30, 40])]
    assert [[file.rows for file in group] for group in share(files, 2)] == [[50, 1, 1, 48], [30, 30, 40]]
    assert [len(group) for group in share(files[:2], 8)] == [1, 1]
    assert share([], 2) == []


# Reading


def opened(spark: SparkSession, log: TopicLog, reader: Reader, columns: Sequence[str], **options: str) -> DataFrame:
    if reader == "direct":
        return read_directly(spark, LogStream(log, columns, Limits.of(options)), "s1")
    return read_with_workers(spark, log, columns, "s1", options)


def delivered(frame: DataFrame, checkpoint: Path) -> list[list[dict[str, Any]]]:
    """The rows of each micro-batch up to the head, those of the log first, in its order."""
    batches: list[list[dict[str, Any]]] = []
    query = (
        frame.writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(lambda rows, _: batches.append(rows.toArrow().to_pylist()))
        .start()
    )
    query.awaitTermination()
    return [sorted(rows, key=lambda row: (row["_commit"] is None, row["_commit"], row["_row"])) for rows in batches]


def shops(batches: list[list[dict[str, Any]]]) -> list[list[str | None]]:
    return [[row["shop"] for row in rows] for rows in batches]


@pytest.fixture(params=["direct", "workers"])
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    yield request.param


def test_each_batch_ends_with_a_tick_row(spark: SparkSession, filled: TopicLog, reader: Reader, tmp_path: Path) -> None:
    batches = delivered(opened(spark, filled, reader, COLUMNS, max_rows="4"), tmp_path / "checkpoint")
    assert shops(batches) == [
        ["s1", "s2", "s3", None],
        ["s4", "s5", "s6", None],
        ["s7", "s8", "s9", "s10", None],
        [None],
    ]
    tick = dict.fromkeys(COLUMNS) | {"_arrived_at": at(1000)}
    assert [rows[-1] for rows in batches] == [tick | {"_watermark": at(second - 5)} for second in (3, 6, 10, 10)]


def test_one_reader_goes_on_where_the_other_stopped(spark: SparkSession, filled: TopicLog, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    assert shops(delivered(opened(spark, filled, "workers", COLUMNS), checkpoint))[-1] == [None]
    filled.append(sales(11))
    assert shops(delivered(opened(spark, filled, "direct", COLUMNS), checkpoint)) == [["s11", None], [None]]
    assert shops(delivered(opened(spark, filled, "workers", COLUMNS), checkpoint)) == [[None]]


def test_what_was_read_before_compaction_is_not_read_again(
    spark: SparkSession, filled: TopicLog, reader: Reader, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    delivered(opened(spark, filled, reader, COLUMNS, last_commit="2"), checkpoint)
    compact(filled)
    frame = opened(spark, filled, reader, COLUMNS, max_commits="1")
    assert shops(delivered(frame, checkpoint)) == [
        ["s4", "s5", "s6", None],
        ["s7", "s8", "s9", "s10", None],
        [None],
        [None],
    ]


def test_files_of_a_batch_are_gone_when_the_stream_has_stopped(
    spark: SparkSession, filled: TopicLog, tmp_path: Path
) -> None:
    compact(filled)
    delivered(opened(spark, filled, "direct", COLUMNS, max_commits="1"), tmp_path / "checkpoint")
    assert list((tmp_path / "checkpoint").rglob("*.parquet")) == []


def test_any_name_of_a_folder_will_do(spark: SparkSession, tmp_path: Path, reader: Reader) -> None:
    odd = tmp_path / "a b [1-9] {x} %20 ä=é *"
    log = TopicLog(SALES, open_storage(str(odd / "sales")))
    log.append(sales(1, 2))
    log.append(sales(3))
    compact(log)
    batches = delivered(opened(spark, log, reader, COLUMNS, max_commits="1"), odd / "checkpoint")
    assert shops(batches) == [["s1", "s2", None], ["s3", None], [None], [None]]
    rows = read_commits(spark, log, COLUMNS, log.snapshot().between(1, 3), 2, 3)
    assert [row["shop"] for row in rows.toArrow().to_pylist()] == ["s3"]


def test_an_older_file_lacks_a_column_that_was_added(spark: SparkSession, filled: TopicLog, reader: Reader) -> None:
    topic = Stream(
        name="sales", columns=(*SALES.columns, Column("city", pa.string())), time="at", watermark=SALES.watermark
    )
    log = TopicLog(topic, filled.storage)
    log.append(sales(11).append_column("city", pa.array(["Bonn"])))
    folder = Path(filled.storage.url).parent / reader
    batches = delivered(opened(spark, log, reader, ["city", "_commit", "_row"]), folder)
    assert [row["city"] for row in batches[0]] == [None] * 10 + ["Bonn", None]


def read_today(spark: SparkSession, log: TopicLog, reader: Reader, names: list[str], folder: Path) -> list[Any]:
    """The first of some columns as a stream has it, which is what a batch has."""
    batches = delivered(opened(spark, log, reader, names), folder)
    streamed = [row for batch in batches for row in batch if row["_commit"]]
    at_once = read_commits(spark, log, names, log.snapshot().between(1, 99), 1, 99).orderBy("_commit", "_row")
    assert at_once.toArrow().to_pylist() == streamed
    return [row[names[0]] for row in streamed]


def test_a_default_is_read_from_the_moment_it_is_declared(
    spark: SparkSession, filled: TopicLog, reader: Reader, tmp_path: Path
) -> None:
    city = Column("city", pa.string(), nullable=False, default="Bonn")
    log = TopicLog(replace(SALES, columns=(*SALES.columns, city)), filled.storage, now=filled.now)
    names = ["city", "_commit", "_row"]
    assert read_today(spark, log, reader, names, tmp_path / "before") == ["Bonn"] * 10
    log.append(sales(11).append_column("city", pa.array(["Ulm"])))
    assert read_today(spark, log, reader, names, tmp_path / "after") == ["Bonn"] * 10 + ["Ulm"]


def test_files_of_earlier_shapes_and_versions_are_read_as_they_are_declared_today(
    spark: SparkSession, filled: TopicLog, reader: Reader, tmp_path: Path
) -> None:
    def upcast(old: pa.Table) -> pa.Table:
        return old.append_column("size", pc.utf8_length(old["shop"]))

    body = PythonBody("sales", "upcast", "", upcast)
    size = Column("size", pa.int32(), nullable=False)
    second = replace(
        SALES,
        columns=(*SALES.columns, size),
        version=2,
        upcasts=(Upcast(topic="sales", from_version=1, columns=SALES.columns, body=body),),
    )
    log = TopicLog(second, filled.storage, now=filled.now)
    assert read_today(spark, log, reader, ["size", "_commit", "_row"], tmp_path / "pending") == [2] * 9 + [3]
    log.append(sales(11).append_column("size", pa.array([7], pa.int32())))
    columns = (Column("store", pa.string(), aliases=("shop",)), SALES.columns[2], replace(size, type=pa.int64()))
    log = TopicLog(replace(second, columns=columns), filled.storage, now=filled.now)
    log.append(pa.table({"store": ["s12"], "at": [at(12)], "size": [2**40]}))
    names = ["store", "size", "_commit", "_row"]
    expected = read(log, columns=names).to_pylist()
    assert [row["size"] for row in expected] == [2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 7, 2**40]
    batches = delivered(opened(spark, log, reader, names, max_commits="3"), tmp_path / "checkpoint")
    assert [row for batch in batches for row in batch if row["_commit"]] == expected
    at_once = read_commits(spark, log, names, log.snapshot().between(2, 99), 2, 99).orderBy("_commit", "_row")
    assert at_once.toArrow().to_pylist() == expected[1:]


VALUES: Mapping[str, tuple[pa.DataType, list[Any]]] = {
    "yes": (pa.bool_(), [True, None]),
    "tiny": (pa.int8(), [-128, 127]),
    "small": (pa.int16(), [-32768, 32767]),
    "middle": (pa.int32(), [-(2**31), 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "single": (pa.float32(), [0.5, float("inf")]),
    "double": (pa.float64(), [-0.0, None]),
    "cents": (pa.decimal128(7, 2), [Decimal("-99999.99"), Decimal("0.01")]),
    "money": (pa.decimal128(18, 4), [Decimal("-99999999999999.9999"), None]),
    "wide": (pa.decimal128(38, 2), [Decimal("9" * 36 + ".99"), None]),
    "text": (pa.string(), ["ä", ""]),
    "bytes": (pa.binary(), [b"\x00", None]),
    "day": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "instant": (INSTANT, [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]),
    "local": (pa.timestamp("us"), [datetime(1582, 10, 10), None]),
    "tags": (
        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
        [[{"a": 1, "b": ["x", None]}], []],
    ),
    "counts": (pa.map_(pa.string(), pa.decimal128(10, 1)), [[("k", Decimal("1.5"))], None]),
    "nested": (pa.struct([("m", pa.map_(pa.int32(), pa.date32()))]), [{"m": [(1, date(2026, 1, 1))]}, None]),
}


def test_every_type_of_column_arrives_as_it_is_in_the_log(spark: SparkSession, tmp_path: Path, reader: Reader) -> None:
    columns = tuple(Column(name, kind) for name, (kind, _) in VALUES.items())
    topic = Stream(name="things", columns=columns)
    log = TopicLog(topic, open_storage(str(tmp_path / "things")))
    log.append(pa.table({name: values for name, (_, values) in VALUES.items()}, schema=topic.schema))
    batches: list[pa.Table] = []
    frame = opened(spark, log, reader, [*VALUES, "_commit", "_row"])
    query = frame.writeStream.foreachBatch(lambda rows, _: batches.append(rows.toArrow())).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    found = pa.concat_tables(batches).sort_by("_row").slice(0, 2).select(list(VALUES)).combine_chunks()
    assert found.cast(topic.schema).to_pylist() == read(log, columns=list(VALUES)).to_pylist()


def test_a_log_in_an_object_store_is_read_by_workers(spark: SparkSession, s3_server: S3Server, tmp_path: Path) -> None:
    storage = open_storage(f"{s3_server.url}/{uuid.uuid4()}", s3_server.storage_options)
    log = TopicLog(SALES, storage)
    log.append(sales(1, 2))
    log.append(sales(3))
    frame = read_stream(spark, log, COLUMNS, "s1", {"max_commits": "1"})
    assert shops(delivered(frame, tmp_path / "checkpoint")) == [["s1", "s2", None], ["s3", None], [None]]
    rows = read_commits(spark, log, COLUMNS, log.snapshot().between(1, 2), 1, 2)
    assert sorted(row["shop"] for row in rows.collect()) == ["s1", "s2", "s3"]


def test_workers_read_a_range_of_commits_at_once(spark: SparkSession, filled: TopicLog) -> None:
    compact(filled)
    files = filled.snapshot().between(2, 3)
    for rows in (
        read_batch_with_workers(spark, filled, COLUMNS, files, 2, 3),
        read_commits(spark, filled, COLUMNS, files, 2, 3),
    ):
        assert sorted(row["shop"] for row in rows.collect()) == ["s2", "s3", "s4", "s5", "s6"]
    assert read_commits(spark, filled, COLUMNS, [], 9, 9).collect() == []


def test_offsets_are_written_as_commit_and_tick(
    spark: SparkSession, filled: TopicLog, reader: Reader, tmp_path: Path
) -> None:
    delivered(opened(spark, filled, reader, COLUMNS), tmp_path / "checkpoint")
    lines = (tmp_path / "checkpoint" / "offsets" / "1").read_text().splitlines()
    (offset,) = (line.removeprefix("s1:") for line in lines if line.startswith("s1:"))
    assert json.loads(offset) == {"commit": 4, "tick": 1}
