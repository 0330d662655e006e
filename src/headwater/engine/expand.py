"""Generators: several rows for one.

Where a stream says what identifies an event, each element is an event of its own: its identity is that of the event and
the place of the element in it. Otherwise the elements of one event would be taken for copies of each other.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.stamp import ID
from headwater.errors import NotSupportedYet
from headwater.plan.stages import Expand

_PLACE, _ELEMENT = "__place", "__element"
_WITH_OUTER = ("explode", "posexplode", "inline")


def expanded(frame: DataFrame, stage: Expand, columns: list[Column], carried: list[Column]) -> DataFrame:
    """The rows once per element, beside their own `columns` and what is `carried`."""
    function, _, arguments = stage.generator.sql.partition("(")
    name = function.lower()
    if ID in frame.columns and name != "json_tuple":
        return _identified(frame, stage, name, arguments, columns, carried)
    outer = "_outer" if stage.outer and name in _WITH_OUTER else ""
    return frame.select(*columns, F.expr(f"{name}{outer}({arguments}").alias(*stage.outputs), *carried)


def _identified(
    frame: DataFrame, stage: Expand, name: str, arguments: str, columns: list[Column], carried: list[Column]
) -> DataFrame:
    outer = "_outer" if stage.outer or name.endswith("_outer") else ""
    kind = name.removesuffix("_outer")
    if kind not in _WITH_OUTER:
        raise NotSupportedYet(
            f"{kind} of a stream with `unique` can't be executed in this version",
            hint="Write EXPLODE, POSEXPLODE or INLINE.",
            origin=stage.origin,
        )
    outputs = [_ELEMENT] if kind == "inline" else list(stage.outputs[1:] if kind == "posexplode" else stage.outputs)
    elements = F.expr(f"posexplode{outer}({arguments}").alias(_PLACE, *outputs)
    rows = frame.select(*columns, elements, *carried)
    rows = rows.withColumn(ID, F.concat(F.col(ID), F.lit(":"), F.coalesce(F.col(_PLACE), F.lit(-1))))
    if kind == "inline":
        fields = rows.schema[_ELEMENT].dataType.fieldNames()
        pairs = zip(fields, stage.outputs, strict=True)
        shown = [F.col(_ELEMENT).getField(field).alias(output) for field, output in pairs]
    elif kind == "posexplode":
        shown = [F.col(_PLACE).alias(stage.outputs[0]), *(F.col(f"`{output}`") for output in outputs)]
    else:
        shown = [F.col(f"`{output}`") for output in outputs]
    return rows.select(*columns, *shown, *carried)
