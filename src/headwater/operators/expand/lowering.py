"""Generators: several rows for one.

Where a stream says what identifies an event, each element is an event of its own: its identity is that of the event and
the place of the element in it. Otherwise the elements of one event would be taken for copies of each other.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators import Expand
from headwater.operators.lowering.columns import carried, columns_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import ID
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.plan.calls import Call, call_of
from headwater.sql import spell

_PLACE, _ELEMENT = "__place", "__element"
_WITH_OUTER = ("explode", "posexplode", "inline")


@lowered.register
def _(stage: Expand, lowering: Lowering) -> Rows:
    rows = lowering.lower(stage.input)
    elements = _expanded(rows.frame, stage, columns_of(stage.input), carried(rows.frame))
    return lowering.count(rows.then(elements), "expanded")


def _expanded(frame: DataFrame, stage: Expand, columns: list[Column], beside: list[Column]) -> DataFrame:
    """The rows once per element, beside their own `columns` and what travels `beside` them."""
    call = call_of(stage.generator.tree)
    assert call is not None, "a generator is a call"
    if ID in frame.columns and call.info.name != "json_tuple":
        return _identified(frame, stage, call, columns, beside)
    renamed = stage.outer and call.info.name in _WITH_OUTER
    generator = f"{call.info.name}_outer({spell(call.arguments[0])})" if renamed else stage.generator.sql
    return frame.select(*columns, F.expr(generator).alias(*stage.outputs), *beside)


def _identified(frame: DataFrame, stage: Expand, call: Call, columns: list[Column], beside: list[Column]) -> DataFrame:
    kind = call.info.name.removesuffix("_outer")
    outer = "_outer" if stage.outer or kind != call.info.name else ""
    assert kind in _WITH_OUTER, kind
    outputs = [_ELEMENT] if kind == "inline" else list(stage.outputs[1:] if kind == "posexplode" else stage.outputs)
    elements = F.expr(f"posexplode{outer}({spell(call.arguments[0])})").alias(_PLACE, *outputs)
    rows = frame.select(*columns, elements, *beside)
    rows = rows.withColumn(ID, F.concat(F.col(ID), F.lit(":"), F.coalesce(F.col(_PLACE), F.lit(-1))))
    if kind == "inline":
        fields = rows.schema[_ELEMENT].dataType.fieldNames()
        pairs = zip(fields, stage.outputs, strict=True)
        shown = [F.col(_ELEMENT).getField(field).alias(output) for field, output in pairs]
    elif kind == "posexplode":
        shown = [F.col(_PLACE).alias(stage.outputs[0]), *(F.col(f"`{output}`") for output in outputs)]
    else:
        shown = [F.col(f"`{output}`") for output in outputs]
    return rows.select(*columns, *shown, *beside)
