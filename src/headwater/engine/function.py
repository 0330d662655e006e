"""Functions in Python: how Spark comes to know them, and how its workers call them.

A function travels to the workers by value (cloudpickle), with what it uses of its project's files, so that these need
not be importable there. It is called with batches of rows as Arrow arrays, as many rows at a time as it pleases Spark.
That must not be seen in its values, so that the first batch of every task is a *sample* as well: some of its rows are
given to the function once more, alone and in another order.

What a function does wrong becomes a `FunctionFailed` in the worker, which names the arguments of one row. Which row of
the log that was is found out later, see `engine.culprit`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.engine.digits import rounded
from headwater.errors import FunctionFailed
from headwater.model import Function, PythonBody, spell_type

SAMPLE = 8
"""The rows of a task that are computed twice."""
_LONGEST_SHOWN = 200


def register(spark: Any, functions: Mapping[str, Function]) -> None:
    """Let Spark know functions in Python by these names."""
    from pyspark.sql.functions import arrow_udf

    for name, function in functions.items():
        on_arrays = _on_arrays(Called.of(function))
        spark.udf.register(name, arrow_udf(on_arrays, spell_type(function.returns)))


def _on_arrays(call: Called) -> Callable[..., pa.Array]:
    """The call as a plain function, whose annotations tell Spark what it is."""

    def on_arrays(*arrays: pa.Array) -> pa.Array:
        return call(*arrays)

    return on_arrays


@dataclass
class Called:
    """A function in a worker: its arguments and its result have the declared types. One object serves one task."""

    name: str
    parameters: tuple[tuple[str, pa.DataType], ...]
    returns: pa.DataType
    function: Callable[..., Any]
    sampled: bool = False

    @classmethod
    def of(cls, function: Function) -> Called:
        """The call of a declared function."""
        assert isinstance(function.body, PythonBody)
        parameters = tuple((parameter.name, parameter.type) for parameter in function.parameters)
        return cls(function.name, parameters, function.returns, function.body.function)

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        """The value of each row."""
        pairs = zip(arrays, self.parameters, strict=True)
        arguments = [array if array.type == kind else array.cast(kind) for array, (_, kind) in pairs]
        values = self._values(arguments)
        if not self.sampled and len(values):
            self._sample(arguments, values)
            self.sampled = True
        return values

    def _values(self, arguments: Sequence[pa.Array]) -> pa.Array:
        try:
            returned = self.function(*arguments)
        except Exception as cause:
            raise self._raised(arguments, cause) from cause
        return self._conforming(returned, arguments)

    def _conforming(self, returned: Any, arguments: Sequence[pa.Array]) -> pa.Array:
        """The values that the function returned, if they are as it declares."""
        values = returned.combine_chunks() if isinstance(returned, pa.ChunkedArray) else returned
        if not isinstance(values, pa.Array):
            what = f"returned a {type(returned).__name__}, which is no Arrow array"
            raise self._refused(what, f"Return pa.array(…, pa.{self.returns}).", arguments)
        if values.type != self.returns and not pa.types.is_null(values.type):  # of NULLs alone, Arrow can't tell
            what = f"returned {values.type}, and declares {spell_type(self.returns)}, which is {self.returns} in Arrow"
            raise self._refused(what, f"Cast the array to {self.returns}, or declare another type.", arguments)
        if len(values) != len(arguments[0]):
            what = f"returned {_counted(len(values), 'value')} for {_counted(len(arguments[0]), 'row')}"
            raise self._refused(what, "Return one value for each row, NULL where there is none.", arguments)
        return values.cast(self.returns)

    def _sample(self, arguments: Sequence[pa.Array], values: pa.Array) -> None:
        """Compute some rows once more, alone and in another order: their values must be the same."""
        chosen = sorted({at * len(values) // SAMPLE for at in range(SAMPLE)}, reverse=True)
        again = self._values([array.take(pa.array(chosen)) for array in arguments])
        for at, value in zip(chosen, again, strict=True):
            first, second = values[at].as_py(), value.as_py()
            if rounded(first) != rounded(second):
                raise FunctionFailed(
                    f'function "{self.name}" is not deterministic',
                    detail=f"It gave {_shown(first)} and then {_shown(second)} for {self._row(arguments, at)}.",
                    hint="Let each value follow from the arguments of its own row alone: not from chance, the clock, "
                    "earlier calls, or other rows of the batch.",
                )

    def _raised(self, arguments: Sequence[pa.Array], cause: Exception) -> FunctionFailed:
        """The error for an exception, with the arguments of the first row that it is raised for."""
        row = self._first_raising(arguments)
        told = (
            f"for {self._row(arguments, row)}"
            if row is not None
            else f"for {_counted(len(arguments[0]), 'row')} together"
        )
        line = _source_line(cause)
        return FunctionFailed(
            f'function "{self.name}" raised {type(cause).__name__}: {_line(str(cause)) or "(no message)"}',
            detail=f"It was raised {told}{f', at {line}' if line else ''}.",
            hint="Let the function take such a row, or return NULL for it.",
        )

    def _first_raising(self, arguments: Sequence[pa.Array]) -> int | None:
        low, high = 0, len(arguments[0])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._raises(arguments, low, middle) else (middle, high)
        return low if high > low and self._raises(arguments, low, high) else None

    def _raises(self, arguments: Sequence[pa.Array], low: int, high: int) -> bool:
        try:
            self.function(*(array.slice(low, high - low) for array in arguments))
        except Exception:
            return True
        return False

    def _refused(self, what: str, hint: str, arguments: Sequence[pa.Array]) -> FunctionFailed:
        rows = f"The first of the rows had {self._row(arguments, 0)}." if len(arguments[0]) else None
        return FunctionFailed(f'function "{self.name}" {what}', detail=rows, hint=hint)

    def _row(self, arguments: Sequence[pa.Array], at: int) -> str:
        pairs = zip(self.parameters, arguments, strict=True)
        return ", ".join(f"{name} = {_shown(array[at].as_py())}" for (name, _), array in pairs)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _shown(value: Any) -> str:
    return "NULL" if value is None else _line(repr(value))


def _line(text: str) -> str:
    """A text on one line, as an error passes from a worker to the driver, and no longer than fits into it."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"


def _source_line(cause: Exception) -> str | None:
    """The line in which an exception was raised: the innermost that is not of a library."""
    frames = traceback.extract_tb(cause.__traceback__)[1:]
    own = [frame for frame in frames if "site-packages" not in frame.filename]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None
