"""Values of every type, as a Delta table keeps them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.log.datafile import as_parquet
from headwater.model import Column, Emit
from headwater.store import Target
from headwater.store.delta.values import decode, encode, kept_schema
from tests.store.strategies import arrays, identical, types


@settings(max_examples=40)
@given(st.data())
def test_every_value_comes_back_from_a_file_as_it_was(data: st.DataObject) -> None:
    kind = data.draw(types())
    array = data.draw(arrays(kind, 3))
    target = Target("odd", 1, (Column("value", kind),), (), Emit.CHANGES)
    kept = encode(target.columns, pa.table([array], names=["value"]))
    found = decode(target, pq.read_table(pa.BufferReader(as_parquet(kept))))
    assert identical(found["value"].combine_chunks(), array)
    assert Schema.from_arrow(kept_schema(target.columns)).to_json(), "Delta has a type for it"
