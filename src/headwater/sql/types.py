"""Types: from text and from sqlglot's types to Arrow's, and back.

Flink's and others' names are read as the Spark type they mean: BYTES and VARBINARY as BINARY, ROW as STRUCT,
TIMESTAMP(3) as TIMESTAMP (always microseconds), TIMESTAMP_LTZ as TIMESTAMP, VARCHAR(n) and CHAR(n) as STRING.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from headwater.findings import UnknownType
from headwater.model import INSTANT, Variant
from headwater.sql.foreign import TYPES

TYPE_NAMES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "BINARY", "DATE",
    "TIMESTAMP", "TIMESTAMP_NTZ", "TIME", "INTERVAL", "VARIANT", "VOID", "ARRAY", "MAP", "STRUCT",
)  # fmt: skip

_ARROW: dict[exp.DType, pa.DataType] = {
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.TEXT: pa.string(),
    exp.DType.VARCHAR: pa.string(),
    exp.DType.CHAR: pa.string(),
    exp.DType.BINARY: pa.binary(),
    exp.DType.VARBINARY: pa.binary(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: INSTANT,
    exp.DType.TIMESTAMPTZ: INSTANT,
    exp.DType.TIMESTAMPLTZ: INSTANT,
    exp.DType.TIMESTAMPNTZ: pa.timestamp("us"),
    exp.DType.TIME: pa.time64("us"),
    exp.DType.INTERVAL: pa.month_day_nano_interval(),
    exp.DType.NULL: pa.null(),
    exp.DType.VARIANT: Variant(),
}
_SQLGLOT: dict[pa.DataType, exp.DType] = {
    arrow: kind
    for kind, arrow in _ARROW.items()
    if kind not in (exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.VARBINARY, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPLTZ)
}
_MONTHS = ("YEAR", "MONTH")


def arrow_type(kind: exp.DataType) -> pa.DataType:
    """The Arrow type of a type in a syntax tree; `UnknownType` if it has none.

    >>> arrow_type(exp.DataType.from_str("ARRAY<DECIMAL(12, 2)>", dialect="spark"))
    ListType(list<item: decimal128(12, 2)>)
    """
    if isinstance(kind.this, exp.Interval):
        return _interval_type(kind.this)
    if kind.this == exp.DType.DECIMAL:
        return _decimal_type(kind)
    if kind.this in (exp.DType.ARRAY, exp.DType.LIST) and len(kind.expressions) == 1:
        return pa.list_(_element("item", kind.expressions[0]))
    if kind.this == exp.DType.MAP and len(kind.expressions) == 2:
        return _map_type(arrow_type(kind.expressions[0]), _element("value", kind.expressions[1]))
    if kind.this == exp.DType.STRUCT:
        return pa.struct([_field(part) for part in kind.expressions])
    try:
        return _ARROW[kind.this]
    except KeyError:
        raise _refused(kind) from None


def _refused(kind: exp.DataType, detail: str | None = None) -> UnknownType:
    name = kind.this.value if isinstance(kind.this, exp.DType) else str(kind.this)
    hint = TYPES.get(name.upper()) or f"The types are {', '.join(TYPE_NAMES)}."
    return UnknownType(f'"{name}" is not a type of Spark SQL', detail=detail, hint=hint)


def _interval_type(unit: exp.Interval) -> pa.DataType:
    words = unit.args["unit"]
    first = words.this if isinstance(words, exp.IntervalSpan) else words
    return pa.month_day_nano_interval() if first.name.upper() in _MONTHS else pa.duration("us")


def _decimal_type(kind: exp.DataType) -> pa.DataType:
    sizes = [int(part.name) for part in kind.expressions]
    precision, scale = (*sizes, *(10, 0)[len(sizes) :])
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise UnknownType(
            f"DECIMAL({precision}, {scale}) is not a type",
            detail="A decimal has 1 to 38 digits, and at most all of them behind the point.",
        )
    return pa.decimal128(precision, scale)


def _element(name: str, part: exp.DataType) -> pa.Field:
    """The element of an ARRAY or a MAP: `T`, or `T NOT NULL`."""
    kind, required = arrow_type(part), part.args.get("nullable") is False
    if required and pa.types.is_null(kind):
        raise UnknownType("what an ARRAY or a MAP is of is VOID and NOT NULL", detail="Nothing can be written to it.")
    return pa.field(name, kind, nullable=not required)


def _map_type(key: pa.DataType, value: pa.Field) -> pa.DataType:
    if pa.types.is_null(key):
        raise UnknownType("the key of a MAP is VOID", detail="A key is never NULL.")
    return pa.map_(key, value)


def _field(part: exp.Expr) -> pa.Field:
    if not isinstance(part, exp.ColumnDef) or not isinstance(part.kind, exp.DataType):
        raise UnknownType("a field of a STRUCT lacks its name or its type", hint="Write STRUCT<name: TYPE, …>.")
    required = any(isinstance(constraint.kind, exp.NotNullColumnConstraint) for constraint in part.constraints)
    kind = arrow_type(part.kind)
    if required and pa.types.is_null(kind):
        raise UnknownType(f'the field "{part.name}" is VOID and NOT NULL', detail="Nothing can be written to it.")
    return pa.field(part.name, kind, nullable=not required)


def sqlglot_type(kind: pa.DataType) -> exp.DataType:
    """The type as sqlglot knows it, so that types of expressions can be derived; the inverse of `arrow_type`."""
    if pa.types.is_decimal128(kind):
        sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (kind.precision, kind.scale)]
        return exp.DataType(this=exp.DType.DECIMAL, expressions=sizes)
    if pa.types.is_duration(kind):
        span = exp.IntervalSpan(this=exp.var("DAY"), expression=exp.var("SECOND"))
        return exp.DataType(this=exp.Interval(unit=span))
    if pa.types.is_map(kind):
        return _nested(exp.DType.MAP, [sqlglot_type(kind.key_type), _of(kind.item_field)])
    if pa.types.is_list(kind):
        return _nested(exp.DType.ARRAY, [_of(kind.value_field)])
    if pa.types.is_struct(kind):
        return _nested(exp.DType.STRUCT, [_column_def(field) for field in kind])
    if kind not in _SQLGLOT:
        raise UnknownType(f'"{kind}" is not a type of Spark SQL')
    return exp.DataType(this=_SQLGLOT[kind])


def cast(value: exp.Expr, kind: pa.DataType) -> exp.Cast:
    """The value in a type: of elements, Spark's CAST can't say that they are NOT NULL."""
    target = sqlglot_type(kind)
    for part in target.find_all(exp.DataType):
        part.set("nullable", None)
    return exp.Cast(this=value, to=target)


def _nested(kind: exp.DType, parts: list[exp.Expr]) -> exp.DataType:
    return exp.DataType(this=kind, expressions=parts, nested=True)


def _of(field: pa.Field) -> exp.DataType:
    kind = sqlglot_type(field.type)
    if not field.nullable:
        kind.set("nullable", False)
    return kind


def _column_def(field: pa.Field) -> exp.ColumnDef:
    constraints = [] if field.nullable else [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())]
    name = exp.to_identifier(field.name)
    return exp.ColumnDef(this=name, kind=sqlglot_type(field.type), constraints=constraints)


def has_length(kind: exp.DataType) -> bool:
    """Tells whether VARCHAR(n) or CHAR(n) occurs in the type."""
    return any(part.this in (exp.DType.VARCHAR, exp.DType.CHAR) for part in kind.find_all(exp.DataType))
