"""Stages: what a view does to rows, one frozen value per concept, from the scans of topics up to the rows of the view.

A *stage* has inputs (other stages), output columns, and expressions over the columns of its inputs, written in Spark
SQL. It names no Spark class: an executor walks the stages and does what each one says.

    Scan         the rows of a topic, a table's fold, or another view's derived topic; only the columns that are used
    Filter       rows for which a condition is true
    Project      computed columns
    Expand       one row per element (explode and its kin)
    Assign       window bounds added to each row, once per window the row is in
    Join         two inputs by equality, within a time bound, in the same window, or as of an instant
    Late         the rows that came too late for another view
    Union        the rows of several inputs
    Deduplicate  one row per key
    Aggregate    one row per group
    Over         a value per row from the rows around it
    TopN         the first rows of each partition
    Apply        a Python function on DataFrames

A *field* is an output column of a stage. Its *ancestors* are the columns of topics that its value derives from, and
its *role* says whether it carries time: the event time, the time of arrival, or a bound of a window. Roles travel with
a column through every stage that passes it on unchanged, which is how a later stage knows that a group ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from headwater import model
from headwater.errors import Origin
from headwater.plan.functions import Stability
from headwater.sql.spelling import spell_name


class Role(Enum):
    """How a column carries time."""

    EVENT_TIME = "event time"
    ARRIVAL_TIME = "arrival time"
    WINDOW_START = "window start"
    WINDOW_END = "window end"
    WINDOW_TIME = "window time"

    @property
    def bounds_window(self) -> bool:
        """Whether rows that are equal in this column belong to the same window."""
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


@dataclass(frozen=True)
class Expression:
    """An expression over the columns `reads` of a stage's inputs, in Spark SQL."""

    sql: str
    type: pa.DataType
    nullable: bool = True
    reads: tuple[str, ...] = ()

    @property
    def is_column(self) -> bool:
        """Whether it is a column of the input, unchanged."""
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


@dataclass(frozen=True)
class Call:
    """One aggregate call. `stability` says what re-batching does to it: see `plan.functions`."""

    name: str
    function: str
    expression: Expression
    stability: Stability = Stability.EXACT

    def __str__(self) -> str:
        return str(Named(self.name, self.expression))


@dataclass(frozen=True)
class Frame:
    """The rows around a row that an OVER looks at. A bound is a distance back (−) or ahead (+); None has no end.

    RANGE frames over event time have bounds in time, ROWS frames count rows.
    """

    unit: Literal["RANGE", "ROWS", "GROUPS"]
    start: timedelta | int | None
    end: timedelta | int | None

    @property
    def reach(self) -> timedelta | None:
        """How far from the row's own time the frame looks, where that is a duration."""
        bounds = (self.start, self.end)
        spans = [timedelta() if bound == 0 else bound for bound in bounds if self.unit == "RANGE"]
        found = [abs(span) for span in spans if isinstance(span, timedelta)]
        return max(found) if len(found) == len(bounds) else None


@dataclass(frozen=True)
class OverCall:
    """One window function: its partition, its order and its frame (None where the function has no frame)."""

    name: str
    function: str
    expression: Expression
    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    frame: Frame | None = None
    stability: Stability = Stability.EXACT

    def __str__(self) -> str:
        return str(Named(self.name, self.expression))


@dataclass(frozen=True)
class TimeBound:
    """`right` − `left` lies between `lower` and `upper`; `strict_…` bounds are exclusive."""

    left: str
    right: str
    lower: timedelta
    upper: timedelta
    strict_lower: bool = False
    strict_upper: bool = False

    @property
    def reach(self) -> timedelta:
        """How far apart in time two rows of a pair can be."""
        return max(abs(self.lower), abs(self.upper))

    def __str__(self) -> str:
        lower, upper = model.spell_duration(self.lower), model.spell_duration(self.upper)
        opening, closing = "(" if self.strict_lower else "[", ")" if self.strict_upper else "]"
        return f"r.{self.right} − l.{self.left} in {opening}{lower}, {upper}{closing}"


@dataclass(frozen=True)
class AsOf:
    """The right side is a versioned table, asked for its row as it was at the left side's column `time`."""

    time: str


JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True)
class Stage:
    """What every stage has: output columns, and where the author wrote what it does."""

    columns: tuple[Field, ...]
    origin: Origin | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages that this one reads."""
        return ()

    @property
    def visible(self) -> tuple[Field, ...]:
        """The columns that `*` stands for."""
        return tuple(found for found in self.columns if not found.hidden)

    def column(self, name: str) -> Field | None:
        """The output column of that name, without regard to case."""
        return next((found for found in self.columns if found.name.lower() == name.lower()), None)

    def with_role(self, *roles: Role) -> tuple[Field, ...]:
        """The columns that have one of these roles."""
        return tuple(found for found in self.columns if found.role in roles)

    def walk(self) -> Iterator[Stage]:
        """This stage and all below it, inputs first."""
        for stage in self.inputs:
            yield from stage.walk()
        yield self


@dataclass(frozen=True)
class Scan(Stage):
    """The rows of `relation`. `unique` are the columns that identify an event, read through the dedup on them.

    Of a view they are its final rows; `plan` is the fingerprint of the one that they come from, or of the upcasts that
    rows of earlier versions of a stream or table go through. With `within` an event
    is read once within that span of event time, the first in the log, and nothing is left to be unique. `key` are the
    columns that tell its rows apart: of a table, or of a stream the ones that identify an event and its time.
    """

    relation: str
    kind: Literal["stream", "table", "view"]
    time: str | None = None
    watermarked: bool = True
    unique: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    plan: str = ""
    within: timedelta | None = None


@dataclass(frozen=True)
class Unary(Stage):
    """A stage with one input."""

    input: Stage

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Filter(Unary):
    """Rows of the input for which `condition` is true."""

    condition: Expression


@dataclass(frozen=True)
class Project(Unary):
    """One computed column per expression, in order."""

    expressions: tuple[Named, ...]


@dataclass(frozen=True)
class Expand(Unary):
    """One row per element that `generator` gives for a row; `outer` keeps rows for which it gives none."""

    generator: Expression
    outputs: tuple[str, ...]
    outer: bool = False


@dataclass(frozen=True)
class Assign(Unary):
    """Each row once per window that its column `time`, moved by `shift`, falls in.

    Adds window_start, window_end and window_time. The rows of a windowed view happen at its window_time, so that its
    window_end is moved back to it.
    """

    window: model.Window
    time: str
    shift: timedelta = timedelta()


@dataclass(frozen=True)
class Late(Unary):
    """The rows of the input that came too late: for the windows that it assigns, or for their own column `time`.

    `grace` is how long the view that turned them away waits behind that. They happen when they came: `_watermark` is
    their event time. A row that was late for several windows is there once for each.
    """

    grace: timedelta
    time: str | None = None


@dataclass(frozen=True)
class Join(Stage):
    """Pairs of rows. `equal` are the pairs of expressions, over the left and over the right side, that must be equal.

    `residual` is the rest of the condition, the time bound included; it writes columns as `l.column` and `r.column`.
    At most one of `bound`, `window` (both sides in the same window) and `as_of` says why state is bounded.
    `renames` gives, for each output column, the side and the column that it comes from.
    """

    left: Stage
    right: Stage
    kind: JoinKind
    equal: tuple[tuple[Expression, Expression], ...]
    residual: Expression | None
    renames: tuple[tuple[Literal["left", "right"], str], ...]
    bound: TimeBound | None = None
    window: model.Window | None = None
    as_of: AsOf | None = None

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Union(Stage):
    """The rows of all branches; columns correspond by position and are named as in the first."""

    branches: tuple[Stage, ...]

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return self.branches


@dataclass(frozen=True)
class Deduplicate(Unary):
    """One row per `keys`: the first in `order`, or any where all columns are keys. `rank` names a column that is 1."""

    keys: tuple[Expression, ...]
    order: tuple[Ordering, ...] = ()
    rank: str | None = None


@dataclass(frozen=True)
class Aggregate(Unary):
    """One row per group; `having` speaks of the output columns. `window` is the window whose bounds are in the keys."""

    keys: tuple[Named, ...]
    aggregates: tuple[Call, ...]
    having: Expression | None = None
    window: model.Window | None = None


@dataclass(frozen=True)
class Over(Unary):
    """Every row of the input with one more column per window function."""

    functions: tuple[OverCall, ...]


@dataclass(frozen=True)
class TopN(Unary):
    """The first `limit` rows of each partition by `ranking`; `rank` names the rank where the query shows it."""

    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    limit: int
    ranking: Literal["row_number", "rank", "dense_rank"] = "row_number"
    rank: str | None = None


@dataclass(frozen=True)
class Apply(Stage):
    """A Python function of DataFrames, one per branch, in the order of its parameters.

    `source` is its text with what it uses of its project. A row is final once the watermark has come to the value of
    its column `time`.
    """

    branches: tuple[Stage, ...]
    module: str
    function: str
    source: str
    time: str
    call: Callable[..., Any] = field(compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return self.branches


STATELESS = (Scan, Filter, Project, Expand, Assign, Late, Union)
"""Stages that keep nothing between rows."""
