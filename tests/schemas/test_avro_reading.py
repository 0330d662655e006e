"""The rules for Avro, held against fastavro's own resolution of schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.read import SchemaResolutionError
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.schemas.avro_reading import avro_problems
from headwater.schemas.written import Written

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
SAMPLES = dict(zip(PRIMITIVES, (None, True, 1, 1, 0.5, 0.5, b"a", "a"), strict=True))


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """Schemas in which a named type is defined once; names are few, so that two of them often meet."""
    kind = draw(st.sampled_from(["primitive", "primitive", "array", "map", "union", "enum", "fixed", "record"]))
    inner = schemas(depth - 1) if depth else st.sampled_from(PRIMITIVES)
    match kind:
        case "array":
            return {"type": "array", "items": draw(inner)}
        case "map":
            return {"type": "map", "values": draw(inner)}
        case "union":
            return draw(st.lists(st.sampled_from(PRIMITIVES), min_size=1, max_size=3, unique=True))
        case "enum":
            symbols = draw(st.lists(st.sampled_from("ABC"), min_size=1, unique=True))
            default = draw(st.sampled_from([{}, {"default": symbols[0]}]))
            return {"type": "enum", "name": f"E{depth}", "symbols": symbols, **default}
        case "fixed":
            return {"type": "fixed", "name": f"F{depth}", "size": draw(st.integers(1, 2))}
        case "record" if depth == 2:
            names = draw(st.lists(st.sampled_from("xyz"), max_size=3, unique=True))
            return {"type": "record", "name": f"R{depth}", "fields": [draw(fields(name, depth)) for name in names]}
        case _:
            return draw(st.sampled_from(PRIMITIVES))


@st.composite
def fields(draw: st.DrawFn, name: str, depth: int) -> Any:
    if draw(st.booleans()):
        return {"name": name, "type": draw(st.sampled_from(PRIMITIVES))}
    if draw(st.booleans()):
        return {"name": name, "type": "int", "default": 7, **draw(st.sampled_from([{}, {"aliases": ["old", "x"]}]))}
    return {"name": name, "type": ["null", "string"], "default": None}


def samples(schema: Any) -> Iterator[Any]:
    """Values that take every way through a schema."""
    if isinstance(schema, str):
        yield SAMPLES[schema]
    elif isinstance(schema, list):
        yield from ((branch, SAMPLES[branch]) for branch in schema)  # or the first branch that fits would be written
    elif schema["type"] == "array":
        yield from ([value] for value in samples(schema["items"]))
    elif schema["type"] == "map":
        yield from ({"k": value} for value in samples(schema["values"]))
    elif schema["type"] == "enum":
        yield from schema["symbols"]
    elif schema["type"] == "fixed":
        yield b"x" * schema["size"]
    else:
        first = {field["name"]: next(samples(field["type"])) for field in schema["fields"]}
        yield first
        for field in schema["fields"]:
            yield from ({**first, field["name"]: value} for value in samples(field["type"]))


def fastavro_reads(reader: Any, writer: Any) -> bool:
    """Whether fastavro reads everything that a writer may write."""
    for value in samples(writer):
        body = BytesIO()
        schemaless_writer(body, parse_schema(writer), value, strict=True)
        body.seek(0)
        try:
            schemaless_reader(body, parse_schema(writer), parse_schema(reader))
        except SchemaResolutionError:
            return False
    return True


def problems(reader: Any, writer: Any) -> list[str]:
    return avro_problems(Written("AVRO", json.dumps(reader)), Written("AVRO", json.dumps(writer)))


@settings(max_examples=200)
@given(schemas(), schemas())
def test_the_rules_agree_with_fastavro(reader: Any, writer: Any) -> None:
    assert (not problems(reader, writer)) == fastavro_reads(reader, writer)


@given(schemas())
def test_every_schema_reads_itself(schema: Any) -> None:
    assert problems(schema, schema) == []


def record(*given: Any, **extra: Any) -> Any:
    return {"type": "record", "name": "Payment", "fields": list(given), **extra}


ID = {"name": "id", "type": "string"}
NODE = record({"name": "next", "type": ["null", "Payment"]})


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (record(ID, {"name": "n", "type": "int", "default": 0}), record(ID), []),
        (
            record({"name": "n", "type": "int"}),
            record(),
            ['field "n" has no default, and the writer has no such field'],
        ),
        (record(ID), record(ID, {"name": "n", "type": "int"}), []),
        (record({"name": "key", "aliases": ["id"], "type": "string"}), record(ID), []),
        (record({"name": "id", "type": "int"}), record(ID), ['field "id": string can\'t be read as int']),
        (record(aliases=["Old"]), record(name="Old"), []),
        (record(name="New"), record(name="Old"), ['record "Old" is not the reader\'s "New"']),
        (NODE, NODE, []),
        (
            record({"name": "next", "type": ["null", "int"]}),
            NODE,
            ['field "next": record is none of the reader\'s union of null, int'],
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            ["a decimal with (precision, scale) (9, 2) can't be read as one with (9, 3)"],
        ),
        (
            {"type": "enum", "name": "K", "symbols": ["A"]},
            {"type": "enum", "name": "K", "symbols": ["A", "B"]},
            ["the reader's enum doesn't have B, and no default"],
        ),
    ],
)
def test_a_problem_says_where_two_schemas_part(reader: Any, writer: Any, expected: list[str]) -> None:
    assert problems(reader, writer) == expected


def test_what_is_no_schema_is_refused() -> None:
    twice = json.dumps(record(ID, ID))
    for text in ("", "{", '"strng"', '{"type": "record", "name": "R"}', "[1]", '["int", "int"]', twice):
        with pytest.raises(ValueError):
            avro_problems(Written("AVRO", text), Written("AVRO", '"int"'))
