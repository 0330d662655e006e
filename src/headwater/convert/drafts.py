"""Drafts: the declarations that come of a file of another system, until they are written.

A *note* is a sentence about something that couldn't be carried over as it was, and what to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp


@dataclass
class Column:
    """A column of a stream or table: its type in our spelling, and what stood behind it."""

    name: str
    type: str
    required: bool = False
    comment: str | None = None
    alias: str | None = None


@dataclass
class Draft:
    """The part that all declarations have: a name, the comment above them, and notes."""

    name: str
    comment: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Topic(Draft):
    """A stream, or a table if it has a primary key.

    `computed` are columns that are expressions, by name; `arrivals` those that are the time of processing. `given` are
    the options as the other system has them, which say where it is written to if queries insert into it.
    """

    columns: list[Column] = field(default_factory=list)
    computed: dict[str, str] = field(default_factory=dict)
    arrivals: list[str] = field(default_factory=list)
    time: str | None = None
    delay: str = ""
    primary_key: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def column(self, name: str) -> Column | None:
        """The column of that name, in whichever case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass
class View(Draft):
    """A view and the tree of its query."""

    query: exp.Query = field(default_factory=exp.Select)
    materialized: bool = True
    emit: str | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass
class Outlet(Draft):
    """A view that is sent on."""

    view: str = ""
    to: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass
class Remark(Draft):
    """A statement that has no counterpart, kept as a comment: `name` is its text, `notes` say why."""


@dataclass(frozen=True)
class Insert:
    """A query whose rows go into something that is declared elsewhere; the columns by name, if they are named."""

    into: str
    columns: tuple[str, ...]
    view: View


@dataclass
class Conversion:
    """All that has come of the statements so far, in their order.

    `connections` are what others declare apart from their sources, by name; `delays` the watermarks that queries ask of
    what they read.
    """

    system: str
    drafts: list[Draft] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)
    connections: dict[str, dict[str, str]] = field(default_factory=dict)
    delays: list[tuple[str, str, str]] = field(default_factory=list)
    retention: str | None = None

    def find(self, name: str) -> Draft | None:
        """The declaration of that name, in whichever case."""
        named = (draft for draft in self.drafts if not isinstance(draft, (Remark, Outlet)))
        return next((draft for draft in named if draft.name.lower() == name.lower()), None)

    def topics(self) -> Iterator[Topic]:
        """The streams and tables."""
        return (draft for draft in self.drafts if isinstance(draft, Topic))

    def replace(self, draft: Draft, *others: Draft) -> None:
        """Put others in the place of a draft."""
        at = next(index for index, known in enumerate(self.drafts) if known is draft)
        self.drafts[at : at + 1] = others
