"""A topic: streams and tables are both kept as a named log of typed events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pyarrow as pa

from headwater.errors import Origin
from headwater.model.column import Column, schema_of
from headwater.model.intake import Intake
from headwater.model.lateness import WatermarkStrategy
from headwater.model.upcast import Upcast


@dataclass(frozen=True)
class Personal:
    """`PERSONAL (name, email) OF customer_id`: columns encrypted under the key of the person they speak of."""

    columns: tuple[str, ...]
    subject: str


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A declared topic. `time` is the event-time column; without one the topic can't be used where time is.

    `idle` is how long a source may be silent before the watermark stops waiting for it (None: it always waits).
    `max_ahead` is how far an event time may lie ahead of its arrival (None: any distance). `intake` is where events are
    fetched from (None: they are appended by calls). `version` counts declarations whose rows mean something else; those
    of earlier versions come to it by `upcasts`. `unknown_fields` says what becomes of fields of an event that no column
    declares: `ignore` (they are counted), `dead` (the event is a dead letter) or `keep NAME` (they are values of that
    column, a MAP<STRING, STRING>).
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    watermark: WatermarkStrategy | None = None
    idle: timedelta | None = None
    max_ahead: timedelta | None = timedelta(days=1)
    personal: tuple[Personal, ...] = ()
    intake: Intake | None = None
    version: int = 1
    unknown_fields: str = "ignore"
    upcasts: tuple[Upcast, ...] = ()
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The payload as the log keeps it."""
        return schema_of(self.columns)

    @property
    def keeps_in(self) -> str | None:
        """The column that keeps fields which no column declares, if they are kept."""
        way, _, name = self.unknown_fields.partition(" ")
        return name if way == "keep" else None

    def column(self, name: str) -> Column | None:
        """The column of that name, if there is one; names are compared without regard to case, as Spark does."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)
