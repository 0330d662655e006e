"""Parts of files: their events keep their numbers, whatever is left out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headwater.intake import Decoder
from headwater.intake.chunk import Chunk, Records
from headwater.model import Column, Stream

TOPIC = Stream(name="clicks", columns=(Column("n", pa.int32()),))
FORMS: dict[str, Any] = {
    "json": b'{"n": 7}\n{"n": 8}\n{"n": 9}\n{"n": 10}',
    "csv": Records(b"n", [b"7", b"8", b"9", b"10"], [7, 8, 9, 10]),
    "parquet": pa.table({"n": [7, 8, 9, 10]}),
    "avro": [{"n": 7}, {"n": 8}, {"n": 9}, {"n": 10}],
}


def numbers(*chunks: Chunk) -> list[int]:
    """The events of chunks, each of which holds its own number."""
    decoder = Decoder(TOPIC)
    return [number for chunk in chunks for number in decoder.decode(chunk).rows["n"].to_pylist()]


@pytest.mark.parametrize("form", FORMS)
def test_a_chunk_goes_on_behind_a_number(form: Any) -> None:
    chunk = Chunk(FORMS[form], form, 7, 0)
    assert (chunk.first, chunk.last) == (7, 10)
    assert numbers(chunk.after(3)) == [7, 8, 9, 10]
    assert (numbers(chunk.after(8)), chunk.after(8).last) == ([9, 10], 10)
    assert (numbers(chunk.after(10)), chunk.after(10).last) == ([], 10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gone", [(), (7,), (10,), (8, 9), (7, 9), (7, 8, 9, 10), (1, 99)])
def test_events_are_left_out_by_their_numbers(form: Any, gone: tuple[int, ...]) -> None:
    chunk = Chunk(FORMS[form], form, 7, 0)
    assert numbers(*chunk.without(gone)) == [number for number in (7, 8, 9, 10) if number not in gone]
    poisoned = Decoder(Stream(name="clicks", columns=(Column("n", pa.date32()),)))
    places = [
        place for part in chunk.without(gone) for place in poisoned.decode(part, where="f").dead["position"].to_pylist()
    ]
    assert places == [f"f:{number}" for number in (7, 8, 9, 10) if number not in gone]
