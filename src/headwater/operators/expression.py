"""Columns and expressions: what the stages of a view speak of.

A *field* is an output column of a stage. Its *ancestors* are the columns of topics that its value derives from, and
its *role* says whether it carries time: the event time, the time of arrival, or a bound of a window. Roles travel with
a column through every stage that passes it on unchanged, which is how a later stage knows that a group ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.sql import parse_expression, spell, spell_name


class Role(Enum):
    """The time that a column carries."""

    EVENT_TIME = "event time"
    ARRIVAL_TIME = "arrival time"
    WINDOW_START = "window start"
    WINDOW_END = "window end"
    WINDOW_TIME = "window time"

    @property
    def bounds_window(self) -> bool:
        """Tells whether rows that are equal in this column belong to the same window."""
        return self in (Role.WINDOW_START, Role.WINDOW_END, Role.WINDOW_TIME)


class Ancestor(NamedTuple):
    """A column of a topic that a value derives from."""

    topic: str
    column: str

    def __str__(self) -> str:
        return f"{self.topic}.{self.column}"


@dataclass(frozen=True)
class Field:
    """An output column of a stage.

    `hidden` columns of a topic can be named, and `*` leaves them out. The value of one that `varies` depends on which
    copy of a duplicate survives.
    """

    name: str
    type: pa.DataType
    nullable: bool = True
    ancestors: frozenset[Ancestor] = frozenset()
    role: Role | None = None
    window: model.Window | None = None
    hidden: bool = False
    varies: bool = False

    @property
    def column(self) -> model.Column:
        """The field as a column of a view."""
        return model.Column(self.name, self.type, self.nullable)

    @property
    def expression(self) -> Expression:
        """The column, unchanged, as an expression over the stage."""
        name = exp.column(exp.to_identifier(self.name, quoted=spell_name(self.name) != self.name))
        return Expression(spell_name(self.name), self.type, self.nullable, (self.name,), tree=name)

    @property
    def is_window_bound(self) -> bool:
        """Tells whether it is a bound of a window."""
        return self.role is not None and self.role.bounds_window

    @property
    def is_time(self) -> bool:
        """Tells whether all rows with one value of it are there at some instant. Growing windows share a start."""
        grows = isinstance(self.window, model.Cumulate | model.Session)
        return self.role is not None and not (self.role is Role.WINDOW_START and grows)


@dataclass(frozen=True)
class Expression:
    """An expression over the columns `reads` of a stage's inputs: its `tree`, and how that is spelled in Spark SQL.

    Whoever changes the tree does so on a copy.
    """

    sql: str
    type: pa.DataType
    nullable: bool = True
    reads: tuple[str, ...] = ()
    tree: exp.Expr = field(compare=False, repr=False, kw_only=True)

    @staticmethod
    def of(tree: exp.Expr, kind: pa.DataType, nullable: bool = True, reads: tuple[str, ...] = ()) -> Expression:
        """An expression by its tree."""
        return Expression(spell(tree), kind, nullable, reads, tree=tree)

    @staticmethod
    def read(text: str, kind: pa.DataType, nullable: bool = True, reads: tuple[str, ...] = ()) -> Expression:
        """An expression as somebody has written it."""
        return Expression(text, kind, nullable, reads, tree=parse_expression(text))

    @property
    def is_column(self) -> bool:
        """Tells whether it is a column of the input, unchanged."""
        return len(self.reads) == 1 and self.sql == spell_name(self.reads[0])

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column that it becomes."""

    name: str
    expression: Expression

    def __str__(self) -> str:
        return (
            self.name
            if self.expression.sql == spell_name(self.name)
            else f"{self.expression} AS {spell_name(self.name)}"
        )


@dataclass(frozen=True)
class Ordering:
    """One term of an ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        nulls = "" if self.nulls_first != self.descending else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{self.expression}{' DESC' if self.descending else ''}{nulls}"


def read_by(expressions: Iterable[Expression]) -> set[str]:
    """The columns that some expressions read."""
    return {name for expression in expressions for name in expression.reads}


def read_by_order(order: Iterable[Ordering]) -> set[str]:
    """The columns that rows are ordered by."""
    return read_by(term.expression for term in order)


def listed(parts: Iterable[object]) -> str:
    """Things one behind the other, as a stage is described."""
    return ", ".join(str(part) for part in parts)
