"""Halving: which of many things makes a computation fail, when one of them is enough to."""

from __future__ import annotations

from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame

from headwater.engine.failure import failure_of
from headwater.errors import ViewFailed


def first_failing(count: int, compute: Callable[[int, int], None], view: str) -> tuple[int, ViewFailed] | None:
    """The first of so many things that a computation over a range of them fails for, and how it fails there.

    `compute` takes a range [low, high) and raises what Spark raises. None if it doesn't fail over all of them, or if
    what fails over all is fine for each. Any failure but that of an expression on what it is given is passed on.
    """
    low, high = 0, count
    failure = _failure(low, high, compute, view) if count else None
    if failure is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        in_first = _failure(low, middle, compute, view)
        low, high = (low, middle) if in_first else (middle, high)
        failure = in_first
    failure = failure or _failure(low, high, compute, view)
    return None if failure is None else (low, failure)


def _failure(low: int, high: int, compute: Callable[[int, int], None], view: str) -> ViewFailed | None:
    try:
        compute(low, high)
    except (PySparkException, Py4JError) as cause:
        failure = failure_of(view, cause)
        if isinstance(failure, ViewFailed) and not isinstance(cause, AnalysisException):
            return failure
        raise failure from cause
    return None


def computed(frame: DataFrame) -> None:
    """Compute every column of every row, and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()
