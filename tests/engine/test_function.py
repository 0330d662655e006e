"""Functions in Python, as a worker calls them: what they declare is what they return, and for every batch the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headwater.engine.function import Called
from headwater.errors import FunctionFailed


def called(function: Callable[..., Any], returns: pa.DataType = pa.int64()) -> Called:  # noqa: B008  # a constant
    return Called("f", (("n", pa.int64()), ("word", pa.string())), returns, function)


NUMBERS, WORDS = pa.array([1, None, 3, 4]), pa.array(["a", "b", None, "d"])


def failure(function: Callable[..., Any], returns: pa.DataType = pa.int64()) -> FunctionFailed:  # noqa: B008
    with pytest.raises(FunctionFailed) as caught:
        called(function, returns)(NUMBERS, WORDS)
    return caught.value


def test_a_function_gets_arrays_of_the_declared_types_and_gives_one() -> None:
    call = called(lambda n, word: pc.add(n, pc.cast(pc.utf8_length(word), pa.int64())))
    assert call(NUMBERS.cast(pa.int32()), WORDS).to_pylist() == [2, None, None, 5]


def test_nulls_alone_and_chunks_are_taken() -> None:
    nothing = called(lambda n, word: pa.array([None] * len(n)))
    assert nothing(NUMBERS, WORDS).type == pa.int64()
    assert called(lambda n, word: pa.chunked_array([n]))(NUMBERS, WORDS).to_pylist() == [1, None, 3, 4]


def test_an_empty_batch_is_given_to_it_like_any_other() -> None:
    assert called(lambda n, word: n)(NUMBERS.slice(0, 0), WORDS.slice(0, 0)).to_pylist() == []


def test_another_type_is_refused() -> None:
    found = failure(lambda n, word: n.cast(pa.int32()))
    assert str(found) == (
        'function "f" returned int32, and declares BIGINT, which is int64 in Arrow\n'
        "  Detail: The first of the rows had n = 1, word = 'a'.\n"
        "  Hint:   Cast the array to int64, or declare another type."
    )


def test_what_is_no_array_is_refused() -> None:
    assert failure(lambda n, word: [1, 2, 3, 4]).summary == 'function "f" returned a list, which is no Arrow array'


def test_another_number_of_values_is_refused() -> None:
    assert failure(lambda n, word: n.drop_null()).summary == 'function "f" returned 3 values for 4 rows'


def test_an_exception_names_the_first_row_that_it_is_raised_for() -> None:
    def lengths(n: pa.Array, word: pa.Array) -> pa.Array:
        return pa.array([len(text) for text in word.to_pylist()])

    found = failure(lengths)
    assert found.summary == "function \"f\" raised TypeError: object of type 'NoneType' has no len()"
    assert found.detail is not None
    assert found.detail.startswith("It was raised for n = 3, word = NULL, at ")
    assert "test_function.py:" in found.detail


def test_an_exception_that_no_row_raises_alone_says_so() -> None:
    def few(n: pa.Array, word: pa.Array) -> pa.Array:
        if len(n) > 1:
            raise ValueError("too many\nrows")
        return n

    found = failure(few)
    assert found.summary == 'function "f" raised ValueError: too many rows'
    assert found.detail is not None and found.detail.startswith("It was raised for 4 rows together, at ")


def drawn(n: pa.Array, word: pa.Array) -> pa.Array:
    return pa.array([random.random() for _ in range(len(n))])


def accumulated(n: pa.Array, word: pa.Array) -> pa.Array:
    return pc.cumulative_sum(pc.fill_null(n, 0)).cast(pa.float64())


class Counter:
    """A function that remembers its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, n: pa.Array, word: pa.Array) -> pa.Array:
        self.calls += 1
        return pa.array([float(self.calls)] * len(n))


@pytest.mark.parametrize("function", [drawn, accumulated, Counter()], ids=["chance", "other rows", "earlier calls"])
def test_values_that_depend_on_something_else_than_the_row_are_found_out(function: Callable[..., Any]) -> None:
    found = failure(function, pa.float64())
    assert found.summary == 'function "f" is not deterministic'
    assert found.detail is not None and " for n = " in found.detail


def test_nan_and_the_last_digits_are_no_difference() -> None:
    counter = Counter()

    def shaky(n: pa.Array, word: pa.Array) -> pa.Array:
        noise = counter(n, word)[0].as_py() * 1e-15
        return pa.array([float("nan") if number is None else number + noise for number in n.to_pylist()])

    assert str(called(shaky, pa.float64())(NUMBERS, WORDS)[1]) == "nan"
    assert counter.calls == 2


def test_only_the_first_batch_of_a_task_is_computed_twice() -> None:
    counter = Counter()

    def counting(n: pa.Array, word: pa.Array) -> pa.Array:
        counter(n, word)
        return n

    call = called(counting)
    for _ in range(3):
        call(NUMBERS, WORDS)
    assert counter.calls == 4
