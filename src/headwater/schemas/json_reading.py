"""Pairs of JSON Schemas, a reader's and a writer's: is everything that one allows allowed by the other?

The comparison goes keyword by keyword and errs on the side of caution: what it can't compare must be the same on both
sides. An object is open unless it says otherwise: a property that the writer doesn't name may be there all the same, of
any type; a reader that names it may be surprised. The branches of a `oneOf` are taken to exclude each other.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.schemas.written import Written

_TYPES = ("null", "boolean", "object", "array", "string", "number", "integer")
_AT_MOST = {
    "maximum": "number", "exclusiveMaximum": "number", "maxLength": "string", "maxItems": "array",
    "maxProperties": "object",
}  # fmt: skip
_AT_LEAST = {
    "minimum": "number", "exclusiveMinimum": "number", "minLength": "string", "minItems": "array",
    "minProperties": "object",
}  # fmt: skip
_ALIKE = {
    "multipleOf": "number", "pattern": "string", "contains": "array", "prefixItems": "array",
    "additionalItems": "array", "unevaluatedItems": "array", "minContains": "array", "maxContains": "array",
    "propertyNames": "object", "dependencies": "object", "dependentRequired": "object", "dependentSchemas": "object",
    "unevaluatedProperties": "object", "not": None, "if": None, "then": None, "else": None,
}  # fmt: skip
"""Keywords that must be the same if the reader has them, and the type that they are about."""
_NAMES = {
    type(None): "null", bool: "boolean", dict: "object", list: "array", str: "string", int: "integer", float: "number",
}  # fmt: skip
_SUMS = ("anyOf", "oneOf")
_DEEPEST = 40
_MOST_STEPS = 20_000
"""The number of pairs that of schemas are compared: those of nested alternatives can be more than anybody waits for."""


def parse_json_schema(schema: Written) -> Any:
    """The schema; ValueError says what is wrong with it."""
    document = json.loads(schema.text)
    if not isinstance(document, dict | bool):
        raise ValueError("it is neither an object nor a boolean")
    return document


def json_problems(reader: Written, writer: Written) -> list[str]:
    """Where a reader refuses what a writer may write; nothing if it takes everything."""
    mine, theirs = _Document(reader), _Document(writer)
    return list(dict.fromkeys(_Pair(mine, theirs).compare(mine.root, theirs.root, "", 0)))


class _Document:
    """A schema, and what its `$ref` mean."""

    def __init__(self, schema: Written) -> None:
        self.root = parse_json_schema(schema)
        self._others = {name: _Document(other) for name, other in schema.references}

    def resolve(self, schema: Any, hops: int = 0) -> Any:
        """The schema behind a reference; any other as it is. A part of another document is part of this one then."""
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            hops += 1
            if hops > _DEEPEST:
                raise ValueError(f'"$ref" is "{schema["$ref"]}", which leads around in a circle')
            schema = self._find(schema["$ref"], hops)
        return schema

    def _find(self, reference: str, hops: int) -> Any:
        name, _, pointer = reference.partition("#")
        document: Any = self if not name else self._others.get(name)
        if document is None:
            raise ValueError(f'"$ref" is "{reference}", which it doesn\'t refer to')
        inside = document.root
        for part in filter(None, pointer.split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(inside, Mapping) or key not in inside:
                raise ValueError(f'"$ref" is "{reference}", which is not there')
            inside = inside[key]
        return document.resolve(inside, hops) if not name else _moved(document.resolve(inside, hops), name)


def _moved(schema: Any, name: str) -> Any:
    """A part of another document, with what it refers to there under the document's name."""
    if isinstance(schema, list):
        return [_moved(part, name) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    moved = {key: _moved(part, name) for key, part in schema.items()}
    if isinstance(schema.get("$ref"), str) and schema["$ref"].startswith("#"):
        moved["$ref"] = name + schema["$ref"]
    return moved


class _Pair:
    def __init__(self, reader: _Document, writer: _Document) -> None:
        self._reader, self._writer = reader, writer
        self._steps = 0

    def compare(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        """Problems at one place. Schemas nested without end (they refer to themselves) are taken for equal."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ValueError("it has too many alternatives to be compared")
        reader, writer = self._reader.resolve(reader), self._writer.resolve(writer)
        if reader in (True, {}) or writer is False or depth > _DEEPEST or _same(reader, writer):
            return
        if reader is False:
            yield f"{_at(path)}the reader takes nothing here"
            return
        writer = {} if writer is True else writer
        if any(word in writer for word in _SUMS):
            yield from self._each_of_the_writer_s(reader, writer, path, depth)
        elif "allOf" in writer:
            yield from self._all_of_the_writer_s(reader, writer, path, depth)
        elif any(word in reader for word in (*_SUMS, "allOf")):
            yield from self._combined(reader, writer, path, depth)
        else:
            yield from self._plain(reader, writer, path, depth)

    def _each_of_the_writer_s(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        word = next(word for word in _SUMS if word in writer)
        rest = {key: value for key, value in writer.items() if key != word}
        for branch in writer[word]:
            yield from self.compare(reader, _merged(rest, self._writer.resolve(branch)), path, depth + 1)

    def _all_of_the_writer_s(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        whole: Any = {key: value for key, value in writer.items() if key != "allOf"}
        for part in writer["allOf"]:
            whole = _merged(whole, self._writer.resolve(part))
        yield from self.compare(reader, whole, path, depth + 1)

    def _combined(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        rest = {key: value for key, value in reader.items() if key not in (*_SUMS, "allOf")}
        yield from self.compare(rest, writer, path, depth + 1)
        for part in reader.get("allOf", ()):
            yield from self.compare(part, writer, path, depth + 1)
        for word in _SUMS:
            branches = reader.get(word)
            if branches and all(any(self.compare(branch, writer, path, depth + 1)) for branch in branches):
                yield f"{_at(path)}what is written is none of the reader's {word}"

    def _plain(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        written = _types(writer)
        refused = [kind for kind in written if kind not in _types(reader)]
        if refused:
            yield f"{_at(path)}{', '.join(refused)} is not among what the reader takes: {', '.join(_types(reader))}"
            return
        yield from _values(reader, writer, path)
        if _enumerated(writer) is not None:
            return
        yield from _bounds(reader, writer, {*written, "number"} if "integer" in written else {*written}, path)
        if "array" in written:
            yield from self._items(reader, writer, path, depth)
        if "object" in written:
            yield from self._objects(reader, writer, path, depth)

    def _items(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        mine, theirs = reader.get("items", True), writer.get("items", True)
        if isinstance(mine, list) or isinstance(theirs, list):
            if mine != theirs:
                yield f"{_at(path)}the items of a tuple differ"
            return
        yield from self.compare(mine, theirs, f"{path}[]", depth + 1)
        if reader.get("uniqueItems") and not writer.get("uniqueItems"):
            yield f"{_at(path)}the reader wants items that are unique"

    def _objects(self, reader: Any, writer: Any, path: str, depth: int) -> Iterator[str]:
        mine, theirs = reader.get("properties", {}), writer.get("properties", {})
        for name in [*theirs, *(name for name in mine if name not in theirs)]:
            inner = f"{path}.{name}" if path else name
            yield from self.compare(_property(reader, name), _property(writer, name), inner, depth + 1)
        for name in reader.get("required", ()):
            has_default = isinstance(mine.get(name), Mapping) and "default" in mine[name]
            if name not in writer.get("required", ()) and not has_default:
                yield f'{_at(path)}the reader requires "{name}"'
        others = reader.get("additionalProperties", True), writer.get("additionalProperties", True)
        yield from self.compare(*others, f"{path}.*" if path else "*", depth + 1)
        if reader.get("patternProperties", {}) != writer.get("patternProperties", {}) and "patternProperties" in reader:
            yield f"{_at(path)}patternProperties differ"


def _same(reader: Any, writer: Any) -> bool:
    """Tells whether two schemas say the same, whatever document they stand in."""
    mine = json.dumps(reader, sort_keys=True)  # to Python, true and 1 are the same
    return mine == json.dumps(writer, sort_keys=True) and '"$ref"' not in mine


def _merged(one: Any, other: Any) -> Any:
    """The schema of what both allow, as nearly as one can say it."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return other if one is True or isinstance(one, Mapping) else one
    merged = {**one, **other}
    for word in ("properties", "patternProperties"):
        if word in one and word in other:
            merged[word] = {**one[word], **other[word]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _types(schema: Mapping[str, Any]) -> list[str]:
    named, values = schema.get("type"), _enumerated(schema)
    if named is None and values is not None:
        return list(dict.fromkeys(_NAMES[type(value)] for value in values))
    types = list(_TYPES[:-1]) if named is None else [named] if isinstance(named, str) else list(named)
    return [*types, "integer"] if "number" in types and "integer" not in types else types


def _enumerated(schema: Mapping[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _values(reader: Mapping[str, Any], writer: Mapping[str, Any], path: str) -> Iterator[str]:
    mine, theirs = _enumerated(reader), _enumerated(writer)
    if mine is None:
        return
    allowed = {json.dumps(value, sort_keys=True) for value in mine}
    if theirs is None:
        yield f"{_at(path)}the reader takes these values only: {', '.join(map(json.dumps, mine))}"
    elif missing := [value for value in theirs if json.dumps(value, sort_keys=True) not in allowed]:
        yield f"{_at(path)}the reader doesn't take {', '.join(map(json.dumps, missing))}"


def _bounds(reader: Mapping[str, Any], writer: Mapping[str, Any], kinds: set[str], path: str) -> Iterator[str]:
    for words, is_narrower in ((_AT_MOST, operator.lt), (_AT_LEAST, operator.gt)):
        for word, kind in words.items():
            if word in reader and kind in kinds and (word not in writer or is_narrower(reader[word], writer[word])):
                yield f"{_at(path)}{word} is {writer.get(word, 'not given')}, and the reader's is {reader[word]}"
    for word, about in _ALIKE.items():
        if word in reader and (about is None or about in kinds) and reader[word] != writer.get(word):
            yield f"{_at(path)}{word} differs"


def _property(schema: Mapping[str, Any], name: str) -> Any:
    """The schema of a property: by its name, by a pattern, or about all others."""
    named = schema.get("properties", {})
    if name in named:
        return named[name]
    for pattern, described in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            return described
    return schema.get("additionalProperties", True)


def _at(path: str) -> str:
    return f'"{path}": ' if path else ""
