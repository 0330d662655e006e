"""Pairs of Avro schemas: can a reader with one read what was written with the other, by the rules of Avro?

A *problem* is a sentence that says where the two part, or nothing is wrong. Names are compared without their namespace,
and by the reader's aliases; logical types don't matter, but for decimals, whose digits would change their meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastavro import parse_schema
from fastavro.schema import SchemaParseException

from headwater.schemas.written import Written

_PROMOTED = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
"""From the reader's type to the writer's types that it takes beside its own."""


def parse_avro(schema: Written) -> Parsed:
    """A schema with the names that it defines; ValueError says what is wrong with it."""
    named: dict[str, Any] = {}
    try:
        return Parsed(_parse(schema, named), named)
    except (SchemaParseException, RecursionError, AttributeError, KeyError, TypeError) as problem:
        raise ValueError(str(problem) or type(problem).__name__) from problem


def _parse(schema: Written, named: dict[str, Any]) -> Any:
    for _, reference in schema.references:
        _parse(reference, named)
    text = json.loads(schema.text)
    _refuse_loose(text)
    return parse_schema(text, named_schemas=named, _write_hint=False)


def _refuse_loose(schema: Any) -> None:
    """Refuse what fastavro lets pass and Avro doesn't: a record without fields, and what is there twice."""
    if isinstance(schema, list):
        kinds = [_type(branch) for branch in schema if not isinstance(branch, dict) or "name" not in branch]
        if len(set(kinds)) < len(kinds):
            raise ValueError("a union has a type twice")
        for branch in schema:
            _refuse_loose(branch)
    elif isinstance(schema, dict):
        if schema.get("type") in ("record", "error"):
            names = [field["name"] for field in schema["fields"]]
            if len(set(names)) < len(names):
                raise ValueError(f'record "{schema["name"]}" has a field twice')
        for part in (*schema.get("fields", ()), schema.get("type"), schema.get("items"), schema.get("values")):
            _refuse_loose(part)


@dataclass(frozen=True)
class Parsed:
    """A schema, and those that it calls by name."""

    schema: Any
    named: Mapping[str, Any]

    def resolve(self, schema: Any) -> Any:
        """The schema behind a name; any other as it is."""
        return self.named.get(schema, schema) if isinstance(schema, str) else schema


def avro_problems(reader: Written, writer: Written) -> list[str]:
    """Where a reader can't read what a writer writes; nothing if it can."""
    pair = _Pair(parse_avro(reader), parse_avro(writer))
    return list(pair.compare(pair.reader.schema, pair.writer.schema, ""))


@dataclass
class _Pair:
    reader: Parsed
    writer: Parsed
    assumed: set[tuple[str, str]] = field(default_factory=set)
    """Records under comparison: one that holds itself is compared once."""

    def compare(self, reader: Any, writer: Any, path: str) -> Iterator[str]:
        reader, writer = self.reader.resolve(reader), self.writer.resolve(writer)
        if isinstance(writer, list):
            for branch in writer:
                yield from self.compare(reader, branch, path)
        elif isinstance(reader, list):
            yield from self._any_branch(reader, writer, path)
        else:
            yield from self._types(reader, writer, path)

    def _any_branch(self, reader: list[Any], writer: Any, path: str) -> Iterator[str]:
        nearest = None
        for branch in reader:
            before = set(self.assumed)
            problems = list(self.compare(branch, writer, path))
            if not problems:
                return
            self.assumed = before
            alike = _type(self.reader.resolve(branch)) == _type(writer)
            nearest = problems if nearest is None or alike else nearest
        if len(reader) == 1 and nearest:
            yield from nearest
        else:
            yield f"{_at(path)}{_spelled(writer)} is none of the reader's {_spelled(reader)}"

    def _types(self, reader: Any, writer: Any, path: str) -> Iterator[str]:
        expected, written = _type(reader), _type(writer)
        if expected != written:
            if written not in _PROMOTED.get(expected, ()):
                yield f"{_at(path)}{_spelled(writer)} can't be read as {_spelled(reader)}"
            return
        if expected == "array":
            yield from self.compare(reader["items"], writer["items"], f"{path}[]")
        elif expected == "map":
            yield from self.compare(reader["values"], writer["values"], f"{path}{{}}")
        elif expected in ("record", "error"):
            yield from self._records(reader, writer, path)
        elif expected in ("enum", "fixed"):
            yield from _named(reader, writer, path)
        yield from _decimals(reader, writer, path)

    def _records(self, reader: Any, writer: Any, path: str) -> Iterator[str]:
        if not _same_name(reader, writer):
            yield f'{_at(path)}record "{writer["name"]}" is not the reader\'s "{reader["name"]}"'
            return
        pair = reader["name"], writer["name"]
        if pair in self.assumed:
            return
        self.assumed.add(pair)
        written = {field["name"]: field for field in writer["fields"]}
        for wanted in reader["fields"]:
            names = [wanted["name"], *wanted.get("aliases", ())]
            theirs = next((written[name] for name in names if name in written), None)
            inner = f"{path}.{wanted['name']}" if path else wanted["name"]
            if theirs is not None:
                yield from self.compare(wanted["type"], theirs["type"], inner)
            elif "default" not in wanted:
                yield f'field "{inner}" has no default, and the writer has no such field'


def _type(schema: Any) -> str:
    return str(schema["type"]) if isinstance(schema, dict) else str(schema)


def _same_name(reader: Mapping[str, Any], writer: Mapping[str, Any]) -> bool:
    mine, written = reader["name"].rpartition(".")[2], writer["name"].rpartition(".")[2]
    aliases = {alias.rpartition(".")[2] for alias in reader.get("aliases", ())}
    return written == mine or written in aliases


def _named(reader: Any, writer: Any, path: str) -> Iterator[str]:
    kind = _type(reader)
    if not _same_name(reader, writer):
        yield f'{_at(path)}{kind} "{writer["name"]}" is not the reader\'s "{reader["name"]}"'
    elif kind == "fixed" and reader["size"] != writer["size"]:
        yield f"{_at(path)}it has {writer['size']} bytes, and the reader expects {reader['size']}"
    elif kind == "enum" and "default" not in reader:
        missing = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
        if missing:
            yield f"{_at(path)}the reader's enum doesn't have {', '.join(missing)}, and no default"


def _decimals(reader: Any, writer: Any, path: str) -> Iterator[str]:
    """Two decimals match if their scale and precision do."""
    mine, theirs = _digits(reader), _digits(writer)
    if mine is not None and theirs is not None and mine != theirs:
        yield f"{_at(path)}a decimal with (precision, scale) {theirs} can't be read as one with {mine}"


def _digits(schema: Any) -> tuple[int, int] | None:
    if not isinstance(schema, dict) or schema.get("logicalType") != "decimal":
        return None
    return int(schema["precision"]), int(schema.get("scale", 0))


def _at(path: str) -> str:
    return f'field "{path}": ' if path else ""


def _spelled(schema: Any) -> str:
    if isinstance(schema, list):
        return "union of " + ", ".join(_type(branch) for branch in schema)
    return _type(schema)
