"""Live: a view kept up to date by Spark's own streaming operators.

Spark may run a micro-batch more than once, with the same number and the same commits. Whoever takes the changes applies
each number once, so that a retry, a crash or a second driver changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from headwater.engine.batch import as_arrow
from headwater.engine.checkpoint import Checkpoint
from headwater.engine.failure import failure_of
from headwater.engine.key import check_key, new_keys
from headwater.engine.next_batch import Meets, NextBatch, no_meeting
from headwater.engine.operators import lost_in
from headwater.engine.scan import live_scan
from headwater.engine.typed import check_frame, typed
from headwater.engine.view import reached_by
from headwater.log import TopicLog
from headwater.log.read import count_rows
from headwater.log.watch import Watch
from headwater.model import Emit
from headwater.operators.lowering.ledger import FIRST, LOGGED, Tally, metered, observed
from headwater.operators.lowering.rooms import Lowering
from headwater.operators.lowering.stamp import KEEP
from headwater.plan import PlannedView

_NONE: Mapping[str, str] = {}
_IN_FILES = "rocksdbSstFileSize"
_OUTPUT = {Emit.FINAL: "append", Emit.CHANGES: "update"}


@dataclass(frozen=True)
class Effort:
    """When a batch began, and the bytes, in memory and in files, that were kept for it by the one before."""

    began_at: datetime
    state_bytes: int


@dataclass(frozen=True)
class Changes:
    """The changes of one micro-batch: rows to write, keys that are gone, and where the topics were read up to.

    A batch whose ledger says that rows were `dropped` isn't what the view says: its rows must not be served.
    The rows of some keys are `new`, where that is told: no other row may have one of these.
    What is final at the watermark `settled` has been delivered with this batch or before it. Where rows are emitted
    once they are final, Spark does so by the watermark with which a batch begins.
    """

    number: int
    upserts: pa.Table
    deletes: pa.Table
    commits: Mapping[str, int]
    watermark: datetime
    settled: datetime
    ledger: Mapping[str, int]
    effort: Effort
    new: pa.Table | None = None


@dataclass(frozen=True)
class _Run:
    """One start of a query: its name, what it counts, and errors in Python, of which Spark passes on only the text."""

    spark: SparkSession
    name: str
    tally: Tally
    failures: list[Exception]
    started_at: datetime

    @cached_property
    def query(self) -> StreamingQuery:
        """The query itself, which is known by its name before it has told that it started."""
        return next(query for query in self.spark.streams.active if query.name == self.name)

    def ledger(self, logged: int) -> dict[str, int]:
        """The counts of the batch that was executed last; the log says that it has so many rows."""
        execution = self.query._jsq.streamingQuery().lastExecution()
        counts = observed(execution)
        lost = lost_in(self.spark._jvm, execution, counts)
        if FIRST not in counts:
            counts |= metered(execution, logged)
        return self.tally.ledger(counts) | {LOGGED: logged} | lost

    def effort(self, planned_at: datetime) -> Effort:
        """The cost of a batch; it may have been planned by a run before."""
        progress = self.query._jsq.lastProgress()  # as text: what PySpark makes of it costs a call for each figure
        operators = [] if progress is None else json.loads(progress.json())["stateOperators"]
        sizes = [operator["memoryUsedBytes"] + operator["customMetrics"].get(_IN_FILES, 0) for operator in operators]
        return Effort(max(planned_at, self.started_at), sum(sizes))


@dataclass(frozen=True)
class LiveView:
    """A view, the key that tells its rows apart, the logs it reads, and Spark's checkpoint.

    `deliver` is given each micro-batch's changes and returns when they are durable. `watch` is given the query once it
    runs: whoever has it may stop it, and then `catch_up` returns before the heads are reached, and `follow` returns.
    """

    planned: PlannedView
    key: tuple[str, ...]
    logs: Mapping[str, TopicLog]
    checkpoint: Checkpoint
    deliver: Callable[[Changes], object]
    watch: Callable[[StreamingQuery], object]

    def catch_up(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        """Read the topics up to their heads, as they are now, and return when every change was delivered."""
        self._run(spark, options, None)

    def follow(self, spark: SparkSession, options: Mapping[str, str], watch: Watch, meets: Meets = no_meeting) -> None:
        """Read the topics as they grow, until the query is stopped; `watch` wakes it, and at meetings it stands."""
        self._run(spark, options, NextBatch(self.logs.values(), watch, meets))

    def _run(self, spark: SparkSession, options: Mapping[str, str], next_batch: NextBatch | None) -> None:
        run = _Run(spark, f"{self.planned.name} {uuid4()}", Tally(), [], datetime.now(UTC))
        ends = {"availableNow": True} if next_batch is None else {"processingTime": "0 seconds"}
        try:
            rows = self.frame(spark, options, run.tally, next_batch)
            check_frame(self.planned, rows)
            query = (
                rows.writeStream.outputMode(_OUTPUT[self.planned.emit])
                .queryName(run.name)
                .option("checkpointLocation", str(self.checkpoint.folder))
                .trigger(**ends)
                .foreachBatch(lambda rows, number: self._write(rows, number, run))
                .start()
            )
            self.watch(query)
            query.awaitTermination()
        except (PySparkException, Py4JError) as cause:
            raise failure_of(self.planned.name, run.failures[0] if run.failures else cause) from cause

    def frame(
        self,
        spark: SparkSession,
        options: Mapping[str, str] = _NONE,
        tally: Tally | None = None,
        next_batch: NextBatch | None = None,
    ) -> DataFrame:
        """The view's rows as a stream, counted by the tally; without a `next_batch` it ends at the heads of today."""
        pace = self.planned.physical.pace
        # one head for each topic: two scans of it must end at the same commit, whatever is appended meanwhile
        heads = {
            topic: {"last_commit": str(max(log.head, 0))} if next_batch is None else {}
            for topic, log in self.logs.items()
        }
        streaming = self.planned.physical.streaming
        assert streaming is not None
        scans = iter(
            live_scan(spark, log, scan, pace, streaming, name, {**head, **options}, next_batch)
            for name, scan in self.checkpoint.sources.items()
            for log, head in [(self.logs[scan.relation], heads[scan.relation])]
        )
        tally, bare = tally or Tally(), not streaming.barriers
        grace, physical = self.planned.view.grace, self.planned.physical
        lowering = Lowering(lambda _: next(scans), grace, live=True, tally=tally, bare=bare, physical=physical)
        return lowering.view(self.planned.root)

    def _write(self, rows: DataFrame, number: int, run: _Run) -> None:
        """Deliver one micro-batch."""
        names = [column.name for column in self.planned.columns]
        shown = rows.select(*(f"`{name}`" for name in [*names, *([KEEP] if KEEP in rows.columns else [])]))
        try:
            changed = as_arrow(shown)
            effort = run.effort(self.checkpoint.began_at(number))
            self.deliver(self._changes(changed, number, run.ledger(self._logged(number)), effort))
        except Exception as cause:
            run.failures.append(cause)
            raise

    def _changes(self, changed: pa.Table, number: int, ledger: Mapping[str, int], effort: Effort) -> Changes:
        """The changes: rows to write, and those that a HAVING no longer shows; a final row was never shown before."""
        kept = changed[KEEP] if KEEP in changed.column_names else None
        upserts = typed(self.planned, changed if kept is None else changed.filter(kept))
        check_key(self.planned, upserts)
        gone = kept is not None and self.planned.emit is Emit.CHANGES
        deletes = changed.filter(pc.invert(kept)) if gone else changed.slice(0, 0)
        commits = self.checkpoint.commits(number)
        begun = self.checkpoint.commits(number - 1) if self.planned.emit is Emit.FINAL else commits
        return Changes(
            number,
            upserts,
            typed(self.planned, deletes).select(list(self.key)),
            commits,
            reached_by(self.planned, self.logs, commits),
            reached_by(self.planned, self.logs, {**dict.fromkeys(commits, 0), **begun}),
            ledger,
            effort,
            new_keys(self.planned, upserts) if self._writes_once else None,
        )

    @property
    def _writes_once(self) -> bool:
        """Tells whether no row is written twice; groups whose changes are shown are told apart by their key."""
        return self.planned.emit is Emit.FINAL or self.planned.root.group_key is None

    def _logged(self, number: int) -> int:
        """The rows that the log has in the commits of a batch: the other side of what the batch counted."""
        before, after = self.checkpoint.offsets(number - 1), self.checkpoint.offsets(number)
        logs = {name: self.logs[scan.relation] for name, scan in self.checkpoint.sources.items()}
        return sum(count_rows(logs[name], before.get(name, 0) + 1, commit) for name, commit in after.items())
