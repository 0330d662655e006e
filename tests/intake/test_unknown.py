"""Fields that no column declares: counted, refused or kept, in every format."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.intake import Decoded, Decoder, read_file
from headwater.intake.messages import Messages, Records, Separated
from headwater.log.counts import MOST_NAMES, OTHERS, told
from headwater.model import Column, Stream

PLAIN = (Column("id", pa.string()), Column("n", pa.int32()))
ADDRESS = pa.struct([("city", pa.string())])
NESTED = (*PLAIN, Column("to", ADDRESS), Column("items", pa.list_(pa.struct([("sku", pa.string())]))))
REST = Column("rest", pa.map_(pa.string(), pa.string()))


def decoder(*columns: Column, unknown_fields: str = "ignore") -> Decoder:
    return Decoder(Stream(name="orders", columns=columns or PLAIN, unknown_fields=unknown_fields))


def lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


ROWS = [{"id": "a", "n": 1, "colour": "red"}, {"id": "b", "n": 2}, {"id": "c", "colour": "blue", "size": None}] * 20
COUNTS = {"colour": 40}


def csv(rows: list[dict[str, Any]]) -> bytes:
    return b"id,n,colour,size\n" + b"".join(
        f"{row['id']},{row.get('n', '')},{row.get('colour', '')},\n".encode() for row in rows
    )


def messages(rows: list[dict[str, Any]]) -> Messages:
    return Messages(pa.array([json.dumps(row).encode() for row in rows], pa.binary()), range(len(rows)))


FORMS = {
    "JSON lines": lines,
    "mappings": lambda rows: rows,
    "an Arrow table": lambda rows: pa.Table.from_pylist(rows),
    "messages": messages,
    "records": lambda rows: Records(messages(rows), rows),
    "CSV": lambda rows: next(read_file(io.BytesIO(csv(rows)), "csv", 1000)),
    "CSV in messages": lambda rows: Separated(
        Messages(pa.array(csv(rows).splitlines()[1:], pa.binary()), range(len(rows))),
        ("id", "n", "colour", "size"),
        ",",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_unknown_fields_are_counted_in_every_format(form: str) -> None:
    decoded = decoder().decode(FORMS[form](ROWS))
    assert (dict(decoded.unknown), decoded.rows.num_rows, decoded.dead.num_rows) == (COUNTS, 60, 0)
    assert decoder().decode(FORMS[form]([{"id": "a", "n": 1, "size": None}] * 40)).unknown == {}


@pytest.mark.parametrize("form", FORMS)
def test_an_event_with_an_unknown_field_is_a_dead_letter_where_a_topic_takes_none(form: str) -> None:
    decoded = decoder(unknown_fields="dead").decode(FORMS[form](ROWS))
    assert (decoded.rows["id"].to_pylist(), decoded.dead.num_rows) == (["b"] * 20, 40)
    assert set(decoded.dead["error"].to_pylist()) == {"unknown-field"}
    assert decoded.dead["reason"][0].as_py() == 'no column declares the field "colour"'
    assert dict(decoded.unknown) == COUNTS


@pytest.mark.parametrize("form", FORMS)
def test_unknown_fields_are_kept_as_json_where_a_topic_keeps_them(form: str) -> None:
    decoded = decoder(*PLAIN, REST, unknown_fields="keep rest").decode(FORMS[form](ROWS))
    expected = [[("colour", '"red"')], None, [("colour", '"blue"')]] * 20
    assert (decoded.rows["rest"].to_pylist(), dict(decoded.unknown)) == (expected, COUNTS)


@pytest.mark.parametrize("count", [1, 100])
def test_what_is_kept_is_the_text_of_the_value(count: int) -> None:
    line = b'{"id":"a","price":12.50,"on":true,"tags":["x",1],"at":{"b":null},"rest":{"own":"o"}}\n'
    kept = decoder(*PLAIN, REST, unknown_fields="keep rest").decode(line * count).rows["rest"].to_pylist()
    texts = [("price", "12.50"), ("on", "true"), ("tags", '["x",1]'), ("at", '{"b":null}'), ("own", "o")]
    assert kept == [texts] * count


@pytest.mark.parametrize("form", ["JSON lines", "mappings", "records", "messages", "an Arrow table"])
def test_fields_of_structs_are_counted_by_their_paths(form: str) -> None:
    row = {"id": "a", "to": {"city": "Ulm", "zip": "89073"}, "items": [{"sku": "x", "gift": True}, {"gift": False}]}
    plain = {"id": "b", "to": {"city": "Ulm"}, "items": [{"sku": "x"}]}
    rows = [row, plain, {"id": "c"}, {"id": "d", "to": None, "items": []}] * 20
    decoded = decoder(*NESTED).decode(FORMS[form](rows))
    assert dict(decoded.unknown) == {"to.zip": 20, "items.gift": 20}
    assert decoded.rows["to"].to_pylist()[:4] == [{"city": "Ulm"}, {"city": "Ulm"}, None, None]
    assert decoded.rows["items"].to_pylist()[:2] == [[{"sku": "x"}, {"sku": None}], [{"sku": "x"}]]
    refused = decoder(*NESTED, unknown_fields="dead").decode(FORMS[form](rows))
    assert refused.dead["reason"].to_pylist() == ['no column declares the fields "to.zip", "items.gift"'] * 20
    kept = decoder(*NESTED, REST, unknown_fields="keep rest").decode(FORMS[form](rows)).rows["rest"][0].as_py()
    assert kept == [("to.zip", '"89073"'), ("items.gift", "[true,false]")]


def agree(rows: list[dict[str, Any]], **options: str) -> Decoded:
    """What JSON lines are decoded to, which is what they are if each is looked at alone."""
    columns = (*NESTED, REST) if options.get("unknown_fields") == "keep rest" else NESTED
    together = decoder(*columns, **options)
    for _ in range(2):  # it learns, and then knows
        at_once = together.decode(lines(rows))
        alone = [decoder(*columns, **options).decode(lines([row])) for row in rows]
        assert at_once.rows.to_pylist() == [row for one in alone for row in one.rows.to_pylist()]
        assert at_once.dead["reason"].to_pylist() == [why for one in alone for why in one.dead["reason"].to_pylist()]
        assert Counter(at_once.unknown) == sum((Counter(one.unknown) for one in alone), Counter())
    return at_once


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["sku", "city", "x", "y"]), inner, max_size=2)
    ),
    max_leaves=4,
)
EVENTS = st.fixed_dictionaries(
    {"id": st.text(max_size=3)},
    optional={
        "n": st.integers(0, 9),
        "to": st.none() | st.fixed_dictionaries({}, optional={"city": st.text(max_size=2), "zip": VALUES}),
        "items": st.lists(st.fixed_dictionaries({}, optional={"sku": st.text(max_size=2), "x": VALUES}), max_size=2),
        "a": VALUES, "b": VALUES, "c": st.text(max_size=2), "d": st.integers(0, 9),
    },
)  # fmt: skip


@given(st.lists(EVENTS, min_size=40, max_size=60), st.sampled_from(["ignore", "dead", "keep rest"]))
def test_many_lines_at_once_are_decoded_as_each_alone(rows: list[dict[str, Any]], unknown_fields: str) -> None:
    agree(rows, unknown_fields=unknown_fields)


def test_one_name_with_values_of_several_types_is_counted_line_by_line() -> None:
    rows = [{"id": str(n), "x": [n, str(n), {"y": n}, [n], True][n % 5]} for n in range(100)]
    assert dict(agree(rows).unknown) == {"x": 100}


def test_names_without_end_are_counted_and_told_together() -> None:
    rows = [{"id": "a", f"field{n:04}": n} for n in range(2000)]
    assert len(decoder().decode(lines(rows)).unknown) == 2000
    shown = told(Counter({f"f{n:02}": 100 - n for n in range(40)} | {"x" * 500: 1000}))
    assert len(shown) == MOST_NAMES + 1
    assert next(iter(shown)) == "x" * 100 + "…"
    assert shown[OTHERS] == sum(100 - n for n in range(31, 40))
    assert told(shown) == shown


def test_columns_of_arrow_that_python_has_no_values_for_are_counted_and_kept() -> None:
    odd = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa"))
    nanoseconds = pa.array([1, None], pa.timestamp("ns"))
    table = pa.Table.from_arrays([pa.array(["a", "b"]), odd, nanoseconds, nanoseconds], ["id", "odd", "at", "at"])
    for policy in ("ignore", "dead", "keep rest"):
        decoded = decoder(*PLAIN, REST, unknown_fields=policy).decode(table)
        assert dict(decoded.unknown) == {"odd": 2, "at": 1}
        assert decoded.rows.num_rows + decoded.dead.num_rows == 2
