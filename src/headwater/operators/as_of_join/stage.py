"""As-of join: rows with those of a table by its key, as the table was at an instant of each row.

Of the changes of a key the newest one counts that had happened by then; a delete is none. Changes come late like any
other rows: those that are in time count, and a row is final once the watermark of the table has passed its instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Literal

from headwater.operators.expression import Expression, read_by
from headwater.operators.scan.stage import Scan, scans_of
from headwater.operators.stage import NONE, GroupKey, Identity, Stage, renamed
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerances

AsOfKind = Literal["inner", "left", "semi", "anti"]
AS_OF_KINDS: tuple[AsOfKind, ...] = ("inner", "left", "semi", "anti")
Side = Literal["left", "right"]
Pairs = tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class AsOfJoin(Stage):
    """Rows of the left side, each with the row of the table on the right whose `key` it names, as of its `time`.

    `key` has an expression over the left side for each column of the table's key. What else is asked, `equal` and
    `residual`, is asked of the row that was found. `renames` gives, for each output column, the side and the column
    that it comes from.
    """

    left: Stage
    right: Stage
    kind: AsOfKind
    key: Pairs
    equal: Pairs
    residual: Expression | None
    renames: tuple[tuple[Side, str], ...]
    time: str

    noun: ClassVar[str] = "as-of join"
    does: ClassVar[str] = "joins"
    joins_rows: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = (
        "A table is asked as it was at the time of a row, which is final once that has passed."
    )

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.left, self.right)

    @property
    def reach(self) -> timedelta | None:
        return NONE

    @property
    def admits_by_own_time(self) -> bool:
        return True

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no join as of an instant")

    def pruned(self, needed: set[str]) -> Stage:
        kept = [(source, column) for source, column in zip(self.renames, self.columns, strict=True)]
        kept = [(source, column) for source, column in kept if column.name in needed]
        wanted = {side: {name for (of, name), _ in kept if of == side} for side in ("left", "right")}
        for number, side in enumerate(("left", "right")):
            wanted[side] |= read_by(pair[number] for pair in (*self.key, *self.equal))
        for read in self.residual.reads if self.residual else ():
            wanted["left" if read.startswith("l.") else "right"].add(read[2:])
        wanted["left"].add(self.time)
        return replace(
            self,
            left=self.left.pruned(wanted["left"]),
            right=self.right.pruned(wanted["right"]),
            renames=tuple(source for source, _ in kept),
            columns=tuple(column for _, column in kept),
        )

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        return renamed(self.left.identity, lambda name: self._shown("left").get(name.lower()))

    @property
    def group_key(self) -> GroupKey | None:
        below, names = self.left.group_key, self._shown("left")
        if below is None:
            return None
        return below._replace(
            shown_as={name: names.get(column.lower()) if column else None for name, column in below.shown_as.items()}
        )

    def from_left(self, expression: Expression) -> Expression | None:
        """The same over the left side, of an expression that is one of its columns; None if it is another."""
        named = {column.name.lower(): source for column, source in zip(self.columns, self.renames, strict=True)}
        side, name = named.get(expression.reads[0].lower(), ("right", "")) if expression.is_column else ("right", "")
        field = self.left.column(name) if side == "left" else None
        return None if field is None else field.expression

    def _shown(self, side: Side) -> dict[str, str]:
        """The names that columns of one side have here, by those that they have there in lower case."""
        names: dict[str, str] = {}
        for (of, name), column in zip(self.renames, self.columns, strict=True):
            if of == side:
                names.setdefault(name.lower(), column.name)
        return names

    @property
    def tolerances(self) -> Tolerances:
        sides = {"left": self.left.tolerances, "right": self.right.tolerances}
        pairs = zip(self.columns, self.renames, strict=True)
        return {column.name: sides[side][name] for column, (side, name) in pairs if name in sides[side]}

    @property
    def line(self) -> str:
        parts = [f"{_qualified('l', left)} = {_qualified('r', right)}" for left, right in (*self.key, *self.equal)]
        text = f"AsOfJoin {self.kind} on {' and '.join(parts)} as of {self.time}"
        return f"{text} where {self.residual}" if self.residual else text


def _qualified(side: str, expression: Expression) -> str:
    return f"{side}.{expression}" if expression.is_column else f"{side}: {expression}"


def read_as_of(stage: Stage) -> set[Scan]:
    """The scans of tables whose rows are looked up as they were at an instant."""
    joins = (below for below in stage.walk() if isinstance(below, AsOfJoin))
    return {scan for join in joins for scan in scans_of(join.right)}


def asked_by(stage: Stage) -> Iterator[tuple[Scan, Stage, Pairs]]:
    """The tables whose rows are looked up, by whose rows, and the pairs of their keys.

    Rows that were joined with another table before are the rows that they were.
    """
    for join in (below for below in stage.walk() if isinstance(below, AsOfJoin)):
        left, pairs = join.left, join.key
        while isinstance(left, AsOfJoin):
            pairs = tuple((mine, other) for one, other in pairs if (mine := left.from_left(one)) is not None)
            left = left.left
        for scan in scans_of(join.right):
            yield scan, left, pairs
