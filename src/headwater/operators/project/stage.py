"""Project: computed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from headwater.model.column import HIDDEN_KEY
from headwater.operators.carried import Shown, carried
from headwater.operators.expression import Expression, Named, listed, read_by
from headwater.operators.stage import GroupKey, Identity, Stage, Unary, only, renamed
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerances, tolerances_of
from headwater.operators.unchanged import Sources, unchanged
from headwater.operators.window_bounds import passes_bounds
from headwater.sql.spelling import spell_name


@dataclass(frozen=True)
class Project(Unary):
    """One computed column per expression, in order."""

    expressions: tuple[Named, ...]

    keeps_state: ClassVar[bool] = False
    passes_rows: ClassVar[bool] = True

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(stays_up=True)

    def pruned(self, needed: set[str]) -> Stage:
        kept = tuple(named for named in self.expressions if named.name in needed)
        below = self.input.pruned(read_by(named.expression for named in kept))
        columns = only(self.columns, needed)
        unchanged = all(named.expression.sql == spell_name(named.name) for named in kept)
        shown = not any(column.hidden for column in (*below.columns, *columns))
        if unchanged and shown and [column.name for column in below.columns] == [column.name for column in columns]:
            return below
        return replace(self, input=below, columns=columns, expressions=kept)

    @property
    def _passed_on(self) -> Callable[[str], str | None]:
        """Tells what the columns that it passes on are called here."""
        names: dict[str, str] = {}
        apart = {column.name for column in self.columns if column.hidden and not column.column.is_hidden}
        for named in self.expressions:
            if named.expression.is_column and named.name not in apart:
                names.setdefault(named.expression.reads[0].lower(), named.name)
        return lambda name: names.get(name.lower())

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        return renamed(self.input.identity, self._passed_on)

    @property
    def group_key(self) -> GroupKey | None:
        below = self.input.group_key
        return None if below is None else below.renamed(self._passed_on)

    @property
    def tolerances(self) -> Tolerances:
        return tolerances_of(self.expressions, self.input.tolerances)

    @property
    def additive(self) -> frozenset[str]:
        below = self.input.additive
        columns = (named for named in self.expressions if named.expression.is_column)
        return frozenset(named.name for named in columns if named.expression.reads[0] in below)

    @property
    def line(self) -> str:
        return f"Project {listed(self.expressions)}"

    def with_panes(self) -> Self | None:
        passes = passes_bounds([named.expression for named in self.expressions], self.input)
        below = self.input.with_panes() if passes else None
        return replace(self, input=below) if below is not None else None


def projected(root: Stage) -> Iterator[Expression]:
    """The expressions that columns are computed by, at a stage and below it."""
    return (named.expression for stage in root.walk() if isinstance(stage, Project) for named in stage.expressions)


@unchanged.register
def _(stage: Project, name: str) -> Sources:
    made_of = next((named.expression for named in stage.expressions if named.name == name), None)
    return ((stage.input, made_of.reads[0]),) if made_of is not None and made_of.is_column else ()


@carried.register
def _(stage: Project, name: str, shown: Shown) -> Stage | None:
    below = stage.input if shown(stage.input) is not None else carried(stage.input, name, shown)
    column = below.column(shown(below) or "") if below is not None else None
    if below is None or column is None:
        return None
    wanted, taken = f"{HIDDEN_KEY}{name.removeprefix(HIDDEN_KEY).lstrip('_')}", {one.name for one in stage.columns}
    own = next(own for own in (wanted, *(f"{wanted}_{n}" for n in range(2, len(taken) + 3))) if own not in taken)
    columns = (*stage.columns, replace(column, name=own, hidden=True))
    return replace(stage, input=below, columns=columns, expressions=(*stage.expressions, Named(own, column.expression)))
