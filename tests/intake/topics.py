"""Topics that the tests of intake share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from headwater.intake import Decoder
from headwater.model import INSTANT, Bounded, Column, Stream, Table

ARRIVED_AT = datetime(2024, 1, 2, tzinfo=UTC)

ORDERS = Stream(
    name="orders",
    columns=(
        Column("id", pa.string(), nullable=False),
        Column("customer", pa.string()),
        Column("amount", pa.decimal128(12, 2)),
        Column("quantity", pa.int32()),
        Column("weight", pa.float64()),
        Column("at", INSTANT),
    ),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
    unique=("id",),
    max_ahead=timedelta(minutes=1),
)

PRICES = Table(
    name="prices",
    columns=(Column("item", pa.string(), nullable=False), Column("price", pa.decimal128(8, 2), nullable=False)),
    primary_key=("item",),
)


def stream_of(*columns: Column, **options: object) -> Stream:
    """A stream without time, of these columns."""
    return Stream(name="events", columns=columns, **options)  # type: ignore[arg-type]


def decoder_of(kind: pa.DataType) -> Decoder:
    """A decoder of a stream with one column `a` of that type."""
    return Decoder(stream_of(Column("a", kind)))
