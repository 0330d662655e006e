"""Types, names and values of Spark SQL as DuckDB spells them.

Every type has one spelling, so that a value keeps its type on the way through DuckDB. Two have none of their own there:
an INTERVAL DAY TO SECOND is a number of microseconds, and a type that DuckDB has no values of (VARIANT, INTERVAL YEAR
TO MONTH, and what holds one of them) is *opaque*: a number stands for each of its values, which can be shown, counted
and tested for NULL, and nothing else.
"""

from __future__ import annotations

from headwater.plan.spark_type import SparkType

MICROSECONDS_OF_A_DAY = 86_400_000_000
_NAMES = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "string": "VARCHAR", "binary": "BLOB", "date": "DATE",
    "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP", "time": "TIME", "day_time": "BIGINT",
    "void": "INTEGER",
}  # fmt: skip


def is_opaque(kind: SparkType) -> bool:
    """Tells whether DuckDB has no values of a type.

    >>> from headwater.plan.spark_type import VARIANT, array
    >>> is_opaque(array(VARIANT))
    True
    """
    nested_interval = any(part.name == "day_time" for part in kind.parts)
    return (
        kind.name in ("variant", "year_month", "interval", "void") or nested_interval or any(map(is_opaque, kind.parts))
    )


def type_name(kind: SparkType) -> str:
    """A type as DuckDB spells it.

    >>> from headwater.plan.spark_type import STRING, array, decimal, map_of
    >>> type_name(map_of(STRING, array(decimal(12, 2))))
    'MAP(VARCHAR, DECIMAL(12, 2)[])'
    """
    if is_opaque(kind):
        return "BIGINT"
    if kind.name == "decimal":
        return f"DECIMAL({kind.digits[0]}, {kind.digits[1]})"
    if kind.name == "array":
        return f"{type_name(kind.element)}[]"
    if kind.name == "map":
        return f"MAP({type_name(kind.key)}, {type_name(kind.value)})"
    if kind.name == "struct":
        fields = (f"{name(label)} {type_name(part)}" for label, part in zip(kind.labels, kind.parts, strict=True))
        return f"STRUCT({', '.join(fields)})"
    return _NAMES[kind.name]


def name(text: str) -> str:
    """A name, whatever characters it has."""
    return '"' + text.replace('"', '""') + '"'


def text_of(value: str) -> str:
    """A text, whatever characters it has.

    >>> text_of("it's")
    "'it''s'"
    """
    parts = ("'" + part.replace("'", "''") + "'" for part in value.split("\0"))
    joined = " || chr(0) || ".join(parts)
    return f"({joined})" if "\0" in value else joined


def cast(text: str, kind: SparkType) -> str:
    """An expression, of this type whatever DuckDB would make of it."""
    return f"CAST({text} AS {type_name(kind)})"
