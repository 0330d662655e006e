"""The rules for JSON Schema: cautious, and never wrong about what they allow."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.schemas.json_reading import json_problems
from headwater.schemas.written import Written

SCALARS = st.sampled_from([None, True, 0, 1, 5, 0.5, -3, "", "a", "abc"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.booleans())
    found: dict[str, Any] = {}
    inner = schemas(depth - 1) if depth else st.sampled_from([{}, {"type": "string"}, {"type": "integer"}])
    names = st.lists(st.sampled_from("xyz"), max_size=2, unique=True)
    for word, values in (
        ("type", st.sampled_from(["string", "integer", "number", "object", "array", ["null", "string"]])),
        ("enum", st.lists(SCALARS, min_size=1, max_size=3, unique_by=json.dumps)),
        ("maximum", st.integers(0, 3)),
        ("minLength", st.integers(0, 2)),
        ("maxItems", st.integers(0, 2)),
        ("required", names),
        ("items", inner),
        ("properties", st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)),
        ("additionalProperties", inner),
        ("anyOf", st.lists(inner, min_size=1, max_size=2)),
        ("allOf", st.lists(inner, min_size=1, max_size=2)),
        ("not", inner),
    ):
        if draw(st.integers(0, 4)) == 0:
            found[word] = draw(values)
    return found


def problems(reader: Any, writer: Any) -> list[str]:
    return json_problems(Written("JSON", json.dumps(reader)), Written("JSON", json.dumps(writer)))


@settings(max_examples=200)
@given(schemas(), schemas(), st.lists(VALUES, max_size=20))
def test_a_reader_that_is_said_to_take_everything_does(reader: Any, writer: Any, values: list[Any]) -> None:
    if problems(reader, writer):
        return
    takes, writes = jsonschema_rs.validator_for(reader), jsonschema_rs.validator_for(writer)
    assert [value for value in values if writes.is_valid(value) and not takes.is_valid(value)] == []


@given(schemas())
def test_every_schema_reads_itself(schema: Any) -> None:
    assert problems(schema, schema) == []


def closed(required: tuple[str, ...] = (), **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ANY, REFUSED = "null, boolean, object, array", "is not among what the reader takes"


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (closed(a=TEXT, b=WHOLE), closed(a=TEXT), []),
        (closed(a=TEXT), closed(a=TEXT, b=WHOLE), ['"b": the reader takes nothing here']),
        ({"properties": {"a": TEXT}}, {"type": "object"}, [f'"a": {ANY}, number, integer {REFUSED}: string']),
        (closed(("a",), a=TEXT), closed(a=TEXT), ['the reader requires "a"']),
        (closed(("a",), a={**TEXT, "default": ""}), closed(a={**TEXT, "default": ""}), []),
        ({"type": "number"}, WHOLE, []),
        (WHOLE, {"type": "number"}, [f"number {REFUSED}: integer"]),
        ({"enum": ["A", "B"]}, {"enum": ["A"]}, []),
        ({"enum": ["A"]}, {"enum": ["A", "B"]}, ['the reader doesn\'t take "B"']),
        ({**WHOLE, "maximum": 5}, {**WHOLE, "maximum": 7}, ["maximum is 7, and the reader's is 5"]),
        ({"oneOf": [TEXT, WHOLE]}, {"oneOf": [TEXT]}, []),
        ({"oneOf": [TEXT]}, {"oneOf": [TEXT, WHOLE]}, ["what is written is none of the reader's oneOf"]),
        ({"$defs": {"t": TEXT}, "$ref": "#/$defs/t"}, TEXT, []),
    ],
)
def test_a_problem_says_where_two_schemas_part(reader: Any, writer: Any, expected: list[str]) -> None:
    assert problems(reader, writer) == expected


def test_a_schema_may_refer_to_another_and_to_itself() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert problems(tree, {**tree, "title": "a tree"}) == []
    till = Written("JSON", json.dumps({"$defs": {"n": WHOLE}, "properties": {"number": {"$ref": "#/$defs/n"}}}))
    text = json.dumps({"properties": {"till": {"$ref": "till.json"}}})
    changed = Written("JSON", till.text.replace("integer", "string"))
    one, other = (Written("JSON", text, (("till.json", found),)) for found in (till, changed))
    assert json_problems(one, one) == []
    assert json_problems(one, other) == ['"till.number": string is not among what the reader takes: integer']
