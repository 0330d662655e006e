"""Settle: a view kept up to date by batch queries over slices of event time.

When the watermark moves from W0 to W1, the view's stages are executed over the rows that can still matter, and the rows
that became final in between are written: each once. Everything that was admitted up to the watermark less grace has
arrived, so that a slice is complete, and it doesn't matter where the log was cut into slices. With `emit = 'changes'`
the rows that are not final yet (the *open* part) are computed too, and the difference to those of the step before is
written.

A view's only state is where it is: the position in its store. The open part of the last step is kept beside it (see
`engine.kept`), to compare with.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.engine.difference import difference
from headwater.engine.early import shown_at
from headwater.engine.failure import failure_of
from headwater.engine.kept import KeptRows
from headwater.engine.key import check_key, new_keys
from headwater.engine.known import with_known
from headwater.engine.live import Changes, Effort
from headwater.engine.memory import gigabytes_of
from headwater.engine.panes_plan import PanesPlan
from headwater.engine.prepared import PreparingSession
from headwater.engine.pulse import Member
from headwater.engine.slice import OPEN, Slice
from headwater.engine.small import COMPILED, FEW, LONG, WORTH, SmallSlices, small_session
from headwater.engine.source import Limits, LogStream, check_options
from headwater.engine.span import Settled
from headwater.engine.step_plan import StepPlan
from headwater.engine.totals_plan import TotalsPlan
from headwater.engine.typed import typed
from headwater.engine.view import heads_of, output_schema, reached_by
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.cut import cuts, shared
from headwater.operators.lowering.stamp import FINAL
from headwater.plan import PlannedView
from headwater.plan.physical.step import Step

_logger = logging.getLogger("headwater.run")
_FAR = 4
"""The rows of a slice that goes less far than it looks back, in times of the usual, if Spark has as many gigabytes."""
_SMALL_STEPS = 6
"""The most small steps that what has come is settled in: more rows are computed in one, by all cores."""
_OFTEN = 10.0
"""Seconds after which what is in memory is kept again, while a view follows its topics."""


@dataclass(frozen=True)
class Ends:
    """Where the slices of a view end. One that would go less far in time than it looks back goes `far`: what a slice
    looks back on is computed again, so that many short ones cost far more than a few long ones. Where a step adds what
    is new to what is kept it costs what its rows cost: what has come is settled in a few `small` steps, if it is not
    much more than one takes.
    """

    planned: PlannedView
    near: Mapping[str, LogStream]
    far: Callable[[], Mapping[str, LogStream]]
    small: Callable[[], Mapping[str, LogStream]] | None = None

    def behind(self, commits: Mapping[str, int]) -> Mapping[str, int]:
        """The last commits of the slice behind some commits; these themselves at the heads."""
        ends = _ends(self.near, commits)
        if self.small is not None and FEW < self._rows_between(commits, ends) <= _SMALL_STEPS * FEW:
            return _ends(self.small(), commits)
        if all(stream.ends_at(ends[name]) for name, stream in self.near.items()):
            return ends
        return _ends(self._further, commits) if self._looks_back_of(commits, ends) else ends

    def at_cut(self, commits: Mapping[str, int], ends: Mapping[str, int]) -> Mapping[str, int]:
        """Ends of a slice that are a cut: the last one before these, the next one, or where it goes at most."""
        read = {scan.relation for scan in self.planned.scans}  # of a table that is looked up more may be read
        logs = {stream.log: name for name, stream in self.near.items() if name in read}
        for together in shared(logs):
            names = [logs[log] for log in together]
            if all(self.near[name].ends_at(ends[name]) for name in names):
                continue
            known = [{logs[log]: commit for log, commit in cut.items()} for cut in cuts(together)]
            ahead = [cut for cut in known if cut != {name: commits[name] for name in names}]
            ahead = [cut for cut in ahead if all(cut[name] >= commits[name] for name in names)]
            within = [cut for cut in ahead if all(cut[name] <= ends[name] for name in names)]
            ends = {**ends, **(within[:1] or ahead[-1:])[0]} if ahead else ends
        return ends

    def _rows_between(self, commits: Mapping[str, int], ends: Mapping[str, int]) -> int:
        """The rows of a slice that are new, by what the log knows of its files."""
        snapshots = {name: stream.log.snapshot() for name, stream in self.near.items()}
        scanned = [scan.relation for scan in self.planned.scans]
        return sum(file.rows for name in scanned for file in snapshots[name].between(commits[name] + 1, ends[name]))

    @cached_property
    def _further(self) -> Mapping[str, LogStream]:
        return self.far()

    def _looks_back_of(self, commits: Mapping[str, int], ends: Mapping[str, int]) -> bool:
        """Tells whether a slice looks back further than it goes, and computes again what it looks back on."""
        step = self.planned.physical.step
        if step is None or step.adds is not None or step.looks_back == "everything":
            return False
        planned, logs = self.planned, {name: stream.log for name, stream in self.near.items()}
        begin = {name: max(commit, min(1, ends[name])) for name, commit in commits.items()}
        return reached_by(planned, logs, ends) - reached_by(planned, logs, begin) < planned.physical.reach


def _ends(streams: Mapping[str, LogStream], commits: Mapping[str, int]) -> dict[str, int]:
    return {name: stream.latest({"commit": commits[name], "tick": 1})["commit"] for name, stream in streams.items()}


@dataclass
class _Memory:
    """Things made for a view's next steps: a session for small ones, their plan, and the open part at a position; and
    when it was last kept.

    There is a plan that interprets, and one of compiled code, made when so many rows of large steps were `interpreted`
    that it is worth it. A plan is None where it can't be prepared, and missing before that was tried.
    """

    sessions: list[SparkSession] = field(default_factory=list)
    plans: dict[bool, StepPlan | TotalsPlan | PanesPlan | None] = field(default_factory=dict)
    interpreted: int = 0
    open_part: pa.Table | None = None
    commits: Mapping[str, int] | None = None
    kept_at: float = field(default_factory=time.monotonic)


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
    _memory: _Memory = field(default_factory=lambda: _Memory())

    def follow(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None, pulse: Member) -> None:
        """Settle as the topics grow, in the turns of a pulse."""
        at = begin
        while (upto := pulse.turn(at.commits if at else None)) is not None:
            at = self._catch_up(spark, options, at, upto)
            self._keep(at, ends=False)
        self._keep(at, ends=True)

    def catch_up(self, spark: SparkSession, options: Mapping[str, str], begin: Settled | None) -> Settled | None:
        """Settle up to the heads of the topics, as they are now, in as few steps as the limits allow; tell how far."""
        at = self._catch_up(spark, options, begin)
        self._keep(at, ends=True)
        return at

    def _keep(self, at: Settled | None, *, ends: bool) -> None:
        """Keep what is in memory beside the position, now and then and at the end, for whoever goes on from there."""
        memory = self._memory
        if at is None or memory.open_part is None or memory.commits != dict(at.commits):
            return
        if ends or time.monotonic() - memory.kept_at >= _OFTEN:
            self._keep_at(at.commits, memory.open_part)
            memory.kept_at = time.monotonic()

    def _keep_at(self, commits: Mapping[str, int], open_part: pa.Table) -> None:
        """Keep what is in memory as that of some commits; where each step does, nothing."""

    def _catch_up(
        self,
        spark: SparkSession,
        options: Mapping[str, str],
        begin: Settled | None,
        upto: Mapping[str, int] | None = None,
    ) -> Settled | None:
        check_options(options)
        upto = upto or heads_of(self.planned, self.logs)
        limits, is_limited = Limits.of(options), "max_rows" in options

        def far() -> Mapping[str, LogStream]:
            times = 1 if is_limited else max(1, min(_FAR, gigabytes_of(spark)))
            return self._streams(replace(limits, max_rows=times * limits.max_rows), upto)

        def small() -> Mapping[str, LogStream]:
            return self._streams(replace(limits, max_rows=FEW // len(self.planned.scans)), upto)

        in_small_steps = not is_limited and self._how.reads_new and self._may_prepare
        ends = Ends(self.planned, self._streams(limits, upto), far, small if in_small_steps else None)
        try:
            return self._settle(spark, ends, begin)
        except (PySparkException, Py4JError) as cause:
            raise failure_of(self.planned.name, cause) from cause

    def _streams(self, limits: Limits, upto: Mapping[str, int]) -> Mapping[str, LogStream]:
        streams = {name: LogStream(log, self._columns(name), limits) for name, log in self.logs.items()}
        for name, stream in streams.items():
            stream.stop_at_head(upto[name])
        return streams

    def _settle(self, spark: SparkSession, ends: Ends, begin: Settled | None) -> Settled | None:
        """Step by step. While a step is delivered the next one is computed, where it asks for nothing of the former."""
        at, computed = begin, None
        open_part = self._memory.open_part if begin and self._memory.commits == dict(begin.commits) else None
        with ThreadPoolExecutor(1) as aside:
            step = None if self.halted() else self._next(spark, ends, at)
            while step is not None and not self.halted():
                if open_part is None and at is not None and self._asks_for_open_part:
                    open_part = self._open_part(spark, at)
                began_at = datetime.now(UTC)
                rows, ledger = self._computed(spark, step, open_part) if computed is None else computed.result()
                reached = Settled(step.number, step.upto, step.reached)
                following = self._next(spark, ends, reached)
                computed = aside.submit(following.computed) if following and self._is_apart(following) else None
                open_part = self._step(step, rows, ledger, open_part, began_at)
                self._memory.open_part, self._memory.commits = open_part, dict(reached.commits)
                at, step = reached, following
        return at

    def _computed(self, spark: SparkSession, step: Slice, _before: pa.Table | None) -> tuple[pa.Table, dict[str, int]]:
        """The rows of a step and its ledger, by the prepared plan if it is small.

        One that fails is computed once more by a plan of its own, which fails in the same way and says of what.
        """
        known = self._known(step)
        plan = self._plan(spark, step, known)
        if plan is None:
            return step.computed()
        try:
            return plan.computed(step, known)
        except (PySparkException, Py4JError):
            return step.computed()

    def _known(self, step: Slice) -> pa.Table | None:
        """The totals or panes that a small step adds to, as they are where it begins."""
        if not step.read or not self._how.prepared:
            return None
        before = {"totals": step.totals_before, "panes": step.panes_before}.get(self._how.adds or "")
        return before() if before is not None else None

    def _plan(
        self, spark: SparkSession, step: Slice, known: pa.Table | None = None
    ) -> StepPlan | TotalsPlan | PanesPlan | None:
        """The plan that is prepared for small steps, for one whose rows and known parts are not too long."""
        given = [*step.read.values(), *step.gone.values(), *([] if known is None else [known])]
        if not step.read or sum(rows.nbytes for rows in given) > LONG or not self._may_prepare:
            return None
        plans, compiled = self._memory.plans, self._is_worth_compiling(sum(rows.num_rows for rows in given))
        if compiled not in plans:
            plans[compiled] = self._prepared(spark, step, compiled=compiled)
        return plans[compiled]

    def _is_worth_compiling(self, rows: int) -> bool:
        """Tells whether so many rows are computed by compiled code: if there is some, or many steps would have used it.

        To have a plan compiled takes as long as to interpret some hundred thousand rows. Where views that have fallen
        behind a little all had it done, they would fall behind more.
        """
        if rows > COMPILED and True not in self._memory.plans:
            self._memory.interpreted += rows
        return rows > COMPILED and (True in self._memory.plans or self._memory.interpreted > WORTH * COMPILED)

    def _prepared(
        self, spark: SparkSession, step: Slice, *, compiled: bool
    ) -> StepPlan | TotalsPlan | PanesPlan | None:
        kinds: dict[str, type[StepPlan | TotalsPlan | PanesPlan]] = {"totals": TotalsPlan, "panes": PanesPlan}
        plan = kinds.get(self._how.adds or "", StepPlan)
        try:
            return plan.of(PreparingSession(spark, compiled=compiled), step)
        except (PySparkException, Py4JError) as failure:  # what can't be planned is said by the plan that is made anew
            _logger.debug("steps of %s are planned anew: %s", self.planned.name, failure)
            return None

    @property
    def _may_prepare(self) -> bool:
        """Tells whether the plan of small steps is prepared, or was not yet tried."""
        return self._how.prepared and None not in self._memory.plans.values()

    def _next(self, spark: SparkSession, ends: Ends, at: Settled | None) -> Slice | None:
        """The slice behind where the view is; None at the heads."""
        begin = at.commits if at else dict.fromkeys(self.logs, 0)
        upto = with_known(self.planned, self.logs, ends.at_cut(begin, ends.behind(begin)))
        return None if at is not None and upto == dict(at.commits) else self._slice(spark, at, upto)

    def _is_apart(self, following: Slice) -> bool:
        """Tells whether a slice is computed from the log alone, and takes long enough to be begun early."""
        return self._how.from_log and not following.read

    @property
    def _asks_for_open_part(self) -> bool:
        """Tells whether a step needs what was open after the one before."""
        return self._how.shows_open or self._how.adds == "parts"

    @property
    def _how(self) -> Step:
        """The computation of a step."""
        step = self.planned.physical.step
        assert step is not None
        return step

    def _step(
        self, step: Slice, rows: pa.Table, ledger: dict[str, int], before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        """Deliver what was computed; the open part."""
        settled, still_open = rows.filter(pc.invert(rows[OPEN])), rows.filter(rows[OPEN])
        if self.planned.view.every is not None:
            still_open = step.early(before)
        shown = pa.concat_tables([typed(self.planned, part) for part in (settled, still_open)])
        check_key(self.planned, shown)
        known = None
        if self._how.shows_open:
            known = shown.schema.empty_table() if before is None else typed(self.planned, before)
            upserts, deletes = difference(known, shown, self.key)
            self._kept.write(step.upto, still_open, step.begin.commits if step.begin else None)
        else:
            upserts = typed(self.planned, settled)
            deletes = shown.schema.empty_table().select(list(self.key))
        new = new_keys(self.planned, upserts if known is None else shown, known)
        self._deliver(step, upserts, deletes, new, ledger, Effort(began_at, still_open.nbytes))
        return still_open

    def _deliver(
        self,
        step: Slice,
        upserts: pa.Table,
        deletes: pa.Table,
        new: pa.Table | None,
        ledger: dict[str, int],
        effort: Effort,
    ) -> None:
        check_key(self.planned, upserts)
        reached = step.reached
        self.deliver(Changes(step.number, upserts, deletes, step.upto, reached, reached, ledger, effort, new))

    def _slice(self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]) -> Slice:
        """The next slice, from memory if it is small."""
        whole = Slice(self.planned, self.logs, begin, upto, spark, self.folder)
        read = self._small.read(whole.reaches(only_new=self._how.adds is not None))
        gone = self._small.gone(begin.commits, whole.gone_between()) if begin and self._how.adds == "totals" else {}
        if read is None or gone is None:
            return whole
        return replace(whole, spark=self._small_session(spark), read=read, gone=gone)

    @cached_property
    def _small(self) -> SmallSlices:
        return SmallSlices(self.planned, self.logs, self.columns)

    def _small_session(self, spark: SparkSession) -> SparkSession:
        """One for all steps: to make it costs as much as a step."""
        self._memory.sessions[:] = self._memory.sessions or [small_session(spark)]
        return self._memory.sessions[0]

    def _columns(self, topic: str) -> list[str]:
        return [column.name for scan in self.planned.reading if scan.relation == topic for column in scan.columns]

    # The open part

    def _open_part(self, spark: SparkSession, at: Settled) -> pa.Table:
        """The rows that were open after the last step."""
        kept = self._kept.read(at.commits)
        if kept is None:
            return self._slice(spark, at, at.commits).still_open(shown_at(self.planned, at.watermark))
        return kept.select([*output_schema(self.planned).names, FINAL])

    @property
    def _kept(self) -> KeptRows:
        return KeptRows("open", self.folder)
