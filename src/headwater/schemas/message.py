"""Messages of Protobuf into mappings, by functions made once for each message type.

A field that can say that it has no value, and says so, is None; a field that can't is what Protobuf takes it for (zero,
the empty string, no elements). An enum is the name of its value, or its number if its schema doesn't name it. The types
that come with Protobuf are what they stand for:

    Timestamp           an instant; the log keeps microseconds, and what is finer is cut off
    Duration            seconds, as a decimal
    StringValue, …      the value that is wrapped, or None
    Struct, Value, …    their JSON, as text
    google.type.Date    a date; google.type.Decimal and confluent.type.Decimal a decimal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from headwater.model import decimal_of

Read = Callable[[Any], Any]
"""From a message to the value of one of its fields, or from a field's value to what it stands for."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRAPPERS = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")


class MessageReader:
    """Reads the messages of one type. `names` are the fields that are wanted, all if it is None."""

    def __init__(self, descriptor: Descriptor, names: frozenset[str] | None = None) -> None:
        self._known: dict[str, Read] = dict(_WELL_KNOWN)
        fields = [field for field in descriptor.fields if names is None or field.name in names]
        self._names = [field.name for field in fields]
        self._columns = [self._column(field) for field in fields]

    def read(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Messages as mappings of their fields' names to their values: field by field, which is faster."""
        if not self._names:
            return [{} for _ in messages]
        columns = [column(messages) for column in self._columns]
        return [dict(zip(self._names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _column(self, field: FieldDescriptor) -> Callable[[Sequence[Message]], list[Any]]:
        read, name = self._field(field), field.name
        if field.is_repeated or not field.has_presence:
            return lambda messages: list(map(read, messages))
        get, value = attrgetter(name), self._value(field)
        absent = read(GetMessageClass(field.containing_type)())
        if value is None:
            return lambda messages: [get(one) if one.HasField(name) else absent for one in messages]
        return lambda messages: [value(get(one)) if one.HasField(name) else absent for one in messages]

    def _field(self, field: FieldDescriptor) -> Read:
        get, value = attrgetter(field.name), self._value(field)
        if field.is_repeated:
            return self._map(field, get) if _is_map(field) else _list(get, value)
        if not field.has_presence:
            return get if value is None else lambda message: value(get(message))
        name, absent = field.name, field.default_value if field.has_default_value else None
        if value is None:
            return lambda message: get(message) if message.HasField(name) else absent
        absent = None if absent is None else value(absent)
        return lambda message: value(get(message)) if message.HasField(name) else absent

    def _map(self, field: FieldDescriptor, get: Read) -> Read:
        """Maps are read as pairs, in the order of their keys: their order on the wire means nothing."""
        value = self._value(field.message_type.fields_by_name["value"])
        if value is None:
            return lambda message: sorted(get(message).items())
        return lambda message: [(key, value(item)) for key, item in sorted(get(message).items(), key=lambda at: at[0])]

    def _value(self, field: FieldDescriptor) -> Read | None:
        """The conversion of one value of a field; None if it stays as it is."""
        if field.type == FieldDescriptor.TYPE_ENUM:
            names = {value.number: value.name for value in reversed(field.enum_type.values)}  # of aliases the first
            return lambda number: names.get(number, number)
        return None if field.message_type is None else self._nested(field.message_type)

    def _nested(self, descriptor: Descriptor) -> Read:
        name = descriptor.full_name
        if name not in self._known:
            fields: list[tuple[str, Read]] = []
            # known before its fields are: a message may hold messages of its own type
            self._known[name] = lambda message: {name: read(message) for name, read in fields}
            fields += [(field.name, self._field(field)) for field in descriptor.fields]
        return self._known[name]


def _list(get: Read, value: Read | None) -> Read:
    if value is None:
        return lambda message: list(get(message))
    return lambda message: [value(item) for item in get(message)]


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _instant(message: Any) -> datetime:
    return _EPOCH + timedelta(0, message.seconds, message.nanos // 1000)


def _seconds(message: Any) -> Decimal:
    return Decimal(message.seconds) + Decimal(message.nanos).scaleb(-9)


def _date(message: Any) -> date:
    return date(message.year, message.month, message.day)


def _decimal(message: Any) -> Decimal:
    return decimal_of(message.value, message.scale)


def _json(message: Any) -> str:
    return str(MessageToJson(message, indent=None))


_WELL_KNOWN: dict[str, Read] = {
    "google.protobuf.Timestamp": _instant,
    "google.protobuf.Duration": _seconds,
    **{f"google.protobuf.{name}Value": attrgetter("value") for name in _WRAPPERS},
    **{f"google.protobuf.{name}": _json for name in ("Struct", "Value", "ListValue")},
    "google.type.Date": _date,
    "google.type.Decimal": lambda message: Decimal(message.value),
    "confluent.type.Decimal": _decimal,
}
