"""As-known join: rows with those of a table by its key, as the table was known when each row arrived.

The changes of a key count that had arrived by then; of these the newest is the row that was known, and a delete is
none. Which they are follows from the times of arrival in the two logs. So a row needs no watermark of the table: it is
there as soon as nothing can arrive in the table at its time any more. The table is no input that has a time: it is
looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from headwater.operators.as_of_join.stage import AsOfJoin, AsOfKind, Pairs, Side
from headwater.operators.expression import Expression, read_by
from headwater.operators.scan.stage import Scan
from headwater.operators.stage import GroupKey, Identity, Stage, Unary, renamed
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerances

ARRIVED = "_arrived_at"
"""The column of a topic that says when a row arrived."""


@dataclass(frozen=True)
class AsKnownJoin(Unary):
    """Rows of the input, each with the row of the `table` whose `key` it names, as that was known at its `time`.

    `key` has an expression over the input for each column of the table's key. What else is asked, `equal` and
    `residual`, is asked of the row that was found. `renames` gives, for each output column, the side and the column
    that it comes from.
    """

    table: Scan
    kind: AsOfKind
    key: Pairs
    equal: Pairs
    residual: Expression | None
    renames: tuple[tuple[Side, str], ...]
    time: str

    noun: ClassVar[str] = "as-known join"
    does: ClassVar[str] = "joins"
    keeps_state: ClassVar[bool] = False
    bound_to_time: ClassVar[str] = "A table is asked as it was known when a row arrived."

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no join as a table was known")

    def pruned(self, needed: set[str]) -> Stage:
        kept = [(source, column) for source, column in zip(self.renames, self.columns, strict=True)]
        kept = [(source, column) for source, column in kept if column.name in needed]
        wanted = {side: {name for (of, name), _ in kept if of == side} for side in ("left", "right")}
        for number, side in enumerate(("left", "right")):
            wanted[side] |= read_by(pair[number] for pair in (*self.key, *self.equal))
        for read in self.residual.reads if self.residual else ():
            wanted["left" if read.startswith("l.") else "right"].add(read[2:])
        return replace(
            self,
            input=self.input.pruned(wanted["left"] | {self.time}),
            table=self.table.pruned(wanted["right"] | {ARRIVED}),
            renames=tuple(source for source, _ in kept),
            columns=tuple(column for _, column in kept),
        )

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        return renamed(self.input.identity, lambda name: self._shown().get(name.lower()))

    @property
    def group_key(self) -> GroupKey | None:
        below, names = self.input.group_key, self._shown()
        if below is None:
            return None
        return below._replace(
            shown_as={name: names.get(column.lower()) if column else None for name, column in below.shown_as.items()}
        )

    def from_input(self, expression: Expression) -> Expression | None:
        """The same over the input, of an expression that is one of its columns; None if it is another."""
        named = {column.name.lower(): source for column, source in zip(self.columns, self.renames, strict=True)}
        side, name = named.get(expression.reads[0].lower(), ("right", "")) if expression.is_column else ("right", "")
        field = self.input.column(name) if side == "left" else None
        return None if field is None else field.expression

    def _shown(self) -> dict[str, str]:
        """The names that columns of the input have here, by those that they have there in lower case."""
        names: dict[str, str] = {}
        for (of, name), column in zip(self.renames, self.columns, strict=True):
            if of == "left":
                names.setdefault(name.lower(), column.name)
        return names

    @property
    def tolerances(self) -> Tolerances:
        below, pairs = self.input.tolerances, zip(self.columns, self.renames, strict=True)
        return {column.name: below[name] for column, (side, name) in pairs if side == "left" and name in below}

    @property
    def line(self) -> str:
        parts = [f"{_qualified('l', left)} = {_qualified('r', right)}" for left, right in (*self.key, *self.equal)]
        text = f"AsKnownJoin {self.kind} with {self.table.relation} on {' and '.join(parts)}, known at {self.time}"
        text = f"{text} where {self.residual}" if self.residual else text
        return f"{text}: a row waits for no watermark of the table"


def asked_as_known(root: Stage) -> Iterator[tuple[Scan, Stage, Pairs]]:
    """The tables whose rows are looked up, by whose rows, and the pairs of their keys.

    Rows that were joined with another table before are the rows that they were.
    """
    for join in looked_up_by(root):
        left, pairs = join.input, join.key
        while isinstance(left, AsKnownJoin):
            pairs = tuple((mine, other) for one, other in pairs if (mine := left.from_input(one)) is not None)
            left = left.input
        yield join.table, left, pairs


def as_known(stage: AsOfJoin, table: Scan) -> AsKnownJoin:
    """The join with a table as it was known, of one that asks for the arrival of its rows."""
    asked = (stage.kind, stage.key, stage.equal, stage.residual)
    return AsKnownJoin(stage.columns, stage.left, table, *asked, stage.renames, stage.time, origin=stage.origin)


def _qualified(side: str, expression: Expression) -> str:
    return f"{side}.{expression}" if expression.is_column else f"{side}: {expression}"


def looked_up_by(root: Stage) -> Iterator[AsKnownJoin]:
    """The joins that look a table up as it was known, those first whose rows others ask with."""
    return (stage for stage in root.walk() if isinstance(stage, AsKnownJoin))
