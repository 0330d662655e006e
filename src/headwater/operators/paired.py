"""Paired: stages whose rows have columns of two sides; and those of which each row asks a table for one of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

from headwater.operators.expression import Expression, Field, read_by
from headwater.operators.scan.stage import Scan, scans_of
from headwater.operators.stage import GroupKey, Identity, Stage, renamed
from headwater.operators.tolerance import Tolerances

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
Pairs = tuple[tuple[Expression, Expression], ...]
Sources = tuple[tuple[Side, str], ...]


class Paired(Stage):
    """Rows of two sides. `renames` gives, for each output column, the side and the column that it comes from.

    `residual` is a condition that writes columns as `l.column` and `r.column`.
    """

    renames: Sources
    residual: Expression | None

    @property
    def sides(self) -> tuple[Stage, ...]:
        """The left side and the right one."""
        return self.inputs

    def _narrowed(
        self, needed: set[str], pairs: Pairs, *also: tuple[Side, str]
    ) -> tuple[set[str], set[str], Sources, tuple[Field, ...]]:
        """The columns that it needs of both sides for some of its own, and these with their sources."""
        kept = [(source, column) for source, column in self._sources if column.name in needed]
        wanted = {side: {name for (of, name), _ in kept if of == side} for side in SIDES}
        for number, side in enumerate(SIDES):
            wanted[side] |= read_by(pair[number] for pair in pairs)
        for read in self.residual.reads if self.residual else ():
            wanted["left" if read.startswith("l.") else "right"].add(read[2:])
        for side, name in also:
            wanted[side].add(name)
        return wanted["left"], wanted["right"], tuple(source for source, _ in kept), tuple(column for _, column in kept)

    def _shown(self, side: Side) -> Callable[[str], str | None]:
        """Tells what columns of a side are called here."""
        names: dict[str, str] = {}
        for (of, name), column in self._sources:
            if of == side:
                names.setdefault(name.lower(), column.name)
        return lambda name: names.get(name.lower())

    @property
    def _sources(self) -> Iterable[tuple[tuple[Side, str], Field]]:
        return zip(self.renames, self.columns, strict=True)

    @property
    def tolerances(self) -> Tolerances:
        known = {side: below.tolerances for side, below in zip(SIDES, self.sides, strict=True)}
        return {column.name: known[side][name] for (side, name), column in self._sources if name in known[side]}

    def _condition(self, pairs: Pairs) -> str:
        """The pairs that must be equal, for a reader."""
        return " and ".join(f"{_qualified('l', left)} = {_qualified('r', right)}" for left, right in pairs)


class Asking(Paired):
    """Rows of the left side, each with the row of the table on the right whose `key` it names.

    `key` has an expression over the left side for each column of the table's key. What else is asked, `equal` and
    `residual`, is asked of the row that was found. The table is asked as of the `time` of a row.
    """

    key: Pairs
    equal: Pairs
    time: str

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        return renamed(self.sides[0].identity, self._shown("left"))

    @property
    def group_key(self) -> GroupKey | None:
        below = self.sides[0].group_key
        return None if below is None else below.renamed(self._shown("left"))

    def from_left(self, expression: Expression) -> Expression | None:
        """The same over the left side, of an expression that is one of its columns; None if it is another."""
        named = {column.name.lower(): source for source, column in self._sources}
        side, name = named.get(expression.reads[0].lower(), ("right", "")) if expression.is_column else ("right", "")
        field = self.sides[0].column(name) if side == "left" else None
        return None if field is None else field.expression


Asks = TypeVar("Asks", bound=Asking)


def asking_among(root: Stage, kind: type[Asks]) -> Iterator[Asks]:
    """The stages of a kind that ask a table, those first whose rows others ask with."""
    return (stage for stage in root.walk() if isinstance(stage, kind))


def asked_by(root: Stage) -> Iterator[tuple[Scan, Stage, Pairs]]:
    """The tables that are asked, by whose rows, and the pairs of their keys.

    Rows that were joined with another table before are the rows that they were.
    """
    for stage in asking_among(root, Asking):
        (left, right), pairs = stage.sides, stage.key
        while isinstance(left, type(stage)):
            pairs = tuple((mine, other) for one, other in pairs if (mine := left.from_left(one)) is not None)
            left = left.sides[0]
        for scan in scans_of(right):
            yield scan, left, pairs


def _qualified(side: str, expression: Expression) -> str:
    return f"{side}.{expression}" if expression.is_column else f"{side}: {expression}"
