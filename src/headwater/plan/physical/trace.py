"""Traces: how a step over all of time finds the rows that its new rows can matter to, by keys.

What a new row changes is told by keys: of the rows that it is joined with, of the group or the partition that it is in.
A *trace* leads from the new rows to all those that share these keys, operator by operator: it *takes* the values that
rows found so far have in some columns, and *looks up* the rows of a topic that have them. The query over the rows that
were found, with and without the new ones, differs in what has changed and in nothing else.

Keys must be columns of the log. A value that a query computes is in no index: what it is the key of is computed from
the whole log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from headwater.operators import Join, Scan, Stage
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import Grouped
from headwater.operators.unchanged import columns_of_keys, unchanged

Names = tuple[str, ...]


@dataclass(frozen=True)
class Columns:
    """Columns of a scan, which is told by its number."""

    scan: int
    names: Names


@dataclass(frozen=True)
class Take:
    """Take the values that the rows found so far have in columns of some scans; those with NULL if they are groups."""

    number: int
    of: tuple[Columns, ...]
    with_null: bool


@dataclass(frozen=True)
class LookUp:
    """Find the rows that have one of the values of a `Take` in their columns."""

    columns: Columns
    taken: int


@dataclass(frozen=True)
class Trace:
    """The way from new rows to all that they matter to. Rows of the view that can have changed have a value of the
    `Take` with the number `taken` in their columns `shown`; without any it is not told of them.
    """

    steps: tuple[Take | LookUp, ...]
    shown: Names = ()
    taken: int | None = None

    @property
    def indexes(self) -> tuple[Columns, ...]:
        """The columns by which rows are looked up."""
        return tuple(dict.fromkeys(step.columns for step in self.steps if isinstance(step, LookUp)))


@dataclass(frozen=True)
class Found:
    """The trace by which a step finds the rows that its new rows matter to; `untraced` is why there is none."""

    trace: Trace | None
    untraced: str = ""


class NotTraced(Exception):
    """The reason why what new rows change can't be found by keys."""


@dataclass
class _Tracer:
    scans: list[Scan]
    steps: list[Take | LookUp] = field(default_factory=list)
    last: tuple[Stage, Names, int] | None = None

    # From below: what new rows change

    def up(self, stage: Stage) -> None:
        for below in stage.inputs:
            self.up(below)
        match stage:
            case Join():
                self._join(stage)
            case Scan(kind="table"):
                self._versions(stage)
            case _ if _sees_others(stage):
                self._groups(stage)
            case _:
                pass

    def _join(self, stage: Join) -> None:
        left, right = self._equal(stage)
        lefts, rights = self.take(stage.left, left), self.take(stage.right, right)
        self.down(stage.right, right, lefts)
        self.down(stage.left, left, rights)
        if stage.kind not in ("inner", "right"):  # whether a left row has a partner depends on all with its key
            self.down(stage.right, right, rights)
        if stage.kind in ("right", "full"):
            self.down(stage.left, left, lefts)

    def _groups(self, stage: Stage) -> None:
        names, (below,) = self._keys(stage), stage.inputs
        taken = self.take(below, tuple(names.values()), with_null=True)
        self.down(below, tuple(names.values()), taken)
        if isinstance(stage, Grouped):
            self.last = (stage, tuple(names), taken)

    # From above: all that rows of a stage with some values depend on

    def down(self, stage: Stage, names: Names, taken: int) -> None:
        match stage:
            case Scan():
                self._look_up(stage, names, taken)
            case Join():
                self._down_join(stage, names, taken)
            case _:
                for below, own in _below(stage, names):
                    self.down(below, own, taken)
                if _sees_others(stage) and not set(names) <= columns_of_keys(stage).keys():
                    (below,), keys = stage.inputs, tuple(self._keys(stage).values())
                    self.down(below, keys, self.take(below, keys, with_null=True))

    def _down_join(self, stage: Join, names: Names, taken: int) -> None:
        side, own = _side(stage, names)
        lacks = stage.kind == "full" or stage.kind == {"left": "right", "right": "left"}[side]
        if lacks and self._with_null(taken):
            raise NotTraced(f"rows without a partner have no {' and '.join(names)}")
        left, right = self._equal(stage)
        (below, key), (other, its) = (stage.left, left), (stage.right, right)
        if side == "right":
            (below, key), (other, its) = (other, its), (below, key)
        self.down(below, own, taken)
        self.down(other, its, self.take(below, key))

    # Values

    def take(self, stage: Stage, names: Names, *, with_null: bool = False) -> int:
        number = sum(isinstance(step, Take) for step in self.steps)
        self.steps.append(Take(number, tuple(self._sources(stage, names)), with_null))
        return number

    def _with_null(self, number: int) -> bool:
        """Tells whether a value that was taken can be NULL; a row that lacks a partner is found by no other one."""
        return next(step.with_null for step in self.steps if isinstance(step, Take) and step.number == number)

    def _sources(self, stage: Stage, names: Names) -> Iterator[Columns]:
        if isinstance(stage, Scan):
            yield self._columns(stage, names)
            return
        for below, own in _below(stage, names):
            yield from self._sources(below, own)

    def _columns(self, scan: Scan, names: Names) -> Columns:
        for name in names:
            column = scan.column(name)
            if column is None or not _is_exact(column.type):
                raise NotTraced(f"{name} is no key by which rows could be looked up")
        return Columns(self.scans.index(scan), names)

    def _look_up(self, scan: Scan, names: Names, taken: int) -> None:
        columns = self._columns(scan, names)
        self.steps.append(LookUp(columns, taken))
        if scan.kind == "table":
            self._versions(scan)
        if scan.unique:  # which of the copies of an event counts is decided among all
            ids = Columns(columns.scan, ("_id",))
            number = sum(isinstance(step, Take) for step in self.steps)
            self.steps += [Take(number, (ids,), with_null=False), LookUp(ids, number)]

    def _versions(self, table: Scan) -> None:
        """Find all versions of the rows of a table that were found: which of them is current is decided among all."""
        keys = self._columns(table, table.key)
        number = sum(isinstance(step, Take) for step in self.steps)
        self.steps += [Take(number, (keys,), with_null=False), LookUp(keys, number)]

    # Keys

    def _equal(self, stage: Join) -> tuple[Names, Names]:
        """The columns of both sides that are equal: all that can be, or the first pair that can."""
        pairs = [pair for pair in stage.equal if all(side.is_column for side in pair)]
        named = [(left.reads[0], right.reads[0]) for left, right in pairs]
        named = [pair for pair in named if _are_alike(stage.left.column(pair[0]), stage.right.column(pair[1]))]
        for some in (named, *([pair] for pair in named)):
            left, right = tuple(pair[0] for pair in some), tuple(pair[1] for pair in some)
            if some and self._is_known(stage.left, left) and self._is_known(stage.right, right):
                return left, right
        raise NotTraced("a join has no equality of two columns of the log")

    def _keys(self, stage: Stage) -> dict[str, str]:
        """The keys by which groups are found, and the columns of the input that they are: all, or the first."""
        keys, (below,) = columns_of_keys(stage), stage.inputs
        for some in (keys, *({name: column} for name, column in keys.items())):
            if some and self._is_known(below, tuple(some.values()), with_null=True):
                return some
        raise NotTraced("its groups are told apart by nothing that is a column of the log")

    def _is_known(self, stage: Stage, names: Names, *, with_null: bool = False) -> bool:
        """Tells whether rows can be found by these columns, and their values be taken; `with_null` as groups are."""
        trial = _Tracer(self.scans)
        try:
            trial.down(stage, names, trial.take(stage, names, with_null=with_null))
        except NotTraced:
            return False
        return True


def _sees_others(stage: Stage) -> bool:
    """Tells whether what a stage gives of a row depends on all that share its keys: those of its group or partition."""
    return isinstance(stage, Grouped) or stage.by_partition


def _below(stage: Stage, names: Names) -> list[tuple[Stage, Names]]:
    """The inputs that columns of a stage come from unchanged, and what they are called there."""
    ways = [unchanged(stage, name) if not stage.puts_in_windows else () for name in names]
    for name, way in zip(names, ways, strict=True):
        if not way:
            raise NotTraced(f"{name} is computed")
    if len({tuple(id(below) for below, _ in way) for way in ways}) > 1:
        raise NotTraced(f"{' and '.join(names)} are of both sides of a join")
    return [(some[0][0], tuple(name for _, name in some)) for some in zip(*ways, strict=True)]


def _side(stage: Join, names: Names) -> tuple[str, Names]:
    """The side of a join that columns are of, and what they are called there."""
    made_of = {column.name: source for column, source in zip(stage.columns, stage.renames, strict=True)}
    sides = {made_of[name][0] for name in names}
    if len(sides) != 1:
        raise NotTraced(f"{' and '.join(names)} are of both sides of a join")
    return sides.pop(), tuple(made_of[name][1] for name in names)


def _is_exact(kind: pa.DataType) -> bool:
    """Tells whether equal values of a type have one spelling."""
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind) or pa.types.is_time(kind))


def _are_alike(one: object, other: object) -> bool:
    kinds = [getattr(column, "type", None) for column in (one, other)]
    return kinds[0] == kinds[1] or all(kind is not None and pa.types.is_integer(kind) for kind in kinds)


def trace_of(root: Stage) -> Trace:
    """The trace of a view; `NotTraced` where its rows can't be found by keys."""
    tracer = _Tracer(list(dict.fromkeys(scans_of(root))))
    tracer.up(root)
    shown, taken = _shown(root, tracer.last)
    if root.tolerances and not shown:
        column = next(iter(root.tolerances))
        raise NotTraced(f"{column} may differ in its last digits, and nothing shown tells whose rows have changed")
    return Trace(tuple(tracer.steps), shown, taken)


def found_by(root: Stage) -> Found:
    """The way in which a step over all of time finds the rows that its new rows matter to."""
    try:
        return Found(trace_of(root))
    except NotTraced as reason:
        return Found(None, str(reason))


def _shown(root: Stage, last: tuple[Stage, Names, int] | None) -> tuple[Names, int | None]:
    """The columns of the view that tell the groups of its last operator apart, if it shows them."""
    if last is None or root.group_key is None:
        return (), None
    stage, names, taken = last
    passed: Sequence[Stage] = list(root.walk())
    above = passed[next(number for number, each in enumerate(passed) if each is stage) + 1 :]
    shown = [root.group_key.shown_as.get(name) for name in names]
    if any(each.keeps_state or not each.passes_rows for each in above) or None in shown:
        return (), None
    return tuple(name for name in shown if name is not None), taken
