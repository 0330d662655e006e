"""Reading a stream with Spark's own Parquet reader.

Spark's interfaces for a streaming source are implemented here, in Python, and called by the JVM for each micro-batch:
which commits come next, and which files hold them. The files themselves are read by the reader that Spark has for
Parquet, so that no row passes through Python. That needs files that Spark reaches by their path.

A batch's tick row is a file of one row in the folder that Spark gives a source beside its checkpoint. A file that
compaction made of commits of which only some belong to the batch is cut to them, into that folder too, and a file that
is past (`log.shape`) is copied there as it is read today.

What Spark calls is public (`org.apache.spark.sql.connector`); three classes that make it possible from Python are not
(`StreamingRelationV2`, `ParquetDataSourceV2`, `PythonStreamingSourceOffset`). `tests/engine/test_source.py` fails if a
Spark release changes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from headwater.engine.source import START, LogStream, Offset, Portion, arrow_schema, as_pattern, schema_ddl, tick_row
from headwater.log.datafile import DataFile
from headwater.log.read import read_rows, require_whole
from headwater.staged import staged

_CONNECTOR = "org.apache.spark.sql.connector"


def read_directly(spark: SparkSession, stream: LogStream, name: str) -> DataFrame:
    """The stream as a DataFrame, under a name that is unique in the query."""
    ensure_callback_server_started(spark.sparkContext._gateway)
    jvm = _Jvm(spark, schema_ddl(stream.log.topic, stream.columns))
    sql = spark._jvm.org.apache.spark.sql
    nothing = spark._jvm.scala.Option.empty()
    relation = sql.catalyst.streaming.StreamingRelationV2(
        nothing,
        "headwater",
        _Table(jvm, stream),
        jvm.options({}),
        sql.catalyst.types.DataTypeUtils.toAttributes(jvm.schema),
        nothing,
        nothing,
        nothing,
        sql.catalyst.streaming.UserProvided(name),
    )
    return DataFrame(sql.classic.Dataset.ofRows(spark._jsparkSession, relation), spark)


class _Jvm:
    """The classes of Spark, looked up once: by each part of a dotted name py4j searches every jar for a class."""

    def __init__(self, spark: SparkSession, ddl: str) -> None:
        self._gateway = spark.sparkContext._gateway
        root, sql = spark._jvm, spark._jvm.org.apache.spark.sql
        connector = sql.connector
        self._map, self._options = root.java.util.HashMap, sql.util.CaseInsensitiveStringMap
        self._path = root.org.apache.hadoop.fs.Path
        self._offset = sql.execution.datasources.v2.python.PythonStreamingSourceOffset
        self._parquet = sql.execution.datasources.v2.parquet.ParquetDataSourceV2
        self._transforms = self._none_of(connector.expressions.Transform)
        self.schema = sql.types.StructType.fromDDL(ddl)
        self.columns = self._table([]).columns()
        self.capabilities = root.java.util.Collections.singleton(connector.catalog.TableCapability.MICRO_BATCH_READ)
        self.columnar = getattr(connector.read, "Scan$ColumnarSupportMode").PARTITION_DEFINED
        self.unlimited = connector.read.streaming.ReadLimit.allAvailable()
        self.no_metrics = self._none_of(connector.metric.CustomMetric)
        self.no_task_metrics = self._none_of(connector.metric.CustomTaskMetric)

    def _none_of(self, kind: Any) -> Any:
        """An empty array."""
        return self._gateway.new_array(kind, 0)

    def options(self, values: dict[str, str]) -> Any:
        return self._options(self._mapping(values))

    def _mapping(self, values: dict[str, str]) -> Any:
        mapping = self._map()
        for name, value in values.items():
            mapping.put(name, value)
        return mapping

    def offset(self, offset: Offset) -> Any:
        return self._offset(json.dumps(offset))

    def files(self, paths: Sequence[str]) -> Any:
        """The files as Spark reads a batch of them: in parts, with a factory of readers."""
        return self._table(paths).newScanBuilder(self.options(_located(paths))).build().toBatch()

    def _table(self, paths: Sequence[str]) -> Any:
        return self._parquet().getTable(self.schema, self._transforms, self._mapping(_located(paths)))

    def path(self, uri: str) -> Path:
        """A place on this machine, from how Spark spells it."""
        return Path(self._path(uri).toUri().getPath())


def _located(paths: Sequence[str]) -> dict[str, str]:
    """Where a table of files is."""
    return {"paths": json.dumps([as_pattern(path) for path in paths])}


class _Called:
    """An object that the JVM holds and calls. Which interfaces it has is said in `Java`, to py4j."""

    def hashCode(self) -> int:  # noqa: N802
        return id(self) & 0x7FFFFFFF

    def equals(self, other: object) -> bool:
        return other is self

    def toString(self) -> str:  # noqa: N802
        return "headwater"


class _Table(_Called):
    def __init__(self, jvm: _Jvm, stream: LogStream) -> None:
        self._jvm = jvm
        self._stream = stream

    def name(self) -> str:
        return f"headwater {self._stream.log.topic.name}"

    def schema(self) -> Any:
        return self._jvm.schema

    def columns(self) -> Any:
        return self._jvm.columns

    def capabilities(self) -> Any:
        return self._jvm.capabilities

    def newScanBuilder(self, options: Any) -> _ScanBuilder:  # noqa: N802, ARG002
        return _ScanBuilder(self._jvm, self._stream)

    class Java:
        implements = (f"{_CONNECTOR}.catalog.SupportsRead",)


class _ScanBuilder(_Called):
    def __init__(self, jvm: _Jvm, stream: LogStream) -> None:
        self._scan = _Scan(jvm, stream)

    def build(self) -> _Scan:
        return self._scan

    class Java:
        implements = (f"{_CONNECTOR}.read.ScanBuilder",)


class _Scan(_Called):
    def __init__(self, jvm: _Jvm, stream: LogStream) -> None:
        self._jvm = jvm
        self._stream = stream

    def readSchema(self) -> Any:  # noqa: N802
        return self._jvm.schema

    def description(self) -> str:
        return f"headwater {self._stream.log.topic.name} ({', '.join(self._stream.columns)})"

    def toMicroBatchStream(self, folder: str) -> _Stream:  # noqa: N802
        return _Stream(self._jvm, self._stream, Scratch(self._stream, self._jvm.path(folder)))

    def columnarSupportMode(self) -> Any:  # noqa: N802
        return self._jvm.columnar

    def supportedCustomMetrics(self) -> Any:  # noqa: N802
        return self._jvm.no_metrics

    def reportDriverMetrics(self) -> Any:  # noqa: N802
        return self._jvm.no_task_metrics

    class Java:
        implements = (f"{_CONNECTOR}.read.Scan",)


class _Stream(_Called):
    """The stream as Spark drives it: where it begins, where the next batch ends, what the batch reads."""

    def __init__(self, jvm: _Jvm, stream: LogStream, scratch: Scratch) -> None:
        self._jvm = jvm
        self._stream = stream
        self._scratch = scratch
        self._factory: Any = None

    def initialOffset(self) -> Any:  # noqa: N802
        return self._jvm.offset(START)

    def deserializeOffset(self, text: str) -> Any:  # noqa: N802
        return self._jvm.offset(json.loads(text))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._stream.stop_at_head()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        return self._jvm.unlimited

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802, ARG002
        return self._jvm.offset(self._stream.latest(json.loads(start.json())))

    def reportLatestOffset(self) -> None:  # noqa: N802
        return None

    def planInputPartitions(self, start: Any, end: Any) -> Any:  # noqa: N802
        portion = self._stream.portion(json.loads(start.json()), json.loads(end.json()))
        return self._jvm.files(self._scratch.paths(portion)).planInputPartitions()

    def createReaderFactory(self) -> Any:  # noqa: N802
        """The same one for every batch: it depends on the columns, not on the files."""
        if self._factory is None:
            self._factory = self._jvm.files(()).createReaderFactory()
        return self._factory

    def commit(self, end: Any) -> None:
        """Nothing is remembered of a batch: the log has it."""

    def stop(self) -> None:
        self._scratch.clear()

    class Java:
        implements = (
            f"{_CONNECTOR}.read.streaming.MicroBatchStream",
            f"{_CONNECTOR}.read.streaming.SupportsTriggerAvailableNow",
        )


class Scratch:
    """The files that belong to a batch and not to the log. The next batch's take their place.

    A file's name says what is in it, so that writing one again changes nothing.
    """

    def __init__(self, stream: LogStream, folder: Path) -> None:
        self._stream = stream
        self._folder = folder

    def paths(self, portion: Portion) -> list[str]:
        """The files that together hold exactly the batch's rows and its tick row."""
        log = self._stream.log
        require_whole(log, [file for file in portion.files if portion.is_whole(file) and file.past is None])
        paths = [
            f"{log.storage.url}/{file.path}"
            if portion.is_whole(file) and file.past is None
            else str(self._cut(portion, file))
            for file in portion.files
        ]
        paths.append(str(self._tick(portion)))
        self.clear(keep=set(paths))
        return paths

    def clear(self, keep: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Remove all but some of the files."""
        for file in self._folder.glob("*.parquet"):
            if str(file) not in keep:
                file.unlink(missing_ok=True)

    def _tick(self, portion: Portion) -> Path:
        schema = arrow_schema(self._stream.log.topic, [])
        schema = pa.schema([*schema, *(pa.field(name, pa.timestamp("us", "UTC")) for name in portion.ticks)])
        row = pa.Table.from_batches([tick_row(schema, portion.ticks)])
        return self._written(f"tick-{portion.last}.parquet", lambda: row)

    def _cut(self, portion: Portion, file: DataFile) -> Path:
        name = f"{portion.first}-{portion.last}-{Path(file.path).name}"
        columns = self._stream.columns
        return self._written(name, lambda: read_rows(self._stream.log, [file], portion.first, portion.last, columns))

    def _written(self, name: str, rows: Callable[[], pa.Table]) -> Path:
        path = self._folder / name
        if not path.exists():
            with staged(path) as aside:
                pq.write_table(rows(), aside)
        return path
