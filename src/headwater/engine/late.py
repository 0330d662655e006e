"""Late rows of several topics in one table.

A column is NULL in the rows of a topic that doesn't have it. One that two topics have under the same name, in different
types, is a column for each, named after its topic: `payments_amount` beside `orders_amount`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def united(parts: Sequence[tuple[str, DataFrame]]) -> DataFrame:
    """The rows of all parts, each given with the topic that it is of."""
    types: dict[str, set[str]] = {}
    for _, rows in parts:
        for field in rows.schema.fields:
            types.setdefault(field.name.lower(), set()).add(field.dataType.simpleString())
    labels = {name: next(iter(kinds)) for name, kinds in types.items()}
    frames = []
    for topic, rows in parts:
        shown = []
        for field in rows.schema.fields:
            alike = len(types[field.name.lower()]) == 1
            name = field.name if alike else _label(topic, field.name, field.dataType.simpleString(), labels)
            shown.append(F.col(f"`{field.name}`").alias(name))
        frames.append(rows.select(*shown))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _label(topic: str, name: str, kind: str, labels: dict[str, str]) -> str:
    """A name for a column of a topic that no column of another type has; they are noted by their types in `labels`."""
    label, number = f"{topic}_{name}", 1
    while labels.setdefault(label.lower(), kind) != kind:
        number += 1
        label = f"{topic}_{name}_{number}"
    return label
