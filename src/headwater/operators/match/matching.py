"""Matching: the machine run over rows of many partitions, as Arrow tables.

Rows come sorted by partition, order and place in the log, with the conditions of the variables computed as columns.
What comes out are rows again: each row of a match with its place in it and the variable that took it, and, where they
are wanted, rows that no match has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ViewFailed
from headwater.operators.match.automaton import Going, Machine, MatchFailed, Outcome
from headwater.operators.match.condition import Value, columns_of, computing
from headwater.operators.match.program import Program

FIRST, PLACE, VARIABLE, EXCLUDED, NUMBER, DECIDED = (
    "__first",
    "__place",
    "__variable",
    "__excluded",
    "__number",
    "__decided",
)
"""Of a row of a match: the place in the log of the match's first row, its own place in the match from 1 on, its
variable, whether it is left out where rows are shown, the match's number, and from when all that is decided.

The row that stands for a match without rows has the place 0, one that no match has the place -1. Up to one of the place
-2 all is decided in its partition, whatever comes.
"""
ADDED = (PLACE, VARIABLE, EXCLUDED, NUMBER, DECIDED)
EMPTY, UNMATCHED, COME_TO = 0, -1, -2

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Consumed:
    """Where the search has come to in a partition: behind the row of this time and place in the log.

    So many matches came before.
    """

    time: int
    position: Any
    number: int = 0


@dataclass(frozen=True)
class Matching:
    """A pattern over rows with these columns; `truths` are those of the conditions, None for what any row can be.

    `conditions` look at the match so far. Where partitions are `ending`, their rows have in `mark` when. Of rows that
    no match has those are given that are `with_unmatched`. It is `chained` if where a search begins depends on what
    others have found before.
    """

    keys: tuple[str, ...]
    time: str
    mark: str
    position: str
    program: Program
    truths: tuple[str | None, ...]
    within: int | None
    ahead: int
    going: Going
    conditions: Mapping[int, Value] = field(default_factory=dict)
    with_unmatched: bool = False
    ending: bool = False
    chained: bool = True

    @cached_property
    def machine(self) -> Machine:
        """The machine of the pattern."""
        computes = {number: computing(value) for number, value in self.conditions.items()}
        return Machine(self.program, self.within, self.ahead, self.going, computes, self.ending)

    @property
    def sought(self) -> int:
        """The time after its own by which the search from a row is decided."""
        return (self.within or 0) + self.ahead

    def stream(
        self,
        batches: Iterator[pa.RecordBatch],
        schema: pa.Schema,
        upto: int | None,
        since: int | None = None,
        consumed: Mapping[Key, Consumed] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that come out of sorted rows, which come in batches."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            cut = int(self._begins(batch)[-1])
            if cut or (waiting and not self._is_same(waiting[-1], batch)):
                waiting.append(batch.slice(0, cut))
                yield from self._out(waiting, schema, upto, since, consumed)
                waiting = [batch.slice(cut)]
            else:
                waiting.append(batch)
        yield from self._out(waiting, schema, upto, since, consumed)

    def _out(
        self,
        batches: Sequence[pa.RecordBatch],
        schema: pa.Schema,
        upto: int | None,
        since: int | None,
        consumed: Mapping[Key, Consumed] | None,
    ) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            rows = self.matched(pa.Table.from_batches(filled), upto, since, consumed)
            yield from rows.cast(schema).combine_chunks().to_batches()

    def _begins(self, rows: pa.RecordBatch | pa.Table) -> np.ndarray[Any, Any]:
        """The places at which partitions begin."""
        if not self.keys:
            return np.zeros(1, dtype=np.int64)
        differ = np.zeros(rows.num_rows, dtype=bool)
        differ[:1] = True
        for name in self.keys:
            values = rows.column(name)
            values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            differ[1:] |= _differ(values.slice(0, len(values) - 1), values.slice(1))
        return np.flatnonzero(differ)

    def _is_same(self, one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
        """Tells whether the last row of a batch and the first of the next are of one partition."""
        pairs = ((one.column(name).slice(one.num_rows - 1), other.column(name).slice(0, 1)) for name in self.keys)
        return not any(_differ(left, right)[0] for left, right in pairs)

    def matched(
        self,
        rows: pa.Table,
        upto: int | None = None,
        since: int | None = None,
        consumed: Mapping[Key, Consumed] | None = None,
    ) -> pa.Table:
        """The rows that come out, with where the search has come to in each partition when all `upto` an instant is
        there; `consumed` is where it had come to when that was so of `since`.
        """
        rows = rows.combine_chunks()
        times = _micros(rows[self.time])
        ends = _micros(rows[self.mark]) if self.ending else times
        truths = [self._truth(rows, name) for name in self.truths]
        starts = self._starts(truths, rows.num_rows)
        used = set().union(*map(columns_of, self.conditions.values()))
        values = {name: rows[name].to_pylist() for name in used}
        out = _Out()
        begins = [*self._begins(rows).tolist(), rows.num_rows] if rows.num_rows else []
        for begin, end in pairwise(begins):
            of_partition = _Partition(self, rows, begin, end, times, ends)
            before = consumed.get(of_partition.key) if consumed else None
            first = of_partition.first_sought(before, since)
            candidates = starts[np.searchsorted(starts, begin + first) : np.searchsorted(starts, end)] - begin
            if len(candidates) or before is not None or self.with_unmatched:
                parts = [truth[begin:end] for truth in truths]
                self._run(of_partition, parts, values, candidates, first, before, upto, out)
        return out.table(rows, self.position, self.program)

    def _run(
        self,
        partition: _Partition,
        truths: list[np.ndarray[Any, Any]],
        values: Mapping[str, Sequence[Any]],
        candidates: np.ndarray[Any, Any],
        first: int,
        before: Consumed | None,
        upto: int | None,
        out: _Out,
    ) -> None:
        """Let the rows of a partition come out, and tell where the search has come to, where it isn't decided."""
        times, number, open_at = partition.local_times, before.number if before else 0, None
        searched = range(first, len(times)) if self.with_unmatched else candidates.tolist()
        columns = {name: own[partition.begin : partition.end] for name, own in values.items()}
        lists = [truth.tolist() for truth in truths]
        behind = first
        try:
            for outcome in self.machine.outcomes(times, lists, columns, searched, first, number, partition.ends_at):
                self._give(partition, outcome, out)
                if upto is None or open_at is not None:
                    continue
                if outcome.decided > upto:
                    open_at = outcome.first
                else:
                    number, behind = outcome.number, self.machine.behind(outcome)
        except MatchFailed as failure:
            if upto is None or failure.decided <= upto:
                raise partition.told(failure) from None
            open_at = failure.first if open_at is None else open_at  # other rows may come before it is decided
        last = partition.come_to(open_at, behind, upto) if upto is not None and self.chained else None
        if last is not None:
            out.add(last, last, COME_TO, -1, False, number, upto)

    def _give(self, partition: _Partition, outcome: Outcome, out: _Out) -> None:
        first = partition.begin + outcome.first
        if outcome.taken is None:
            if self.with_unmatched and not outcome.is_covered:
                out.add(first, first, UNMATCHED, -1, False, outcome.number, outcome.decided)
        elif not outcome.taken:
            out.add(first, first, EMPTY, -1, False, outcome.number, outcome.decided)
        else:
            code = self.program.instructions
            for place, at in enumerate(outcome.taken):
                own = code[at]
                out.add(first + place, first, place + 1, own.first, own.excluded, outcome.number, outcome.decided)

    def _truth(self, rows: pa.Table, name: str | None) -> np.ndarray[Any, Any]:
        if name is None:
            return np.ones(rows.num_rows, dtype=bool)
        return np.asarray(pc.fill_null(rows[name].combine_chunks(), False).to_numpy(zero_copy_only=False), dtype=bool)

    def _starts(self, truths: Sequence[np.ndarray[Any, Any]], count: int) -> np.ndarray[Any, Any]:
        """The rows that can be the first of a match."""
        first = self.program.begins_with
        if first is None:
            return np.arange(count)
        able = np.zeros(count, dtype=bool)
        for variable in first:
            able |= truths[variable]
        return np.flatnonzero(able)


@dataclass(frozen=True)
class _Partition:
    """The rows of one partition, among those of others."""

    matching: Matching
    rows: pa.Table
    begin: int
    end: int
    times: np.ndarray[Any, Any]
    ends: np.ndarray[Any, Any]

    @cached_property
    def key(self) -> Key:
        return tuple(self.rows[name][self.begin].as_py() for name in self.matching.keys)

    @cached_property
    def local_times(self) -> list[int]:
        times: list[int] = self.times[self.begin : self.end].tolist()
        return times

    @property
    def ends_at(self) -> int:
        return int(self.ends[self.begin])

    def first_sought(self, before: Consumed | None, since: int | None) -> int:
        """The first row from which a search may begin that isn't decided yet."""
        first = 0
        if since is not None and not self.matching.ending:
            first = int(np.searchsorted(self.times[self.begin : self.end], since - self.matching.sought, side="right"))
        return first if before is None else max(first, self._place_of(before) + 1)

    def _place_of(self, before: Consumed) -> int:
        own = self.times[self.begin : self.end]
        low, high = (int(np.searchsorted(own, before.time, side=side)) for side in ("left", "right"))
        positions = self.rows[self.matching.position]
        for place in range(low, high):
            if positions[self.begin + place].as_py() == before.position:
                return place
        return low - 1

    def come_to(self, open_at: int | None, behind: int, upto: int) -> int | None:
        """The last row in front of the first one from which the search isn't decided; None if its time tells that."""
        later = max(behind, int(np.searchsorted(self.times[self.begin : self.end], upto, side="right")))
        last = (later if open_at is None else min(open_at, later)) - 1
        decided = last < 0 or self.local_times[last] <= upto - self.matching.sought
        return None if decided else self.begin + last

    def told(self, failure: MatchFailed) -> ViewFailed:
        """The error for what went wrong, with its row."""
        row = {
            name: self.rows[name][self.begin + failure.row].as_py()
            for name in (*self.matching.keys, self.matching.time)
        }
        of = ", ".join(f"{name} = {value}" for name, value in row.items())
        return ViewFailed(f"a pattern fails: {failure.what}", detail=f"It is the row of {of}.", hint=failure.hint)


@dataclass
class _Out:
    """The rows that come out, gathered by their numbers."""

    rows: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    added: tuple[list[Any], ...] = field(default_factory=lambda: ([], [], [], [], []))

    def add(self, row: int, first: int, *added: Any) -> None:
        self.rows.append(row)
        self.firsts.append(first)
        for column, value in zip(self.added, added, strict=True):
            column.append(value)

    def table(self, rows: pa.Table, position: str, program: Program) -> pa.Table:
        places, variables, excluded, numbers, decided = self.added
        names = pa.array([*(name.upper() for name in program.variables)], pa.string())
        chosen = pa.array([None if number < 0 else number for number in variables], pa.int32())
        out = rows.take(pa.array(self.rows, pa.int64())) if rows.num_rows else rows.schema.empty_table()
        columns = {
            FIRST: rows[position].combine_chunks().take(pa.array(self.firsts, pa.int64())),
            PLACE: pa.array(places, pa.int32()),
            VARIABLE: names.take(chosen),
            EXCLUDED: pa.array(excluded, pa.bool_()),
            NUMBER: pa.array(numbers, pa.int64()),
            DECIDED: pa.array(decided, pa.timestamp("us", "UTC")),
        }
        for name, values in columns.items():
            out = out.append_column(name, values)
        return out


def consumed_in(rows: pa.Table, keys: Sequence[str], time: str) -> dict[Key, Consumed]:
    """Where the search has come to, by the rows that say so."""
    columns = [rows[name].to_pylist() for name in keys]
    known = zip(_micros(rows[time]).tolist(), rows[FIRST].to_pylist(), rows[NUMBER].to_pylist(), strict=True)
    rest = zip(zip(*columns, strict=True) if columns else [()] * rows.num_rows, known, strict=True)
    return {key: Consumed(*each) for key, each in rest}


def _micros(values: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    times = values.combine_chunks().cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return np.asarray(times.to_numpy(zero_copy_only=False))


def _differ(one: pa.Array, other: pa.Array) -> np.ndarray[Any, Any]:
    """Tells of each pair whether its values differ; NULL is like NULL."""
    differ = pc.fill_null(pc.not_equal(one, other), False).to_numpy(zero_copy_only=False)
    return np.asarray(differ | (one.is_null().to_numpy(False) != other.is_null().to_numpy(False)))
