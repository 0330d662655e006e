"""Avro schemas: a schema and those that it refers to, as fastavro reads with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from fastavro import parse_schema
from fastavro.read import LOGICAL_READERS
from fastavro.schema import SchemaParseException

from headwater.model import decimal_of
from headwater.schemas.written import Written

AvroSchema = Any
"""A schema as fastavro has parsed it."""
_CONNECT = {
    "io.debezium.time.Date": "date",
    "io.debezium.time.Timestamp": "local-timestamp-millis",
    "io.debezium.time.MicroTimestamp": "local-timestamp-micros",
}
"""Logical types that Debezium gives under a name of its own."""
_FIRST_DAY = date(1970, 1, 1).toordinal()
_INSTANTS = {
    "timestamp-millis": (datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)),
    "timestamp-micros": (datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)),
    "local-timestamp-millis": (datetime(1970, 1, 1), timedelta(milliseconds=1)),
    "local-timestamp-micros": (datetime(1970, 1, 1), timedelta(microseconds=1)),
}
_NO_KINDS: Mapping[str, pa.DataType] = {}
_PROMOTIONS: Mapping[tuple[str, pa.DataType | None], Callable[[Any], Any]] = {
    ("bytes", pa.string()): bytes.decode,
    ("string", pa.binary()): str.encode,
}


def _read_decimal(digits: bytes, schema: Any = None, _: Any = None) -> Decimal:
    return decimal_of(digits, int(schema.get("scale", 0)))


def read_decimals_exactly() -> None:
    """Let fastavro read decimals as they are: its own way rounds them, and takes minutes for many bytes."""
    LOGICAL_READERS["bytes-decimal"] = LOGICAL_READERS["fixed-decimal"] = _read_decimal


read_decimals_exactly()


@dataclass(frozen=True)
class Compiled:
    """A schema as fastavro reads with it, and what becomes of the fields of its record then.

    Instants, dates and decimals of the outermost record are read as what they are written as, and made here: that takes
    a fraction of the time.
    """

    schema: AvroSchema
    conversions: Mapping[str, Callable[[Any], Any]]
    referred: Mapping[str, AvroSchema]
    """The schemas that it refers to, by name."""

    def convert(self, record: Any) -> Any:
        """The record with its fields as what they stand for, in place; what is no record as it is."""
        for name, conversion in self.conversions.items():
            value = record[name]
            if value is not None:
                record[name] = conversion(value)
        return record


def compile_avro(schema: Written, kinds: Mapping[str, pa.DataType] = _NO_KINDS) -> Compiled:
    """The schema as fastavro reads with it; ValueError says what is wrong with it or with one that it refers to.

    `kinds` are the types of the columns that fields go to, to which Avro may promote them.
    """
    named: dict[str, Any] = {}
    try:
        for _, reference in schema.references:
            _compile(reference, named)
        text = _as_columns(json.loads(schema.text))
        conversions, referred = _promotions(text, kinds) | _take_conversions(text), dict(named)
        return Compiled(parse_schema(text, named_schemas=named), conversions, referred)
    except (SchemaParseException, RecursionError, AttributeError, KeyError, TypeError) as problem:
        raise ValueError(str(problem) or type(problem).__name__) from problem


def _compile(schema: Written, named: dict[str, Any]) -> None:
    for _, reference in schema.references:
        _compile(reference, named)
    parse_schema(_as_columns(json.loads(schema.text)), named_schemas=named)


def _take_conversions(schema: Any) -> dict[str, Callable[[Any], Any]]:
    """Take the logical types off the fields of a record, and return what they stand for."""
    conversions: dict[str, Callable[[Any], Any]] = {}
    if isinstance(schema, dict) and schema.get("type") == "record":
        for part in schema["fields"]:
            kind = part["type"]
            others = [branch for branch in kind if branch != "null"] if isinstance(kind, list) else [kind]
            conversion = _conversion(others[0]) if len(others) == 1 else None
            if conversion is not None:
                conversions[part["name"]] = conversion
                del others[0]["logicalType"]
                part.pop("default", None)  # only a reader's schema needs it, and it may fit the logical type alone
    return conversions


def _promotions(schema: Any, kinds: Mapping[str, pa.DataType]) -> dict[str, Callable[[Any], Any]]:
    """The conversion of bytes that go to a column of text, and of text that goes to one of bytes."""
    promotions: dict[str, Callable[[Any], Any]] = {}
    if isinstance(schema, dict) and schema.get("type") == "record":
        for part in schema["fields"]:
            kind = part["type"]
            others = [branch for branch in kind if branch != "null"] if isinstance(kind, list) else [kind]
            promotion = _PROMOTIONS.get((str(others[0]), kinds.get(part["name"]))) if len(others) == 1 else None
            if promotion is not None:
                promotions[part["name"]] = promotion
    return promotions


def _conversion(schema: Any) -> Callable[[Any], Any] | None:
    if not isinstance(schema, dict):
        return None
    logical, kind = schema.get("logicalType"), schema.get("type")
    if logical == "decimal" and kind == "bytes":
        return partial(decimal_of, scale=int(schema.get("scale", 0)))
    if logical == "date" and kind == "int":
        return lambda days: date.fromordinal(_FIRST_DAY + days)
    if kind == "long" and logical in _INSTANTS:
        begin, unit = _INSTANTS[logical]
        return lambda count: begin + count * unit
    return None


def _as_columns(schema: Any) -> Any:
    """The schema with UUIDs as the strings that they are, which columns have no type for, and Debezium's instants."""
    if isinstance(schema, list):
        return [_as_columns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part if name == "default" else _as_columns(part) for name, part in schema.items()}
    if kept.get("logicalType") == "uuid" and kept.get("type") == "string":
        return kept["type"]
    logical = _CONNECT.get(str(kept.get("connect.name")))
    return kept if logical is None else {**kept, "logicalType": logical}
