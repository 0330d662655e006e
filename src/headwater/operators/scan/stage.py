"""Scan: the rows of a topic, of a table, or of another view's derived topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Literal

import pyarrow as pa

from headwater import model
from headwater.operators.stage import GroupKey, Identity, Stage, only
from headwater.operators.streaming import Streaming


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

    keeps_state: ClassVar[bool] = False

    @property
    def streaming(self) -> Streaming:
        once = "which of the events with one id is taken is decided over the log"
        return super().streaming._replace(obstacle=once if self.within is not None else None, stays_up=True)

    def pruned(self, needed: set[str]) -> Scan:
        """The same of some columns; those that tell the rows of a table apart are needed to know which are current."""
        kept = {*needed, *self.key} if self.kind == "table" else needed
        return replace(self, columns=only(self.columns, kept))

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        if self.kind == "view":
            return None
        return tuple(Identity(self.relation, name, self._plain(name)) for name in self.key) or None

    def _plain(self, name: str) -> str | None:
        """A column by which a store can find rows: of a value that is equal to itself alone."""
        column = self.column(name)
        if column is None or pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
            return None
        return column.name

    @property
    def group_key(self) -> GroupKey | None:
        if self.kind != "table":
            return None
        keys = tuple(column for name in self.key if (column := self.column(name)) is not None)
        return GroupKey(keys, {column.name: column.name for column in keys})

    @property
    def line(self) -> str:
        columns = ", ".join(column.name for column in self.columns)
        unique = f" unique by {', '.join(self.unique)}" if self.unique else ""
        once = f" once per id within {model.spell_duration(self.within)}" if self.within is not None else ""
        return f"Scan {self.kind} {self.relation}{unique}{once}: {columns or 'no column'}"


def scans_of(stage: Stage) -> Iterator[Scan]:
    """The scans that a stage reads, in the order of its inputs."""
    return (below for below in stage.walk() if isinstance(below, Scan))


def is_table(stage: Stage) -> bool:
    """Tells whether the rows of a stage are the current rows of a table rather than events."""
    return stage.is_stateless and any(scan.kind == "table" for scan in scans_of(stage))
