"""Small steps: a few rows of the log, taken from memory and computed by Spark on one core, without compiling code.

A step that follows a topic has some thousands of rows. What costs time then is not the rows, but finding files, moving
rows between tasks and compiling code for a query that runs once. So the rows of a small step are read by Arrow, column
by column from memory where they were read before, and given to a session that has one partition and interprets.

What a window function says of the rows in a slice depends on the rows of their partitions alone, and rows that are
paired have equal keys: of those that the slice only looks back on, the ones with other keys are left out before Spark
sees them. A slice of a second over an hour of many keys becomes small that way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headwater.engine.maintained.rows import in_log_order, names_in
from headwater.engine.scan import columns_of, files_of, paced_by
from headwater.engine.source import arrow_schema
from headwater.engine.table_rows import TableRows
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.datafile import DataFile
from headwater.operators import Scan
from headwater.plan import PlannedView
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.step import LookUp

FEW, MANY = 50_000, 5_000_000
"""The most rows of a small step, and the most that it may look at to find them."""
COMPILED, WORTH = 10_000, 40
"""The rows of a small step from which on it is computed by compiled code, and how many times as many rows such steps
must have had until it is compiled, once for a view."""
LONG = 64 << 20
"""The most bytes of rows that are given to a plan that is prepared: they are sent to it in one piece."""
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def small_session(spark: SparkSession) -> SparkSession:
    """A session that knows what another one knows, for queries over few rows."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session


@dataclass(frozen=True)
class Reach:
    """The rows of a topic for a slice: commits up to `last`; those after `after` are new, of the others it has those
    that are later than `since`, or none. Rows that are new, or later than `near`, are the slice; it looks back on the
    rest.
    """

    after: int
    last: int
    since: datetime | None
    near: datetime | None
    only_new: bool = False

    @property
    def first(self) -> int:
        """The first commit that is looked at."""
        return self.after + 1 if self.only_new else 0


@dataclass(frozen=True)
class SmallSlices:
    """Slices of a view's topics in memory, as far as they are small."""

    planned: PlannedView
    logs: Mapping[str, TopicLog]
    kept: KeptColumns

    @property
    def pace(self) -> Pace:
        """The pace of the view."""
        return self.planned.physical.pace

    @property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        """The keys of each scan, where rows with other keys are of no matter."""
        step = self.planned.physical.step
        return step.keys if step else ()

    def read(self, reaches: Mapping[str, Reach]) -> Mapping[Scan, pa.Table] | None:
        """The rows of every scan, each in log order; None if they are too many."""
        tables: dict[Scan, pa.Table] = {}
        copies = self._keys == (("_id",),)  # whoever asks for copies needs no other rows
        recent = cache(partial(self._recent, reaches)) if copies or self._size(reaches) > FEW else None
        for number, scan in enumerate(self.planned.scans):
            log, reach = self.logs[scan.relation], reaches[scan.relation]
            if scan.kind == "table" and self._look_ups(scan):
                rows = self._looked_up(scan, reach, tables)
            else:
                keys = self._keys[number] if self._keys else ()
                rows = read_again(log, partial(self._found, log, scan, reach, keys, recent))
            if rows is None or sum(table.num_rows for table in tables.values()) + rows.num_rows > FEW:
                return None
            tables[scan] = rows
        return self._with_known(reaches, tables)

    def _with_known(self, reaches: Mapping[str, Reach], tables: dict[Scan, pa.Table]) -> Mapping[Scan, pa.Table] | None:
        """These rows, and of tables that are looked up the changes of keys that they ask for; None if too many."""
        for scan in self.planned.looked_up:
            rows = self.changes_of(scan, reaches[scan.relation].last, tables)
            if rows is None:
                return None
            tables[scan] = rows
        return tables

    def changes_of(
        self, scan: Scan, last: int, tables: Mapping[Scan, pa.Table], passed: datetime | None = None
    ) -> pa.Table | None:
        """The changes of a table that rows ask for, of all its rows if that isn't known; None if they are too many.

        They are in the order of the log. None asks for the table as it was where events have `passed`, or earlier.
        """
        log = self.logs[scan.relation]
        if not (looks := self._look_ups(scan)):
            return read_again(log, partial(self._all_of, log, scan, last))
        parts = []
        for keys, names in self._asked_for(looks, tables).items():
            if not len(names):  # a tick asks for nothing
                continue
            held = self._tables.setdefault(
                (scan, keys), TableRows(log, scan, self.pace, keys, self.kept, self.planned.view.grace)
            )
            rows = read_again(log, partial(held.find, names, last, passed))
            if rows is None:
                return None
            parts.append(rows)
        if not parts:
            return self._filtered(log, scan, [], [])
        rows = in_log_order(pa.concat_tables(parts))
        return rows if rows.num_rows <= FEW else None

    @cached_property
    def _tables(self) -> dict[tuple[Scan, tuple[str, ...]], TableRows]:
        """The rows of tables by the columns that they are asked for by."""
        return {}

    def _all_of(self, log: TopicLog, scan: Scan, last: int) -> pa.Table | None:
        files = log.snapshot().between(0, last)
        if sum(file.rows for file in files) > FEW:
            return None
        masks = [pc.less_equal(self.kept.read(log, file, ["_commit"])["_commit"], last) for file in files]
        return self._filtered(log, scan, files, masks)

    def gone(
        self, commits: Mapping[str, int], between: tuple[datetime, datetime] | None
    ) -> Mapping[Scan, pa.Table] | None:
        """The rows of some commits that have happened after an instant and up to another; None if they are too many."""
        if between is None:
            return {}
        tables = {
            scan: read_again(self.logs[scan.relation], partial(self._between, scan, commits[scan.relation], between))
            for scan in self.planned.scans
        }
        few = {scan: rows for scan, rows in tables.items() if rows is not None and rows.num_rows <= FEW}
        return few if len(few) == len(tables) else None

    def _between(self, scan: Scan, last: int, between: tuple[datetime, datetime]) -> pa.Table | None:
        log, (since, until), time = self.logs[scan.relation], between, paced_by(scan, self.pace)
        assert time is not None
        files = files_of(log, scan, self.pace, 0, last, since, last, until)
        if sum(file.rows for file in files) > MANY:
            return None
        masks = []
        for file in files:
            rows = self.kept.read(log, file, ["_commit", time])
            at, kind = rows[time], rows[time].type
            within = pc.and_(pc.greater(at, pa.scalar(since, kind)), pc.less_equal(at, pa.scalar(until, kind)))
            masks.append(pc.and_(within, pc.less_equal(rows["_commit"], last)))
        return self._filtered(log, scan, files, masks)

    def _look_ups(self, scan: Scan) -> list[LookUp]:
        """The ways in which rows of a table are asked for; none if any may be."""
        step = self.planned.physical.step
        looks = [look_up for look_up in step.looked_up if look_up.table == scan.relation] if step else []
        return looks if all(look_up.columns for look_up in looks) else []

    def _asked_for(self, looks: Sequence[LookUp], tables: Mapping[Scan, pa.Table]) -> dict[tuple[str, ...], pa.Array]:
        """The texts of the rows of a table that rows read before ask for, by the columns that they name."""
        found: dict[tuple[str, ...], list[pa.Array]] = {}
        for look_up in looks:
            columns = sorted(look_up.columns)
            topics, own = {topic for _, topic, _ in columns}, tuple(column for _, _, column in columns)
            asking = [rows for scan, rows in tables.items() if scan.relation in topics]
            texts = [names_in(rows, own) for rows in asking if set(own) <= set(rows.column_names)]
            found.setdefault(tuple(theirs for theirs, _, _ in columns), []).extend(texts)
        return {keys: pc.unique(pa.chunked_array(texts, pa.large_string())) for keys, texts in found.items()}

    def _size(self, reaches: Mapping[str, Reach]) -> int:
        """The rows of the files that are looked at."""
        scans = ((scan, self.logs[scan.relation], reaches[scan.relation]) for scan in self.planned.scans)
        return sum(file.rows for scan, log, reach in scans for file in self._files(log, scan, reach))

    def _files(self, log: TopicLog, scan: Scan, reach: Reach) -> list[DataFile]:
        return files_of(log, scan, self.pace, reach.first, reach.last, reach.since, reach.after)

    def _recent(self, reaches: Mapping[str, Reach]) -> list[pa.Array] | None:
        """The values of each key in the slice, in whichever scan they are; None if its rows are too many."""
        tables = []
        for scan, names in zip(self.planned.scans, self._keys, strict=True):
            log = self.logs[scan.relation]
            rows = read_again(log, partial(self._near, log, scan, reaches[scan.relation], names))
            if rows is None:
                return None
            tables.append(rows.rename_columns([str(number) for number in range(len(names))]))
        return [pc.unique(column) for column in pa.concat_tables(tables).columns]

    def _near(self, log: TopicLog, scan: Scan, reach: Reach, names: Sequence[str]) -> pa.Table | None:
        """Columns of the rows of a slice, without those that it looks back on; None if they are too many."""
        near = files_of(log, scan, self.pace, 0, reach.last, reach.near, reach.after)
        if sum(file.rows for file in near) > FEW:
            return None
        parts = [
            self.kept.read(log, file, names).filter(self._mask(log, file, scan, reach, reach.near)) for file in near
        ]
        return pa.concat_tables(parts) if parts else arrow_schema(log.topic, list(names)).empty_table()

    def _found(
        self,
        log: TopicLog,
        scan: Scan,
        reach: Reach,
        keys: Sequence[str],
        recent: Callable[[], list[pa.Array] | None] | None,
    ) -> pa.Table | None:
        """The rows of a scan: those with the keys of `recent` rows, or all, where there is nothing to ask for them."""
        files = self._files(log, scan, reach)
        size = sum(file.rows for file in files)
        if recent is None or (not keys and size <= FEW):
            masks = [self._mask(log, file, scan, reach, reach.since) for file in files]
            return self._filtered(log, scan, files, masks)
        values = recent() if keys and size <= MANY else None
        if values is None:
            return None
        if not any(map(len, values)):  # a tick: nothing is asked of what was there before
            return self._filtered(log, scan, [], [])
        masks = self._of_keys(log, scan, reach, files, dict(zip(keys, values, strict=True)))
        few = sum(pc.sum(mask).as_py() or 0 for mask in masks) <= FEW
        return self._filtered(log, scan, files, masks) if few else None

    def _looked_up(self, scan: Scan, reach: Reach, tables: Mapping[Scan, pa.Table]) -> pa.Table | None:
        """The changes of a table that are new, or of keys that are asked for."""
        asked, new = self.changes_of(scan, reach.last, tables), self.new_of(scan, reach)
        return None if asked is None or new is None else in_log_order(pa.concat_tables([asked, new]))

    def new_of(self, scan: Scan, reach: Reach) -> pa.Table | None:
        """The rows of a scan that are new; None if they are too many."""
        log = self.logs[scan.relation]
        return read_again(log, partial(self._new, log, scan, replace(reach, only_new=True)))

    def _new(self, log: TopicLog, scan: Scan, reach: Reach) -> pa.Table | None:
        files = log.snapshot().between(reach.after + 1, reach.last)
        masks = [self._mask(log, file, scan, reach, None) for file in files]
        few = sum(pc.sum(mask).as_py() or 0 for mask in masks) <= FEW
        return self._filtered(log, scan, files, masks) if few else None

    def _mask(self, log: TopicLog, file: DataFile, scan: Scan, reach: Reach, since: datetime | None) -> pa.ChunkedArray:
        """The rows of a file that are new, or later than an instant."""
        commit = self.kept.read(log, file, ["_commit"])["_commit"]
        read, time = pc.less_equal(commit, reach.last), paced_by(scan, self.pace)
        if reach.only_new:
            return pc.and_(read, pc.greater(commit, reach.after))
        if since is None or time is None:
            return read
        at = self.kept.read(log, file, [time])[time]
        return pc.and_(read, pc.or_(pc.greater(commit, reach.after), pc.greater(at, pa.scalar(since, at.type))))

    def _of_keys(
        self, log: TopicLog, scan: Scan, reach: Reach, files: Sequence[DataFile], values: Mapping[str, pa.Array]
    ) -> list[pa.ChunkedArray]:
        """The rows of each file whose keys occur in the slice, or are copies of such a row with other keys."""
        wanted = [self._mask(log, file, scan, reach, reach.since) for file in files]
        masks = [self._among(log, file, values, mask) for file, mask in zip(files, wanted, strict=True)]
        if "_id" not in columns_of(scan, self.pace):
            return masks
        ids = [self.kept.read(log, file, ["_id"]).filter(mask) for file, mask in zip(files, masks, strict=True)]
        known = {"_id": pc.unique(pa.concat_tables(ids)["_id"])}
        copies = [self._among(log, file, known, mask) for file, mask in zip(files, wanted, strict=True)]
        return [pc.or_(mask, copy) for mask, copy in zip(masks, copies, strict=True)]

    def _among(
        self, log: TopicLog, file: DataFile, values: Mapping[str, pa.Array], mask: pa.ChunkedArray
    ) -> pa.ChunkedArray:
        rows = self.kept.read(log, file, list(values))
        for name, known in values.items():
            mask = pc.and_(mask, pc.is_in(rows[name], value_set=known))
        return mask

    def _filtered(
        self, log: TopicLog, scan: Scan, files: Sequence[DataFile], masks: Sequence[pa.ChunkedArray]
    ) -> pa.Table:
        names = columns_of(scan, self.pace)
        parts = [self.kept.read(log, file, names).filter(mask) for file, mask in zip(files, masks, strict=True)]
        return pa.concat_tables(parts) if parts else arrow_schema(log.topic, names).empty_table()


def read_again(log: TopicLog, read: Callable[[], pa.Table | None]) -> pa.Table | None:
    """The rows read of a log; once more if its files were compacted since: the same rows are in others now."""
    try:
        return read()
    except FileNotFoundError:
        log.reload()
        return read()
