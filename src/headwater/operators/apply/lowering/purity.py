"""Things that the function of a Python view may not do, read off the DataFrame that it returns.

Its rows have to follow from the rows of its inputs alone, and must not depend on how the log was cut into slices. So
the plan behind the DataFrame is searched for expressions whose value depends on when, where or in which order they are
computed, for operators that take some rows of whatever is there, and for rows that come from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame

_CLOCK = "it reads the clock"
_CHANCE = "it is random"
_PLACE = "it depends on how rows are spread over partitions and files"
_SESSION = "it depends on the session"
_ORDER = "its value depends on the order in which rows are processed"
_SOME = "which rows it takes depends on the rows of a slice; rank them within a window instead"
IMPURE: Mapping[str, str] = {
    "CurrentTimestamp": _CLOCK, "Now": _CLOCK, "CurrentDate": _CLOCK, "CurrentTime": _CLOCK, "LocalTimestamp": _CLOCK,
    "CurrentTimestampLike": _CLOCK, "CurDateExpressionBuilder": _CLOCK,
    "Rand": _CHANCE, "Randn": _CHANCE, "Uuid": _CHANCE, "RandStr": _CHANCE, "Uniform": _CHANCE, "Shuffle": _CHANCE,
    "Sample": _CHANCE,
    "MonotonicallyIncreasingID": _PLACE, "SparkPartitionID": _PLACE, "InputFileName": _PLACE,
    "InputFileBlockStart": _PLACE, "InputFileBlockLength": _PLACE,
    "CurrentUser": _SESSION, "CurrentDatabase": _SESSION, "CurrentCatalog": _SESSION,
    "First": _ORDER, "Last": _ORDER, "AnyValue": _ORDER, "ApproximatePercentile": _ORDER,
    "GlobalLimit": _SOME, "LocalLimit": _SOME, "Offset": _SOME, "Tail": _SOME,
}  # fmt: skip
"""Classes of Spark's expressions and operators, and why a view can't have them."""
_ELSEWHERE = (
    "LogicalRelation",
    "DataSourceV2Relation",
    "StreamingRelation",
    "StreamingRelationV2",
    "HiveTableRelation",
)


def impurity_of(frame: DataFrame, inputs: list[DataFrame]) -> str | None:
    """Why the rows of a DataFrame don't follow from those of the inputs alone, as a sentence; None if they do."""
    if frame.isStreaming:
        return "It is a stream; a view is given, and gives, the rows of a slice."
    plan = frame._jdf.queryExecution().analyzed()
    known = {leaf.semanticHash() for entry in inputs for leaf in _leaves(entry._jdf.queryExecution().analyzed())}
    for leaf in _leaves(plan):
        kind = leaf.getClass().getSimpleName()
        if kind in _ELSEWHERE and leaf.semanticHash() not in known:
            return "It reads rows that are none of its inputs': what is read beside the log differs in a replay."
    for name in _classes(json.loads(plan.toJSON())):
        if name in IMPURE:
            return f"It uses {name}: {IMPURE[name]}."
    return None if plan.deterministic() else "It calls a function that is not deterministic."


def _leaves(plan: Any) -> Iterator[Any]:
    leaves = plan.collectLeaves().iterator()
    while leaves.hasNext():
        yield leaves.next()


def _classes(value: Any) -> Iterator[str]:
    """The names of the classes of a plan's operators and expressions, as Spark writes it in JSON."""
    if isinstance(value, dict):
        if isinstance(value.get("class"), str):
            yield value["class"].rpartition(".")[2].removesuffix("$")
        for part in value.values():
            yield from _classes(part)
    elif isinstance(value, list):
        for part in value:
            yield from _classes(part)
