"""Scopes: the columns that the expressions of one SELECT can name.

A *source* is one item of FROM, with the names of its columns as the author writes them. Behind a join, columns of both
sides live in one stage and must differ, so that a source also says what each of its columns is called there: its
*column*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.operators import Field, Role, Stage
from headwater.plan.context import Relation
from headwater.sql import ROWTIME


@dataclass(frozen=True)
class Source:
    """One item of FROM: the names of its visible columns, and the column of the stage by each name in lower case."""

    name: str
    visible: tuple[str, ...]
    columns: Mapping[str, str]
    complete: bool = True

    @classmethod
    def of(cls, name: str, relation: Relation) -> Source:
        """A source whose columns have the names that they have in the relation."""
        stage = relation.stage
        columns = {field.name.lower(): field.name for field in stage.columns}
        return cls(name, tuple(field.name for field in stage.visible), columns, relation.complete)

    def moved(self, renames: Mapping[str, str]) -> Source:
        """The same source after a join that renamed some columns."""
        columns = {name: renames[column] for name, column in self.columns.items() if column in renames}
        return replace(self, columns=columns, visible=tuple(name for name in self.visible if name.lower() in columns))


@dataclass(frozen=True)
class Scope:
    """The sources of a SELECT and the stage that has their columns. `merged` are the columns that USING made one."""

    stage: Stage
    sources: tuple[Source, ...]
    merged: Mapping[str, str]

    @classmethod
    def of(cls, name: str, relation: Relation) -> Scope:
        """The scope of a FROM with one item."""
        return cls(relation.stage, (Source.of(name, relation),), {})

    @property
    def complete(self) -> bool:
        """Tells whether the columns of all sources are known."""
        return all(source.complete for source in self.sources)

    def source(self, name: str) -> Source | None:
        """The source of that name, without regard to case."""
        return next((source for source in self.sources if source.name.lower() == name.lower()), None)

    def find(self, name: str, source: str | None = None) -> list[Field]:
        """The fields that a column's name can stand for; one, unless it is unknown or ambiguous."""
        if source is None and name.lower() in self.merged:
            return self._fields([self.merged[name.lower()]])
        sources = self.sources if source is None else [item for item in [self.source(source)] if item]
        fields = self._fields([item.columns[name.lower()] for item in sources if name.lower() in item.columns])
        return self._times(sources) if name.lower() == ROWTIME and not fields else fields

    def _times(self, sources: Sequence[Source]) -> list[Field]:
        """The event times of sources, which `rowtime` stands for where no column has that name."""
        shown = [field for item in sources for field in self._fields([item.columns[n.lower()] for n in item.visible])]
        return [field for field in shown if field.role is Role.EVENT_TIME]

    def _fields(self, names: list[str]) -> list[Field]:
        return [field for name in names if (field := self.stage.column(name)) is not None]

    def star(self, source: str | None = None) -> list[tuple[str, Field]]:
        """The columns that `*` or `source.*` stands for, each with the name it has for the author."""
        columns: list[tuple[str, Field]] = []
        for item in self.sources:
            if source is None or item.name.lower() == source.lower():
                columns += [(name, field) for name in item.visible for field in self.find(name, item.name)]
        merged = {column for name, column in self.merged.items()}
        return [
            (name, field)
            for name, field in columns
            if source is not None or name.lower() not in self.merged or field.name in merged
        ]

    def spell(self, column: str) -> str:
        """A column of the stage as its author would write it."""
        owners = ((source, name) for source in self.sources for name in source.visible)
        spellings = ((source, name) for source, name in owners if source.columns[name.lower()] == column)
        return next((f"{source.name}.{name}" if source.name else name for source, name in spellings), column)

    def names(self) -> list[str]:
        """Every column that can be named, as a suggestion for a misspelled one."""
        return [name for source in self.sources for name in source.visible]

    def on(self, stage: Stage) -> Scope:
        """The same names over a stage that has the same columns and perhaps more."""
        return replace(self, stage=stage)
