"""Events of an inlet that are bytes or rows: the piece that most inlets give."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from headwater.intake.decode import Decoded, Decoder
from headwater.intake.messages import Messages


@dataclass(frozen=True)
class Events:
    """Events of one source in their order, each with a number, and the position of the source behind them.

    `values` are JSON objects as bytes (None: an event without a value, which is a dead letter), or an Arrow table whose
    columns are found by name. A number is what a dead letter is found by, so the same event has the same one whenever
    it is read; often it is the event's own position.

    >>> from headwater.model import Column, Stream
    >>> decoder = Decoder(Stream(name="clicks", columns=(Column("n", pa.int32()),)))
    >>> decoded = Events("api", [b'{"n": 1}', b'{"n": "x"}'], [7, 8], after=9).decode(decoder, datetime.now(), ())
    >>> decoded.rows.to_pylist(), decoded.dead["position"].to_pylist()
    ([{'n': 1}], ['api:8'])
    """

    source: str
    values: Sequence[bytes | None] | pa.Table
    numbers: Sequence[int]
    after: int

    @property
    def where(self) -> str:
        """The source: a dead letter is at `source:number`."""
        return self.source

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The events as rows and dead letters; those of the numbers `without` are passed by."""
        kept = [index for index, number in enumerate(self.numbers) if number not in without]
        numbers = [self.numbers[index] for index in kept]
        if isinstance(self.values, pa.Table):
            decoded = decoder.decode(
                self.values.take(pa.array(kept, pa.int64())), source=self.source, where=_ROWS, arrived_at=arrived_at
            )
            return Decoded(decoded.rows, self._numbered(decoded.dead, numbers), decoded.unknown)
        values = pa.array([self.values[index] for index in kept], pa.binary())
        return decoder.decode(Messages(values, numbers), source=self.source, where=self.where, arrived_at=arrived_at)

    def _numbered(self, letters: pa.Table, numbers: Sequence[int]) -> pa.Table:
        """Dead letters of a table at the numbers of their events instead of their indices in it: `rows[3]`."""
        indices = [int(text[len(_ROWS) + 1 : -1]) for text in letters["position"].to_pylist()]
        positions = pa.array([f"{self.where}:{numbers[index]}" for index in indices], pa.string())
        at = letters.schema.get_field_index("position")
        return letters.set_column(at, letters.schema.field(at), positions)


_ROWS = "rows"
