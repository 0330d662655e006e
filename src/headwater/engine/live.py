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
from headwater.engine.cut import Cut
from headwater.engine.failure import failure_of
from headwater.engine.ledger import FIRST, LOGGED, Tally, metered, observed
from headwater.engine.lower import KEEP, Lowering
from headwater.engine.operators import lost_in
from headwater.engine.scan import live_scan
from headwater.engine.view import output_schema, pace_of
from headwater.log import TopicLog
from headwater.log.read import count_rows
from headwater.log.watch import Watch
from headwater.model import Emit, Session
from headwater.plan import PlannedView
from headwater.plan.execution import is_stateless
from headwater.plan.stages import Aggregate, Assign, Late, Project, Scan, Stage

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
    """What one micro-batch changed: rows to write, keys that are gone, and where the topics were read up to.

    A batch whose ledger says that rows were `dropped` isn't what the view says: its rows must not be served.
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
        return next(found for found in self.spark.streams.active if found.name == self.name)

    def ledger(self, logged: int) -> dict[str, int]:
        """What the batch that was executed last has counted; the log says that it has so many rows."""
        execution = self.query._jsq.streamingQuery().lastExecution()
        counts = observed(execution)
        lost = lost_in(self.spark._jvm, execution, counts)
        if FIRST not in counts:
            counts |= metered(execution, logged)
        return self.tally.ledger(counts) | {LOGGED: logged} | lost

    def effort(self, planned_at: datetime) -> Effort:
        """What a batch costs; it may have been planned by a run before."""
        progress = self.query._jsq.lastProgress()  # as text: what PySpark makes of it costs a call for each figure
        operators = [] if progress is None else json.loads(progress.json())["stateOperators"]
        sizes = [found["memoryUsedBytes"] + found["customMetrics"].get(_IN_FILES, 0) for found in operators]
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

    def follow(self, spark: SparkSession, options: Mapping[str, str], watch: Watch) -> None:
        """Read the topics as they grow, until the query is stopped; `watch` wakes it."""
        self._run(spark, options, Cut(self.logs.values(), watch))

    def _run(self, spark: SparkSession, options: Mapping[str, str], cut: Cut | None) -> None:
        run = _Run(spark, f"{self.planned.name} {uuid4()}", Tally(), [], datetime.now(UTC))
        ends = {"availableNow": True} if cut is None else {"processingTime": "0 seconds"}
        try:
            query = (
                self.frame(spark, options, run.tally, cut)
                .writeStream.outputMode(_OUTPUT[self.planned.emit])
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
        cut: Cut | None = None,
    ) -> DataFrame:
        """The view's rows as a stream, counted by the tally; it ends at the heads of today if there is no cut."""
        pace = pace_of(self.planned)
        # one head for each topic: two scans of it must end at the same commit, whatever is appended meanwhile
        heads = {
            topic: {"last_commit": str(max(log.head, 0))} if cut is None else {} for topic, log in self.logs.items()
        }
        tracked, bare = _needs_watermark(self.planned), _is_bare(self.planned)
        stamped = tracked or any(isinstance(stage, Assign | Late) for stage in self.planned.stages)
        scans = iter(
            live_scan(spark, log, scan, pace, name, {**head, **options}, stamped=stamped, tracked=tracked, cut=cut)
            for name, scan in self.checkpoint.sources.items()
            for log, head in [(self.logs[scan.relation], heads[scan.relation])]
        )
        grace, tally = self.planned.view.grace, tally or Tally()
        return Lowering(lambda _: next(scans), grace, live=True, tally=tally, bare=bare).view(self.planned.root)

    def _write(self, rows: DataFrame, number: int, run: _Run) -> None:
        """Deliver one micro-batch."""
        names = [column.name for column in self.planned.columns]
        shown = rows.select(*(f"`{name}`" for name in [*names, *([KEEP] if KEEP in rows.columns else [])]))
        try:
            changed = as_arrow(shown, None)
            effort = run.effort(self.checkpoint.began_at(number))
            self.deliver(self._changes(changed, number, run.ledger(self._logged(number)), effort))
        except Exception as cause:
            run.failures.append(cause)
            raise

    def _changes(self, changed: pa.Table, number: int, ledger: Mapping[str, int], effort: Effort) -> Changes:
        """What changed: rows to write, and those that a HAVING no longer shows; a final row was never shown before."""
        kept = changed[KEEP] if KEEP in changed.column_names else None
        upserts = changed if kept is None else changed.filter(kept)
        gone = kept is not None and self.planned.emit is Emit.CHANGES
        deletes = changed.filter(pc.invert(kept)) if gone else changed.slice(0, 0)
        schema, commits = output_schema(self.planned), self.checkpoint.commits(number)
        pace = pace_of(self.planned)
        begun = self.checkpoint.commits(number - 1) if self.planned.emit is Emit.FINAL else commits
        return Changes(
            number,
            upserts.select(schema.names).cast(schema),
            deletes.select(list(self.key)).cast(pa.schema([schema.field(name) for name in self.key])),
            commits,
            pace.reached(self.logs, commits),
            pace.reached(self.logs, {**dict.fromkeys(commits, 0), **begun}),
            ledger,
            effort,
        )

    def _logged(self, number: int) -> int:
        """How many rows the log has in the commits of a batch: the other side of what the batch counted."""
        before, after = self.checkpoint.offsets(number - 1), self.checkpoint.offsets(number)
        logs = {name: self.logs[scan.relation] for name, scan in self.checkpoint.sources.items()}
        return sum(count_rows(logs[name], before.get(name, 0) + 1, commit) for name, commit in after.items())


def _needs_watermark(planned: PlannedView) -> bool:
    """Whether anything is kept between rows, be it only which events have been there."""
    return not is_stateless(planned.root) or any(scan.unique for scan in planned.scans)


def _is_bare(planned: PlannedView) -> bool:
    """Whether no barrier is needed behind the scan: there is no watermark, or nothing that could get below it.

    Admission can't: it reads the stamp. It also keeps tick rows out: they have a time of arrival, and no event time.
    Spark's sessions ask by themselves whether a row has a time.
    """
    if len(planned.scans) > 1:
        return False
    if not _needs_watermark(planned):
        return True
    windowed = any(isinstance(stage, Assign) for stage in planned.stages)  # else rows of equal times are counted
    return windowed and pace_of(planned).stamp == "_watermark" and all(_stays_up(stage) for stage in planned.stages)


def _stays_up(stage: Stage) -> bool:
    match stage:
        case Assign():
            return not isinstance(stage.window, Session)
        case _:
            return isinstance(stage, Scan | Project | Aggregate)
