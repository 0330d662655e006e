"""Spark SQL's types as values, spelled as Spark spells them (`array<decimal(12,2)>`, `interval day to second`).

Arrow's types are what a project declares and what the log keeps; they can't say everything that Spark's analyzer
needs to know: which fields an interval has (a DATE plus an interval of days is a DATE, plus one of hours a TIMESTAMP)
or that a type isn't known at all. `SparkType` can, and turns into an Arrow type or a sqlglot type where one is asked
for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pyarrow as pa
from sqlglot import exp

from headwater.model import INSTANT, Variant

DAY_TIME_FIELDS = ("day", "hour", "minute", "second")
YEAR_MONTH_FIELDS = ("year", "month")


@dataclass(frozen=True)
class SparkType:
    """A type: its name, the types inside it, the names of its fields, its numbers.

    >>> str(SparkType("map", (STRING, decimal(12, 2))))
    'map<string,decimal(12,2)>'
    """

    name: str
    parts: tuple[SparkType, ...] = ()
    labels: tuple[str, ...] = ()
    digits: tuple[int, ...] = ()

    @cached_property
    def _spelled(self) -> str:
        if self.name == "struct":
            fields = (f"{label}:{part}" for label, part in zip(self.labels, self.parts, strict=True))
            return f"struct<{','.join(fields)}>"
        if self.parts:
            return f"{self.name}<{','.join(map(str, self.parts))}>"
        if self.labels:
            return "interval " + " to ".join(dict.fromkeys(self.labels))
        return f"{self.name}({','.join(map(str, self.digits))})" if self.digits else self.name

    def __str__(self) -> str:
        return self._spelled

    @property
    def is_known(self) -> bool:
        """Tells whether the type, and every type inside it, could be derived."""
        return self.name != "unknown" and all(part.is_known for part in self.parts)

    @property
    def is_integral(self) -> bool:
        """TINYINT, SMALLINT, INT or BIGINT."""
        return self.name in ("tinyint", "smallint", "int", "bigint")

    @property
    def is_floating(self) -> bool:
        """FLOAT or DOUBLE."""
        return self.name in ("float", "double")

    @property
    def is_numeric(self) -> bool:
        """Any number."""
        return self.is_integral or self.is_floating or self.name == "decimal"

    @property
    def is_timestamp(self) -> bool:
        """TIMESTAMP or TIMESTAMP_NTZ."""
        return self.name in ("timestamp", "timestamp_ntz")

    @property
    def is_ansi_interval(self) -> bool:
        """INTERVAL DAY TO SECOND, INTERVAL YEAR TO MONTH, or a part of one of them."""
        return self.name in ("day_time", "year_month")

    @property
    def is_atomic(self) -> bool:
        """Tells whether it has no parts and is a type that a string can be read as."""
        return not self.parts and self.name not in ("struct", "void", "interval", "unknown")

    @property
    def element(self) -> SparkType:
        """The type of an array's elements."""
        return self.parts[0] if self.name == "array" else UNKNOWN

    @property
    def key(self) -> SparkType:
        """The type by which a map is looked up."""
        return self.parts[0] if self.name == "map" else UNKNOWN

    @property
    def value(self) -> SparkType:
        """The type of a map's values."""
        return self.parts[1] if self.name == "map" else UNKNOWN

    def field(self, name: str) -> SparkType | None:
        """The type of a struct's field, whose name is compared without regard to case."""
        lowered = name.lower()
        types = (part for label, part in zip(self.labels, self.parts, strict=True) if label.lower() == lowered)
        return next(types, None) if self.name == "struct" else None


BOOLEAN = SparkType("boolean")
TINYINT = SparkType("tinyint")
SMALLINT = SparkType("smallint")
INT = SparkType("int")
BIGINT = SparkType("bigint")
FLOAT = SparkType("float")
DOUBLE = SparkType("double")
STRING = SparkType("string")
BINARY = SparkType("binary")
DATE = SparkType("date")
TIMESTAMP = SparkType("timestamp")
TIMESTAMP_NTZ = SparkType("timestamp_ntz")
TIME = SparkType("time", digits=(6,))
CALENDAR_INTERVAL = SparkType("interval")
VOID = SparkType("void")
VARIANT = SparkType("variant")
UNKNOWN = SparkType("unknown")
"""The type of an expression that couldn't be derived; nothing is reported about what is built on it."""


def decimal(precision: int, scale: int) -> SparkType:
    """DECIMAL(precision, scale)."""
    return SparkType("decimal", digits=(precision, scale))


def array(element: SparkType) -> SparkType:
    """ARRAY<element>."""
    return SparkType("array", (element,))


def map_of(key: SparkType, value: SparkType) -> SparkType:
    """MAP<key, value>."""
    return SparkType("map", (key, value))


def struct(*fields: tuple[str, SparkType]) -> SparkType:
    """STRUCT<name: type, …>."""
    return SparkType("struct", tuple(kind for _, kind in fields), tuple(name for name, _ in fields))


def interval(start: str, end: str) -> SparkType:
    """INTERVAL start TO end, or INTERVAL start where they are the same."""
    return SparkType("day_time" if start in DAY_TIME_FIELDS else "year_month", labels=(start, end))


DECIMAL_SECONDS = decimal(8, 6)
"""Seconds with their fraction, as EXTRACT gives them."""
DAY_TO_SECOND = interval("day", "second")
YEAR_TO_MONTH = interval("year", "month")

# Text

_ALIASES = {
    "byte": TINYINT, "short": SMALLINT, "integer": INT, "long": BIGINT, "real": FLOAT, "bool": BOOLEAN, "text": STRING,
    "timestamp_ltz": TIMESTAMP, "timestampltz": TIMESTAMP, "timestamptz": TIMESTAMP, "null": VOID, "time": TIME,
}  # fmt: skip
_SIMPLE = {str(kind): kind for kind in (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, VOID,
    VARIANT, UNKNOWN,
)} | _ALIASES  # fmt: skip
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|\$?[\w.]+|'(?:[^'\\]|\\.)*'|[<>(),:])")


class TypeText:
    """A reader of types as text: Spark's own spelling, SQL's, and the column lists that `from_json` takes."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def whole(self) -> SparkType:
        """The type that the text spells, or the struct of the columns that it lists."""
        start = self._at
        try:
            kind = self.kind()
            if self._at == len(self._tokens):
                return kind
        except ValueError:
            pass
        self._at = start
        columns = self._fields("")
        return struct(*columns)

    def kind(self) -> SparkType:
        """The next type."""
        name = self._next().lower()
        if name in ("decimal", "dec", "numeric"):
            precision, *scale = self._numbers() or [10]
            return decimal(precision, *(scale or [0]))
        if name in ("varchar", "char", "character"):
            self._numbers()
            return STRING
        if name == "time":
            return SparkType("time", digits=tuple(self._numbers() or [6]))
        if name == "interval":
            return self._interval()
        if name in ("array", "map", "struct"):
            return self._nested(name)
        return self._simple(name)

    def _simple(self, name: str) -> SparkType:
        if name not in _SIMPLE:
            raise ValueError(f"{name!r} is not a type")
        if name == "string" and self._peek().lower() == "collate":
            self._at += 2
        return _SIMPLE[name]

    def _nested(self, name: str) -> SparkType:
        self._expect("<")
        if name == "struct":
            fields = self._fields(">")
            self._expect(">")
            return struct(*fields)
        parts = [self.kind()]
        if name == "map":
            self._expect(",")
            parts.append(self.kind())
        self._expect(">")
        return SparkType(name, tuple(parts))

    def _fields(self, end: str) -> list[tuple[str, SparkType]]:
        fields: list[tuple[str, SparkType]] = []
        while self._peek() != end:
            name = self._next()
            if self._peek() == ":":
                self._next()
            fields.append((name[1:-1].replace("``", "`") if name.startswith("`") else name, self.kind()))
            self._skip_constraints()
            if self._peek() == ",":
                self._next()
        return fields

    def _skip_constraints(self) -> None:
        if self._peek().lower() == "not":
            self._at += 2
        if self._peek().lower() == "comment":
            self._at += 2

    def _interval(self) -> SparkType:
        start = self._peek().lower()
        if start not in DAY_TIME_FIELDS + YEAR_MONTH_FIELDS:
            return CALENDAR_INTERVAL
        self._next()
        if self._peek().lower() != "to":
            return interval(start, start)
        self._next()
        return interval(start, self._next().lower())

    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        if self._peek() == "(":
            while self._next() != ")":
                numbers.append(int(self._next()))
        return numbers

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise ValueError("the text of a type ends too early")
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ValueError(f"expected {token!r} in the text of a type")


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text!r} is not a type")
        tokens.append(token[1])
        at = token.end()
    return tokens


@lru_cache(maxsize=4096)
def parse_type(text: str) -> SparkType:
    """The type that a text spells; raises ValueError where it spells none.

    >>> str(parse_type("a INT, b ARRAY<STRING>"))
    'struct<a:int,b:array<string>>'
    """
    return TypeText(text).whole()


# Arrow

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": INSTANT, "timestamp_ntz": pa.timestamp("us"), "time": pa.time64("us"), "day_time": pa.duration("us"),
    "year_month": pa.month_day_nano_interval(), "interval": pa.month_day_nano_interval(), "void": pa.null(),
    "variant": Variant(),
}  # fmt: skip
_FROM_ARROW = {
    arrow: TIME if name == "time" else DAY_TO_SECOND if name == "day_time" else SparkType(name)
    for name, arrow in _ARROW.items()
    if name not in ("interval", "year_month", "variant")
} | {pa.month_day_nano_interval(): YEAR_TO_MONTH}


def to_arrow(kind: SparkType) -> pa.DataType:
    """The Arrow type; the fields of an interval are lost, and an unknown type is null."""
    if kind.name == "decimal":
        return pa.decimal128(*kind.digits)
    if kind.name == "array":
        return pa.list_(to_arrow(kind.element))
    if kind.name == "map":
        key = STRING if kind.key == VOID else kind.key  # map() has no keys; Arrow has no map without a type for them
        return pa.map_(to_arrow(key), to_arrow(kind.value))
    if kind.name == "struct":
        return pa.struct([pa.field(name, to_arrow(part)) for name, part in zip(kind.labels, kind.parts, strict=True)])
    return _ARROW.get(kind.name, pa.null())


def from_arrow(kind: pa.DataType) -> SparkType:
    """The Spark type of a declared column."""
    if isinstance(kind, Variant):
        return VARIANT
    if pa.types.is_decimal128(kind):
        return decimal(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return map_of(from_arrow(kind.key_type), from_arrow(kind.item_type))
    if pa.types.is_list(kind):
        return array(from_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return struct(*((field.name, from_arrow(field.type)) for field in kind))
    try:
        return _FROM_ARROW[kind]
    except KeyError:
        raise ValueError(f"{kind} has no Spark SQL type") from None


# sqlglot

_DTYPES = {
    "boolean": exp.DType.BOOLEAN, "tinyint": exp.DType.TINYINT, "smallint": exp.DType.SMALLINT, "int": exp.DType.INT,
    "bigint": exp.DType.BIGINT, "float": exp.DType.FLOAT, "double": exp.DType.DOUBLE, "string": exp.DType.TEXT,
    "binary": exp.DType.BINARY, "date": exp.DType.DATE, "timestamp": exp.DType.TIMESTAMPTZ, "time": exp.DType.TIME,
    "timestamp_ntz": exp.DType.TIMESTAMPNTZ, "void": exp.DType.NULL, "variant": exp.DType.VARIANT,
    "decimal": exp.DType.DECIMAL, "array": exp.DType.ARRAY, "map": exp.DType.MAP, "struct": exp.DType.STRUCT,
    "interval": exp.DType.INTERVAL,
}  # fmt: skip


@lru_cache(maxsize=4096)
def to_sqlglot(kind: SparkType) -> exp.DataType:
    """The type as a node of sqlglot's; the same object for the same type, so copy it before it is put into a tree."""
    if kind.is_ansi_interval:
        start, end = (exp.var(label.upper()) for label in kind.labels)
        unit = start if start == end else exp.IntervalSpan(this=start, expression=end)
        return exp.DataType(this=exp.Interval(unit=unit))
    inner: list[exp.Expr] = [to_sqlglot(part).copy() for part in kind.parts]
    if kind.name == "struct":
        inner = [
            exp.ColumnDef(this=exp.to_identifier(label), kind=part)
            for label, part in zip(kind.labels, inner, strict=True)
        ]
    if kind.name == "decimal":
        inner = [exp.DataTypeParam(this=exp.Literal.number(number)) for number in kind.digits]
    dtype = _DTYPES.get(kind.name, exp.DType.UNKNOWN)
    return exp.DataType(this=dtype, expressions=inner, nested=bool(kind.parts))


_FROM_DTYPES = {dtype: name for name, dtype in _DTYPES.items()} | {
    exp.DType.VARCHAR: "string", exp.DType.CHAR: "string", exp.DType.NVARCHAR: "string", exp.DType.NCHAR: "string",
    exp.DType.TIMESTAMP: "timestamp", exp.DType.TIMESTAMPLTZ: "timestamp", exp.DType.VARBINARY: "binary",
    exp.DType.LIST: "array",
}  # fmt: skip


def from_sqlglot(kind: exp.DataType | None) -> SparkType:
    """The type that a node of sqlglot's stands for; UNKNOWN where it stands for none of Spark's."""
    if kind is None:
        return UNKNOWN
    if isinstance(kind.this, exp.Interval):
        return _interval_of(kind.this.args.get("unit"))
    name = _FROM_DTYPES.get(kind.this, "unknown")
    if name == "decimal":
        numbers = [int(part.name) for part in kind.expressions]
        return decimal(*(numbers if len(numbers) == 2 else [*(numbers or [10]), 0]))
    if name == "time":
        return TIME
    if name == "struct":
        return struct(*((part.name, from_sqlglot(part.args.get("kind"))) for part in kind.expressions))
    return SparkType(name, tuple(from_sqlglot(part) for part in kind.expressions) if kind.args.get("nested") else ())


def _interval_of(unit: exp.Expr | None) -> SparkType:
    if unit is None:
        return CALENDAR_INTERVAL
    span = isinstance(unit, exp.IntervalSpan)
    start, end = (unit.this.name, unit.expression.name) if span else (unit.name, unit.name)
    return interval(start.lower(), end.lower())
