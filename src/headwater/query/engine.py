"""DuckDB: a database in memory that reads nothing but the rows it is handed, within limits of time and memory.

It has no files, no network, no extensions and no settings that a statement could change; the texts that it is given are
ours alone. Each query has a connection of its own, which a timer interrupts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.errors import StatementRefused
from headwater.query.macros import MACROS
from headwater.query.refusal import refused
from headwater.query.spelling import name

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 16_384
_CLOSED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_OURS = "headwater: "
_BY_ZERO = "Division by zero"


@dataclass(frozen=True)
class Limits:
    """The limits of queries: their time, the bytes of an answer, and the memory that all of them have together."""

    time: timedelta = timedelta(seconds=30)
    answer_bytes: int = 64 * 2**20
    memory_bytes: int = 2**30


@dataclass(frozen=True)
class Relation:
    """The rows of a view under a name; `batches` gives them once. `again`: the statement reads them more than once."""

    name: str
    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    again: bool = False


class Collected:
    """The rows of an answer as they come, at most so many, of not more than so many bytes."""

    def __init__(self, schema: pa.Schema, limits: Limits, rows: int | None) -> None:
        self._schema = schema
        self._limits = limits
        self._left = rows
        self._bytes = 0
        self._parts: list[pa.Table] = []

    def add(self, part: pa.Table) -> bool:
        """Take rows; whether there are as many as are wanted."""
        wanted = part if self._left is None else part.slice(0, self._left)
        self._left = None if self._left is None else self._left - wanted.num_rows
        self._bytes += wanted.nbytes
        if self._bytes > self._limits.answer_bytes:
            raise refused(
                f"Its answer has more than {self._limits.answer_bytes / 2**20:,.0f} MB.",
                "Ask for fewer rows or columns, or for sums of them.",
            )
        self._parts.append(wanted)
        return self._left == 0

    def table(self) -> pa.Table:
        """The rows."""
        return pa.concat_tables(self._parts) if self._parts else self._schema.empty_table()


class Engine:
    """A DuckDB of one's own, opened when the first query comes."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  # it is frozen
        self.limits = limits
        self._guard = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None

    def answer(self, sql: str, relations: Sequence[Relation], rows: int | None) -> pa.Table:
        """The answer of DuckDB to a text of ours, at most so many rows."""
        import duckdb

        with self._connection() as connection, _deadline(connection, self.limits.time) as late:
            failures: list[BaseException] = []
            try:
                for relation in relations:
                    self._hand_over(connection, relation, failures)
                return self._collected(connection.sql(sql), rows)
            except (duckdb.Error, pa.ArrowException, OSError) as cause:  # an answer that is under way fails as Arrow's
                if failures:
                    raise failures[0] from None
                raise self._meaning(str(cause), late) from None

    @contextmanager
    def _connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._guard:
            if self._database is None:
                self._database = _opened(self.limits)
            connection = self._database.cursor()
        try:
            yield connection
        finally:
            connection.close()

    def _hand_over(
        self, connection: duckdb.DuckDBPyConnection, relation: Relation, failures: list[BaseException]
    ) -> None:
        reader = pa.RecordBatchReader.from_batches(relation.schema, _noting(relation.batches, failures))
        if not relation.again:
            connection.register(relation.name, reader)
            return
        connection.register("handed_over", reader)
        connection.execute(f"CREATE TEMP TABLE {name(relation.name)} AS SELECT * FROM handed_over")  # noqa: S608
        connection.unregister("handed_over")

    def _collected(self, relation: duckdb.DuckDBPyRelation | None, rows: int | None) -> pa.Table:
        assert relation is not None
        reader = relation.to_arrow_reader(BATCH_ROWS)
        collected = Collected(reader.schema, self.limits, rows)
        for batch in reader:
            if collected.add(pa.Table.from_batches([batch])):
                break
        return collected.table()

    def _meaning(self, told: str, late: threading.Event) -> StatementRefused:
        if told.startswith("INTERRUPT") or late.is_set():
            seconds = self.limits.time.total_seconds()
            return refused(
                f"It took longer than {seconds:g} s.", "Ask for less: by key, by a span of time, by fewer rows."
            )
        if told.startswith("Out of Memory"):
            memory = f"{self.limits.memory_bytes / 2**20:,.0f} MB"
            return refused(f"It needs more memory than all queries have together, {memory}.", "Ask for less at a time.")
        return refused(_told(told), "Correct the statement, or what it computes with.")

    def close(self) -> None:
        """Let go of the database."""
        with self._guard:
            if self._database is not None:
                self._database.close()
                self._database = None


def _opened(limits: Limits) -> duckdb.DuckDBPyConnection:
    import duckdb

    memory = {"memory_limit": f"{limits.memory_bytes // 2**20}MiB"}
    database = duckdb.connect(":memory:", config={**_CLOSED, **memory})
    database.execute("SET TimeZone = 'UTC'")
    database.execute(MACROS)
    database.execute("SET lock_configuration = true")
    return database


@contextmanager
def _deadline(connection: duckdb.DuckDBPyConnection, time: timedelta) -> Iterator[threading.Event]:
    """Interrupt what a connection does after a time; the event says that it was."""
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(time.total_seconds(), interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _noting(batches: Callable[[], Iterator[pa.RecordBatch]], failures: list[BaseException]) -> Iterator[pa.RecordBatch]:
    """The batches; what goes wrong is noted, because DuckDB passes on its text alone."""
    try:
        yield from batches()
    except BaseException as failure:
        failures.append(failure)
        raise


def _told(text: str) -> str:
    """The message of DuckDB about a statement, without what it says of its own text."""
    first = text.split("\n")[0]
    kind, _, rest = first.partition(": ")
    told = rest if kind.endswith("Error") else first
    if _OURS in told or told.startswith(_BY_ZERO):
        told = f"it meets {told.partition(_OURS)[2] or 'a division by zero'}"
    return told if told.endswith((".", "!")) else f"{told}."
