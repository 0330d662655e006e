"""Live: a view kept up to date by Spark's own streaming operators.

Spark may run a micro-batch more than once, with the same number and the same commits. Whoever takes the changes applies
each number once, so that a retry, a crash or a second driver changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.engine.batch import as_arrow
from headwater.engine.ledger import Tally, observed
from headwater.engine.lower import KEEP, Lowering
from headwater.engine.scan import live_scan
from headwater.engine.view import output_schema, pace_of
from headwater.errors import HeadwaterError, ViewFailed
from headwater.log import TopicLog
from headwater.model import Emit
from headwater.plan import PlannedView
from headwater.plan.stages import Scan

_ERROR_CLASS = re.compile(r"\[(?!STREAM_FAILED|FOREACH_BATCH)[A-Z_.]+\]")
_OUTPUT = {Emit.FINAL: "append", Emit.CHANGES: "update"}


@dataclass(frozen=True)
class Changes:
    """What one micro-batch changed: rows to write, keys that are gone, and where the topics were read up to."""

    number: int
    upserts: pa.Table
    deletes: pa.Table
    commits: Mapping[str, int]
    watermark: datetime
    ledger: Mapping[str, int]


@dataclass(frozen=True)
class _Run:
    """One start of a query: its name, what it counts, and errors of ours, of which Spark passes on only the text."""

    spark: SparkSession
    name: str
    tally: Tally
    failures: list[HeadwaterError]

    def ledger(self) -> dict[str, int]:
        """What the batch that was executed last has counted."""
        query = next(found for found in self.spark.streams.active if found.name == self.name)
        return self.tally.ledger(observed(query._jsq.streamingQuery().lastExecution()))


@dataclass(frozen=True)
class LiveView:
    """A view, the key that tells its rows apart, the logs it reads, and the folder of Spark's checkpoint.

    `deliver` is given each micro-batch's changes and returns when they are durable.
    """

    planned: PlannedView
    key: tuple[str, ...]
    logs: Mapping[str, TopicLog]
    checkpoint: Path
    deliver: Callable[[Changes], object]

    def catch_up(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        """Read the topics up to their heads, as they are now, and return when every change was delivered."""
        failures: list[HeadwaterError] = []
        tally, name = Tally(), f"{self.planned.name} {uuid4()}"
        try:
            query = (
                self._rows(spark, options, tally)
                .writeStream.outputMode(_OUTPUT[self.planned.emit])
                .queryName(name)
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .foreachBatch(lambda rows, number: self._write(rows, number, _Run(spark, name, tally, failures)))
                .start()
            )
            query.awaitTermination()
        except PySparkException as cause:
            raise (failures[0] if failures else self._failure(cause)) from cause

    def _rows(self, spark: SparkSession, options: Mapping[str, str], tally: Tally) -> DataFrame:
        pace = pace_of(self.planned)
        scans = iter(
            live_scan(spark, self.logs[scan.relation], scan, pace, name, dict(options))
            for name, scan in self._sources().items()
        )
        lowering = Lowering(lambda _: next(scans), self.planned.view.grace, live=True, tally=tally)
        return lowering.view(self.planned.root)

    def _sources(self) -> dict[str, Scan]:
        """The scans by the names that Spark's checkpoint has for them; both belong to the version's plan."""
        return {f"s{number}": scan for number, scan in enumerate(self.planned.scans, 1)}

    def _write(self, rows: DataFrame, number: int, run: _Run) -> None:
        """Deliver one micro-batch."""
        names = [column.name for column in self.planned.columns]
        shown = rows.select(*(f"`{name}`" for name in [*names, *([KEEP] if KEEP in rows.columns else [])]))
        try:
            changed = as_arrow(shown, None)
            self.deliver(self._changes(changed, number, run.ledger()))
        except HeadwaterError as error:
            run.failures.append(error)
            raise
        except PySparkException as cause:
            run.failures.append(self._failure(cause))
            raise

    def _changes(self, changed: pa.Table, number: int, ledger: Mapping[str, int]) -> Changes:
        """What changed: rows to write, and those that a HAVING no longer shows; a final row was never shown before."""
        kept = changed[KEEP] if KEEP in changed.column_names else None
        upserts = changed if kept is None else changed.filter(kept)
        gone = kept is not None and self.planned.emit is Emit.CHANGES
        deletes = changed.filter(pc.invert(kept)) if gone else changed.slice(0, 0)
        schema, commits = output_schema(self.planned), self._commits(number)
        return Changes(
            number,
            upserts.select(schema.names).cast(schema),
            deletes.select(list(self.key)).cast(pa.schema([schema.field(name) for name in self.key])),
            commits,
            pace_of(self.planned).reached(self.logs, commits),
            ledger,
        )

    def _commits(self, number: int) -> dict[str, int]:
        """Where a batch ends, from Spark's offset log, which has it before the batch runs."""
        lines = (self.checkpoint / "offsets" / str(number)).read_text().splitlines()
        offsets = dict(line.split(":", 1) for line in lines if line.partition(":")[0] in self._sources())
        commits: dict[str, int] = {}
        for name, scan in self._sources().items():
            commit = json.loads(offsets[name])["commit"]
            commits[scan.relation] = min(commit, commits.get(scan.relation, commit))
        return commits

    def _failure(self, cause: PySparkException) -> ViewFailed:
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        reason = next((line for line in lines if _ERROR_CLASS.match(line)), lines[0] if lines else "")
        marked = next((number for number, line in enumerate(lines) if line.startswith("== SQL")), None)
        where = f" In: {lines[marked + 1]}." if marked is not None and marked + 1 < len(lines) else ""
        return ViewFailed(
            f'view "{self.planned.name}" stopped',
            detail=f"{reason}{where} Its rows are as they were after the last batch that succeeded.",
            hint="Mend the declaration or the data, then run `headwater catch-up` again.",
            view=self.planned.name,
        )


def last_finished(checkpoint: Path) -> int | None:
    """The newest batch that Spark has finished in a checkpoint; None if there is none."""
    folder = checkpoint / "commits"
    numbers = [int(found.name) for found in folder.iterdir() if found.name.isdigit()] if folder.is_dir() else []
    return max(numbers, default=None)
