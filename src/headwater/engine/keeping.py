"""The rows that a view keeps in Spark's state now, and the plan that Spark makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.engine.checkpoint import Checkpoint
from headwater.log import TopicLog
from headwater.plan import PlannedView

_OPERATORS = {
    "dedupe": "duplicates",
    "stateStoreSave": "aggregate",
    "sessionWindowStateStoreSaveExec": "sessions",
    "symmetricHashJoin": "join",
}
_STORES = {"default": "", "left-keyWithIndexToValue": " (left)", "right-keyWithIndexToValue": " (right)"}


def rows_in_state(spark: Any, checkpoint: Path) -> dict[str, int]:
    """The rows that each kind of operator has in state after the last batch that succeeded, by Spark's own readers."""
    counts: dict[str, int] = {}
    for operator in spark.read.format("state-metadata").load(str(checkpoint)).collect():
        if operator.stateStoreName not in _STORES:  # an index of others
            continue
        options = {"operatorId": operator.operatorId, "storeName": operator.stateStoreName}
        state = spark.read.format("statestore").options(**options).load(str(checkpoint))
        name = _OPERATORS.get(operator.operatorName, operator.operatorName) + _STORES[operator.stateStoreName]
        counts[name] = counts.get(name, 0) + int(state.count())
    return dict(sorted(counts.items()))


def physical_plan(spark: Any, planned: PlannedView, logs: Mapping[str, TopicLog]) -> str:
    """The tree of Spark's own operators for a view: as a stream or, for one that is settled, in batch."""
    from headwater.engine.batch import BatchView
    from headwater.engine.live import LiveView

    if planned.is_settled:
        view = BatchView(planned, logs, dict.fromkeys(logs, 0))
        frame = view.frame(view.lowering(spark))
    else:
        nothing = Checkpoint.of(planned, Path())
        frame = LiveView(planned, (), logs, nothing, lambda _: None, lambda _: None).frame(spark)
    text = spark._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    tree, _, _ = str(text).partition("\n\n")  # what follows are the details of each operator
    return tree.removeprefix("== Physical Plan ==").strip("\n")
