"""A view: a query kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Literal

from headwater.errors import Origin
from headwater.model.column import Column
from headwater.model.duration import FOREVER
from headwater.model.lateness import LatePolicy
from headwater.model.serving import Serving


class Emit(Enum):
    """The moment to write rows of a view: as they change, or once when they are settled."""

    CHANGES = "changes"
    FINAL = "final"


ViewExecution = Literal["live", "settle", "batch"]
"""The ways to keep a view up to date."""


@dataclass(frozen=True)
class SqlQuery:
    """A query in our dialect, in its canonical spelling; two spellings of one query are equal.

    `written` is the text as its author wrote it and `origin` where it starts, so that a finding can point into it.
    """

    sql: str
    written: str = field(default="", compare=False, repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class PythonQuery:
    """A function from DataFrames to a DataFrame. Its parameters name what it reads; `columns` is what it returns.

    `time` is the column that says when a row is final; None if it has the name of a time of its inputs. `gap` is the
    longest gap of the sessions that it makes; None if it doesn't say.
    """

    module: str
    qualified_name: str
    source: str
    inputs: tuple[str, ...]
    columns: tuple[Column, ...]
    function: Callable[..., Any] = field(compare=False, repr=False)
    time: str | None = None
    gap: timedelta | None = None


Query = SqlQuery | PythonQuery


@dataclass(frozen=True, kw_only=True)
class View:
    """A declared view. `materialized` views are kept in a store; others are inlined where they are read.

    `emit` and `execution` None let the planner choose. `horizon` is how far back an input can matter where the planner
    can't derive it. `retention` is how long a row counts in groups that nothing ends; `FOREVER`: always. `every` is how
    often rows that are not final are shown anew. `store` may name several stores, with commas between them: the first
    one leads.
    """

    name: str
    query: Query
    materialized: bool = True
    grace: timedelta = timedelta()
    late: LatePolicy = "keep"
    emit: Emit | None = None
    every: timedelta | None = None
    store: str | None = None
    key: tuple[str, ...] = ()
    horizon: timedelta | None = None
    retention: timedelta | None = None
    execution: ViewExecution | None = None
    serving: Serving = field(default_factory=Serving)
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def is_forever(self) -> bool:
        """Tells whether every row counts for ever: none is late, and none is let go of."""
        return self.retention == FOREVER

    @property
    def stores(self) -> tuple[str, ...]:
        """The stores that it names, the one that leads first; none: the default store."""
        return () if self.store is None else tuple(name.strip() for name in self.store.split(","))
