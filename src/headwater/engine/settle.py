"""Settle: a view kept up to date by batch queries over slices of event time.

When the watermark moves from W0 to W1, the view's stages are executed over the rows that can still matter, and the rows
that became final in between are written: each once. Everything that was admitted up to the watermark less grace has
arrived, so that a slice is complete, and it doesn't matter where the log was cut into slices. With `emit = 'changes'`
the rows that are not final yet (the *open* part) are computed too, and the difference to those of the step before is
written.

A view's only state is where it is: the position in its store. The open part of the last step is kept in a file beside,
to compare with; if it is gone, it is computed again from the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.apply import check_key
from headwater.engine.batch import as_arrow
from headwater.engine.difference import difference
from headwater.engine.early import as_of, shown_at
from headwater.engine.failure import failure_of
from headwater.engine.join import FINAL
from headwater.engine.kept import KeptPanes, collected, given, keeps_panes
from headwater.engine.ledger import LOGGED, Tally, observed
from headwater.engine.live import Changes
from headwater.engine.lower import KEEP, Lowering
from headwater.engine.once import KeptWinners
from headwater.engine.panes import Needed
from headwater.engine.recent import FEW, Recent
from headwater.engine.scan import batch_scan, size_of, slice_scan
from headwater.engine.source import Limits, LogStream, check_options
from headwater.engine.stamp import NEW
from headwater.engine.view import output_schema, pace_of, reach_of, waits_of
from headwater.log import TopicLog
from headwater.log.read import count_rows
from headwater.log.watch import Watch
from headwater.model import Emit
from headwater.plan import PlannedView
from headwater.plan.stages import STATELESS, Scan

_OPEN = "__open"
_MARGIN = timedelta(seconds=1)
_REST = timedelta(milliseconds=100)
"""How long a view that follows waits at a time before it looks whether it shall end."""


@dataclass(frozen=True)
class Settled:
    """How far a view is settled: the number of its last step, the commits that it has read, the watermark there."""

    number: int
    commits: Mapping[str, int]
    watermark: datetime


@dataclass(frozen=True)
class SettleView:
    """A view, the key that tells its rows apart, the logs it reads, and a folder for its open part.

    `deliver` is given each step's changes and returns when they are durable. A step is not begun once `halted`.
    """

    planned: PlannedView
    key: tuple[str, ...]
    logs: Mapping[str, TopicLog]
    folder: Path
    deliver: Callable[[Changes], object]
    halted: Callable[[], bool] = lambda: False

    def follow(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None, watch: Watch) -> None:
        """Settle as the topics grow, until `halted`. After its steps the view rests for as long as they took.

        So it takes at most half of the time of one core, and what has come meanwhile is settled at once.
        """
        at, logs = begin, list(self.logs.values())
        while not self.halted():
            heads, began = watch.heads(logs), time.monotonic()
            at = self.catch_up(spark, options, at)
            rest_until = 2 * time.monotonic() - began
            while not self.halted() and not (watch.wait(heads, _REST) and time.monotonic() >= rest_until):
                time.sleep(max(0.0, min(rest_until - time.monotonic(), _REST.total_seconds())))

    def catch_up(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None) -> Settled | None:
        """Settle up to the heads of the topics, as they are now, in as few steps as the limits allow; tell how far."""
        check_options(options)
        streams = {name: LogStream(log, self._columns(name), Limits.of(options)) for name, log in self.logs.items()}
        for stream in streams.values():
            stream.stop_at_head()
        at, open_part = begin, None
        try:
            while not self.halted():
                commits = at.commits if at else dict.fromkeys(self.logs, 0)
                upto = {name: stream.latest({"commit": commits[name], "tick": 1}) for name, stream in streams.items()}
                ends = {name: offset["commit"] for name, offset in upto.items()}
                if at is not None and ends == dict(at.commits):
                    return at
                if open_part is None and at is not None and self.planned.emit is Emit.CHANGES and self.key:
                    open_part = self._open_part(spark, at)
                at, open_part = self._step(spark, at, ends, open_part)
        except (PySparkException, Py4JError) as cause:
            raise failure_of(self.planned.name, cause) from cause
        return at

    def _step(
        self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int], before: pa.Table | None
    ) -> tuple[Settled, pa.Table]:
        schema, number = output_schema(self.planned), begin.number + 1 if begin else 0
        rows, ledger = self._computed(spark, begin, upto)
        settled, still_open = rows.filter(pc.invert(rows[_OPEN])), rows.filter(rows[_OPEN])
        if self.planned.view.every is not None:
            still_open = self._early(spark, begin, upto, before)
        shown = pa.concat_tables([found.select(schema.names).cast(schema) for found in (settled, still_open)])
        check_key(self.planned, shown)
        if self.planned.emit is Emit.CHANGES and self.key:
            known = schema.empty_table() if before is None else before.select(schema.names).cast(schema)
            upserts, deletes = difference(known, shown, self.key)
            self._keep(number, still_open)
        else:
            upserts = settled.select(schema.names).cast(schema)
            deletes = schema.empty_table().select(list(self.key))
        reached = pace_of(self.planned).reached(self.logs, upto)
        counts = {**ledger, LOGGED: self._logged(begin, upto)}
        self.deliver(Changes(number, upserts, deletes, upto, reached, reached, counts))
        self._forget(number)
        return Settled(number, upto, reached), still_open

    def _computed(
        self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]
    ) -> tuple[pa.Table, dict[str, int]]:
        """The rows of a slice, and what became of every row that is new in it."""
        tally, stage = Tally(), keeps_panes(self.planned)
        if stage is None:
            frame = self._slice(spark, begin, upto, tally)
            return as_arrow(frame, None), tally.ledger(observed(frame._jdf.queryExecution()))
        kept, number = KeptPanes(stage, self.folder), begin.number + 1 if begin else 0
        before = kept.read(begin.number, begin.commits) if begin else None
        if begin and before is None:
            before = collected(self._lowering(spark, begin, begin.commits, None).gather(stage))
        frame = self._lowering(spark, begin, upto, tally, only_new=True).gather(stage)
        panes = kept.added(spark, number, before, collected(frame))
        ledger = tally.ledger(observed(frame._jdf.queryExecution()))
        kept.write(number, upto, panes, self._settled_at(upto))
        return as_arrow(self._slice(spark, begin, upto, None, given(spark, panes)), None), ledger

    def _early(
        self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int], before: pa.Table | None
    ) -> pa.Table:
        """The open part of a view that shows it at a cadence: it stays as it was until the next instant."""
        pace = pace_of(self.planned)
        reached = pace.reached(self.logs, upto)
        instant = shown_at(self.planned, reached)
        if begin is not None and before is not None and instant == shown_at(self.planned, begin.watermark):
            kept = before[FINAL]
            return before.filter(pc.greater(kept, pa.scalar(reached - pace.settles, kept.type)))
        rows = as_arrow(self._slice(spark, begin, upto, None, instant=instant), None)
        return rows.filter(rows[_OPEN])

    def _slice(
        self,
        spark: SparkSession,
        begin: Settled | None,
        upto: Mapping[str, int],
        tally: Tally | None,
        panes: DataFrame | None = None,
        instant: datetime | None = None,
    ) -> DataFrame:
        """The rows that are not yet final where the slice begins, when they are, and whether it ends later.

        They are as they were when the watermark reached an `instant`, if one is given. Where rows are written once they
        are final, the others are left out before they are computed; unless none can have become final: Spark would see
        that no row can be shown, and would not count any.
        """
        settled_at = begin.watermark - pace_of(self.planned).settles if begin else None
        until = self._settled_at(upto) if self.planned.emit is Emit.FINAL else None
        until = None if until and settled_at and until <= settled_at else until
        lowering = replace(self._lowering(spark, begin, upto, tally), needed=self._needed(settled_at, until, panes))
        rows = (lowering if instant is None else as_of(self.planned, lowering, instant)).view(self.planned.root)
        if KEEP in rows.columns:
            rows = rows.where(F.col(KEEP))
        shown = [F.col(f"`{column.name}`") for column in self.planned.columns]
        if FINAL not in rows.columns:  # computed from one row, it is final when it comes
            final = F.lit(self._settled_at(upto)).alias(FINAL)
            return rows.where(F.col(NEW)).select(*shown, final, F.lit(False).alias(_OPEN))
        if settled_at is not None:
            rows = rows.where(F.col(FINAL) > F.lit(settled_at))
        if until is not None:
            rows = rows.where(F.col(FINAL) <= F.lit(until))
        return rows.select(*shown, FINAL, (F.col(FINAL) > F.lit(self._settled_at(upto))).alias(_OPEN))

    def _lowering(
        self,
        spark: SparkSession,
        begin: Settled | None,
        upto: Mapping[str, int],
        tally: Tally | None,
        *,
        only_new: bool = False,
    ) -> Lowering:
        """How the stages are lowered over a slice, or over the commits alone that are new in it."""
        pace, is_sliced = pace_of(self.planned), self.planned.execution.kind == "settle"
        since = self._since(begin, reach_of(self.planned)) if is_sliced else None

        def scan(stage: Scan, since: datetime | None = since) -> DataFrame:
            log, last = self.logs[stage.relation], upto[stage.relation]
            after = begin.commits[stage.relation] if begin else 0
            if only_new:
                return batch_scan(spark, log, stage, pace, after + 1, last)
            return slice_scan(spark, log, stage, pace, after, last, since)

        lowering = Lowering(scan, self.planned.view.grace, False, True, self.planned.sight, tally)
        lowering = replace(lowering, retention=self.planned.retention, settled_at=self._settled_at(upto))
        if not is_sliced:
            return lowering
        lowering = replace(lowering, taken=lambda stage: self._taken(spark, stage, begin, upto))
        near = self._since(begin, waits_of(self.planned))
        if begin is None or near is None or not self._is_recent(upto, begin, near, since):
            return lowering
        recent = replace(lowering, scan=partial(scan, since=near), tally=None)
        return replace(
            lowering, recent=Recent(lambda stage: recent.entered(stage).frame, begin.watermark - pace.settles)
        )

    def _since(self, begin: Settled | None, reach: timedelta) -> datetime | None:
        """What a slice looks back to; None for all that there is."""
        if begin is None:
            return None
        return _before(begin.watermark - pace_of(self.planned).settles, reach, self.planned.view.every)

    def _is_recent(self, upto: Mapping[str, int], begin: Settled, near: datetime, since: datetime | None) -> bool:
        """Whether what is new or near is but a small part of all that a slice reads."""
        sizes = [0, 0]
        for scan in self.planned.scans:
            log, after, last = self.logs[scan.relation], begin.commits[scan.relation], upto[scan.relation]
            for place, found in enumerate((near, since)):
                sizes[place] += size_of(log, scan, pace_of(self.planned), after, last, found)
        return FEW * sizes[0] < sizes[1]

    def _taken(self, spark: SparkSession, stage: Scan, begin: Settled | None, upto: Mapping[str, int]) -> DataFrame:
        """The rows of a topic that are taken once, as far back as a slice reaches."""
        assert stage.within is not None
        kept = KeptWinners(stage.relation, stage.within, self.folder)
        after, last = begin.commits[stage.relation] if begin else 0, upto[stage.relation]
        found = kept.read(last)
        if found is None:
            before = kept.read(after)
            first = 0 if before is None else after + 1
            rows = batch_scan(spark, self.logs[stage.relation], stage, pace_of(self.planned), first, last)
            found = kept.found(spark, before, rows)
            reach = max(reach_of(self.planned), stage.within)
            kept.write(last, found, _before(self._settled_at(upto), reach, self.planned.view.every), but=after)
        return given(spark, found)

    def _settled_at(self, upto: Mapping[str, int]) -> datetime:
        """What is final once these commits are read."""
        pace = pace_of(self.planned)
        return pace.reached(self.logs, upto) - pace.settles

    def _needed(self, after: datetime | None, until: datetime | None, panes: DataFrame | None) -> Needed | None:
        """Which groups a step shows, of the last stage that has groups: it may look at others of those below.

        What is computed from the whole log each time takes rows as they are.
        """
        if self.planned.execution.kind == "batch":
            return None
        last = next((stage for stage in reversed(self.planned.stages) if not isinstance(stage, STATELESS)), None)
        return Needed(last, after, until, panes)

    def _logged(self, begin: Settled | None, upto: Mapping[str, int]) -> int:
        found = 0
        for scan in self.planned.scans:
            after = begin.commits[scan.relation] if begin else 0
            found += count_rows(self.logs[scan.relation], after + 1, upto[scan.relation])
        return found

    def _columns(self, topic: str) -> list[str]:
        return [found.name for scan in self.planned.scans if scan.relation == topic for found in scan.columns]

    # The open part

    def _open_part(self, spark: SparkSession, at: Settled) -> pa.Table:
        """The rows that were open after the last step."""
        try:
            kept: pa.Table = feather.read_table(self._file(at.number))
            return kept.select([*output_schema(self.planned).names, FINAL])
        except (OSError, pa.ArrowInvalid, KeyError):
            instant = shown_at(self.planned, at.watermark)
            rows = as_arrow(self._slice(spark, at, at.commits, None, instant=instant), None)
            return rows.filter(rows[_OPEN])

    def _keep(self, number: int, rows: pa.Table) -> None:
        """Keep the open part of a step before the step is delivered: if that fails, the step is done again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        staged = self._file(number).with_suffix(".tmp")
        feather.write_feather(rows, staged)
        staged.replace(self._file(number))

    def _forget(self, number: int) -> None:
        for file in self.folder.glob("open-*.arrow"):
            if file != self._file(number):
                file.unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"open-{number}.arrow"


def _before(at: datetime, reach: timedelta, every: timedelta | None) -> datetime | None:
    """How far a slice reaches back from an instant, or from that of a cadence; None if the calendar begins later."""
    try:
        return at - reach - (every or timedelta()) - _MARGIN
    except OverflowError:
        return None
