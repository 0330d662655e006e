"""Answers are made a few rows at a time, so that whoever asks meanwhile is answered."""

from __future__ import annotations

import json
import math
import threading
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import StatementRefused
from headwater.model import Column
from headwater.serve.encode import rows_to_json, to_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_a_value_is_spelled_as_it_is_at_once(value: Any) -> None:
    assert to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def test_numbers_that_json_does_not_have_are_spelled_in_a_list_too() -> None:
    rows = [{"x": 1.5}, {"x": math.nan}, {"x": math.inf}]
    assert to_json({"rows": rows}) == b'{"rows":[{"x":1.5},{"x":"NaN"},{"x":"Infinity"}]}'


@given(st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.text()), max_size=5), st.integers(1, 5))
def test_rows_are_spelled_as_any_list_is(rows: list[tuple[int | None, str]], limit: int) -> None:
    columns = [Column("n", pa.int64()), Column('a "name"', pa.string())]
    parts = [list(zip(*rows[at : at + 2], strict=True)) for at in range(0, len(rows), 2)]
    expected = [dict(zip(("n", 'a "name"'), row, strict=True)) for row in rows[:limit]]
    assert rows_to_json(columns, parts, limit, 2**20) == (to_json(expected), len(rows) > limit)


def test_an_answer_of_too_many_bytes_is_refused() -> None:
    with pytest.raises(StatementRefused) as refused:
        rows_to_json([Column("text", pa.string())], [[["x" * 100] * 100]], 100, 1000)
    assert refused.value.detail is not None and "more than 0 MB" in refused.value.detail


ROWS = [{f"c{at}": ["x" * 20, at][at % 2] for at in range(60)}] * 20_000


class Onlooker(threading.Thread):
    """Looks again and again how much time a thread has worked: `longest` is how much between two looks."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self.longest, self._done = 0.0, False

    def run(self) -> None:
        last = time.clock_gettime(self._clock)
        while not self._done:
            now = time.clock_gettime(self._clock)
            self.longest, last = max(self.longest, now - last), now

    def __enter__(self) -> Onlooker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done = True
        self.join()


def test_others_come_to_run_while_a_large_answer_is_spelled() -> None:
    """Of the quarter of a second of work that it is, not more than a little at a time, however busy the machine is."""
    with Onlooker() as onlooker:
        to_json({"rows": ROWS, "more": False})
    assert onlooker.longest < 0.1
