"""A table: the fold of a changelog by key."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from headwater.model.topic import Topic


@dataclass(frozen=True, kw_only=True)
class Table(Topic):
    """The newest row per primary key of a changelog; *versioned* when its changes have event time and watermark."""

    primary_key: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The payload as the log keeps it: a delete may leave out every column but the key and the event time."""
        always = {name.lower() for name in (*self.primary_key, self.time or "")}
        fields = (column.field for column in self.columns)
        return pa.schema([field if field.name.lower() in always else field.with_nullable(True) for field in fields])

    @property
    def versioned(self) -> bool:
        """Tells whether `FOR SYSTEM_TIME AS OF` can ask for the row as it was at an instant."""
        return self.time is not None and self.watermark is not None
