"""Column types. A type is an Arrow type; this module names each one as Spark SQL does.

Spark SQL's types and Arrow's correspond one to one here:

    BOOLEAN bool_          TINYINT int8        SMALLINT int16      INT int32           BIGINT int64
    FLOAT float32          DOUBLE float64      DECIMAL decimal128  STRING string       BINARY binary
    DATE date32            TIMESTAMP timestamp[us, UTC]            TIMESTAMP_NTZ timestamp[us]
    TIME time64[us]        INTERVAL DAY TO SECOND duration[us]     INTERVAL YEAR TO MONTH month_day_nano
    ARRAY list             MAP map             STRUCT struct       VOID null           VARIANT `Variant`
"""

from __future__ import annotations

import pyarrow as pa

INSTANT = pa.timestamp("us", "UTC")


class Variant(pa.ExtensionType):  # type: ignore[misc]  # pyarrow ships no types
    """Spark's VARIANT: a value that carries its own type. Views may compute with it; the log can't keep it."""

    def __init__(self) -> None:
        super().__init__(pa.struct([("value", pa.binary()), ("metadata", pa.binary())]), "headwater.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Variant:
        return cls()

    def __hash__(self) -> int:
        return hash(self.extension_name)


_NAMES: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    INSTANT: "TIMESTAMP",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.time64("us"): "TIME",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
    pa.month_day_nano_interval(): "INTERVAL YEAR TO MONTH",
    pa.null(): "VOID",
}


def spell_type(kind: pa.DataType) -> str:
    """The type as Spark SQL writes it.

    >>> spell_type(pa.map_(pa.string(), pa.decimal128(12, 2)))
    'MAP<STRING, DECIMAL(12, 2)>'
    """
    if isinstance(kind, Variant):
        return "VARIANT"
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_map(kind):
        return f"MAP<{spell_type(kind.key_type)}, {spell_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{spell_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{field.name}: {spell_type(field.type)}" for field in kind)
        return f"STRUCT<{fields}>"
    try:
        return _NAMES[kind]
    except KeyError:
        raise ValueError(f"{kind} has no Spark SQL type") from None


def is_number(kind: pa.DataType) -> bool:
    """Tells whether values of a type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def can_be_logged(kind: pa.DataType) -> bool:
    """Tells whether the log (a Delta table) can keep a column of this type."""
    if pa.types.is_map(kind):
        return can_be_logged(kind.key_type) and can_be_logged(kind.item_type)
    if pa.types.is_list(kind):
        return can_be_logged(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(can_be_logged(field.type) for field in kind)
    if isinstance(kind, Variant) or pa.types.is_null(kind) or pa.types.is_interval(kind):
        return False
    return not (pa.types.is_duration(kind) or pa.types.is_time(kind))
