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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.engine.apply import check_key
from headwater.engine.difference import difference
from headwater.engine.early import shown_at
from headwater.engine.failure import failure_of
from headwater.engine.join import FINAL
from headwater.engine.live import Changes, Effort
from headwater.engine.memory import gigabytes_of
from headwater.engine.slice import OPEN, Settled, Slice, keeps_new
from headwater.engine.small import SmallSlices, small_session
from headwater.engine.source import Limits, LogStream, check_options
from headwater.engine.totals import keeps_totals
from headwater.engine.view import output_schema, pace_of, reach_of
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.watch import Watch
from headwater.model import Emit
from headwater.plan import PlannedView
from headwater.plan.execution import is_stateless

_FAR = 4
"""How many times more rows than usual a slice may have that goes less far than it looks back, if Spark has as many
gigabytes.
"""
_REST = timedelta(milliseconds=100)
"""How long a view that follows waits at a time before it looks whether it shall end."""


@dataclass(frozen=True)
class Ends:
    """Where the slices of a view end. One that would go less far in time than it looks back goes `far`: what a slice
    looks back on is computed again, so that many short ones cost far more than a few long ones.
    """

    planned: PlannedView
    near: Mapping[str, LogStream]
    far: Callable[[], Mapping[str, LogStream]]

    def behind(self, commits: Mapping[str, int]) -> Mapping[str, int]:
        """The last commits of the slice behind some commits; these themselves at the heads."""
        ends = _ends(self.near, commits)
        if all(stream.ends_at(ends[name]) for name, stream in self.near.items()):
            return ends
        return _ends(self._further, commits) if self._looks_back_of(commits, ends) else ends

    @cached_property
    def _further(self) -> Mapping[str, LogStream]:
        return self.far()

    def _looks_back_of(self, commits: Mapping[str, int], ends: Mapping[str, int]) -> bool:
        """Whether a slice looks back further than it goes, and computes again what it looks back on."""
        if keeps_new(self.planned) or self.planned.execution.kind != "settle":
            return False
        pace, logs = pace_of(self.planned), {name: stream.log for name, stream in self.near.items()}
        begin = {name: max(commit, min(1, ends[name])) for name, commit in commits.items()}
        return pace.reached(logs, ends) - pace.reached(logs, begin) < reach_of(self.planned)


def _ends(streams: Mapping[str, LogStream], commits: Mapping[str, int]) -> dict[str, int]:
    return {name: stream.latest({"commit": commits[name], "tick": 1})["commit"] for name, stream in streams.items()}


@dataclass(frozen=True)
class SettleView:
    """A view, the key that tells its rows apart, the logs it reads, and a folder for its open part.

    `deliver` is given each step's changes and returns when they are durable. A step is not begun once `halted`. What is
    read of the log is kept in `columns`, which views share.
    """

    planned: PlannedView
    key: tuple[str, ...]
    logs: Mapping[str, TopicLog]
    folder: Path
    deliver: Callable[[Changes], object]
    halted: Callable[[], bool] = lambda: False
    columns: KeptColumns = field(default_factory=KeptColumns)
    _sessions: list[SparkSession] = field(default_factory=list)

    def follow(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None, watch: Watch) -> None:
        """Settle as the topics grow, until `halted`. After its steps the view rests for half as long as they took.

        So it leaves a third of the time to others, and what has come meanwhile is settled at once.
        """
        at, logs = begin, list(self.logs.values())
        while not self.halted():
            heads, began = watch.heads(logs), time.monotonic()
            at = self.catch_up(spark, options, at)
            rest_until = time.monotonic() + (time.monotonic() - began) / 2
            while not self.halted() and not (watch.wait(heads, _REST) and time.monotonic() >= rest_until):
                time.sleep(max(0.0, min(rest_until - time.monotonic(), _REST.total_seconds())))

    def catch_up(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None) -> Settled | None:
        """Settle up to the heads of the topics, as they are now, in as few steps as the limits allow; tell how far."""
        check_options(options)
        limits, is_limited = Limits.of(options), "max_rows" in options

        def far() -> Mapping[str, LogStream]:
            times = 1 if is_limited else max(1, min(_FAR, gigabytes_of(spark)))
            return self._streams(replace(limits, max_rows=times * limits.max_rows))

        try:
            return self._settle(spark, Ends(self.planned, self._streams(limits), far), begin)
        except (PySparkException, Py4JError) as cause:
            raise failure_of(self.planned.name, cause) from cause

    def _streams(self, limits: Limits) -> Mapping[str, LogStream]:
        streams = {name: LogStream(log, self._columns(name), limits) for name, log in self.logs.items()}
        for stream in streams.values():
            stream.stop_at_head()
        return streams

    def _settle(self, spark: SparkSession, ends: Ends, begin: Settled | None) -> Settled | None:
        """Step by step. While a step is delivered the next one is computed, where it asks for nothing of the former."""
        at, open_part, computed = begin, None, None
        with ThreadPoolExecutor(1) as aside:
            found = None if self.halted() else self._next(spark, ends, at)
            while found is not None and not self.halted():
                if open_part is None and at is not None and self._shows_open:
                    open_part = self._open_part(spark, at)
                began_at = datetime.now(UTC)
                rows, ledger = found.computed() if computed is None else computed.result()
                reached = Settled(found.number, found.upto, found.reached)
                following = self._next(spark, ends, reached)
                computed = aside.submit(following.computed) if following and self._is_apart(following) else None
                open_part = self._step(found, rows, ledger, open_part, began_at)
                at, found = reached, following
        return at

    def _next(self, spark: SparkSession, ends: Ends, at: Settled | None) -> Slice | None:
        """The slice behind where the view is; None at the heads."""
        upto = ends.behind(at.commits if at else dict.fromkeys(self.logs, 0))
        return None if at is not None and upto == dict(at.commits) else self._slice(spark, at, upto)

    def _is_apart(self, following: Slice) -> bool:
        """Whether a slice is computed from the log alone, and takes long enough to be begun early."""
        keeps = keeps_new(self.planned) or any(scan.within is not None for scan in self.planned.scans)
        return self.planned.emit is Emit.FINAL and not keeps and not following.read

    @property
    def _shows_open(self) -> bool:
        """Whether rows are shown before they are final, and found again by their key; those of one row are at once."""
        return self.planned.emit is Emit.CHANGES and bool(self.key) and not is_stateless(self.planned.root)

    def _step(
        self, found: Slice, rows: pa.Table, ledger: dict[str, int], before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        """Deliver what was computed; the open part."""
        schema = output_schema(self.planned)
        settled, still_open = rows.filter(pc.invert(rows[OPEN])), rows.filter(rows[OPEN])
        if self.planned.view.every is not None:
            still_open = found.early(before)
        shown = pa.concat_tables([part.select(schema.names).cast(schema) for part in (settled, still_open)])
        check_key(self.planned, shown)
        if self._shows_open:
            known = schema.empty_table() if before is None else before.select(schema.names).cast(schema)
            upserts, deletes = difference(known, shown, self.key)
            self._keep(found.number, still_open)
        else:
            upserts = settled.select(schema.names).cast(schema)
            deletes = schema.empty_table().select(list(self.key))
        effort = Effort(began_at, still_open.nbytes)
        self.deliver(Changes(found.number, upserts, deletes, found.upto, found.reached, found.reached, ledger, effort))
        self._forget(found.number)
        return still_open

    def _slice(self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]) -> Slice:
        """The next slice, from memory if it is small; the first one is as large as the log."""
        found = Slice(self.planned, self.logs, self.folder, spark, begin, upto)
        if begin is None:
            return found
        read = self._small.read(found.reaches(only_new=keeps_new(self.planned)))
        gone = self._small.gone(begin.commits, found.gone_between()) if keeps_totals(self.planned) else {}
        if read is None or gone is None:
            return found
        return replace(found, spark=self._small_session(spark), read=read, gone=gone)

    @cached_property
    def _small(self) -> SmallSlices:
        return SmallSlices(self.planned, self.logs, pace_of(self.planned), self.columns)

    def _small_session(self, spark: SparkSession) -> SparkSession:
        """One for all steps: to make it costs as much as a step."""
        self._sessions[:] = self._sessions or [small_session(spark)]
        return self._sessions[0]

    def _columns(self, topic: str) -> list[str]:
        return [found.name for scan in self.planned.scans if scan.relation == topic for found in scan.columns]

    # The open part

    def _open_part(self, spark: SparkSession, at: Settled) -> pa.Table:
        """The rows that were open after the last step."""
        try:
            kept: pa.Table = feather.read_table(self._file(at.number))
            return kept.select([*output_schema(self.planned).names, FINAL])
        except (OSError, pa.ArrowInvalid, KeyError):
            return self._slice(spark, at, at.commits).still_open(shown_at(self.planned, at.watermark))

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
