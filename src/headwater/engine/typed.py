"""The types of a view's rows: those that were planned are those that Spark gives, or nothing is delivered.

What was planned is what stores, derived topics and outlets were told. So a type that is another is our mistake, and is
never mended by a cast. What is cast all the same has the same type for Spark: Arrow says in a schema whether a column
may be NULL and in which time zone instants are shown, where Spark says it more loosely.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from headwater.engine.view import output_schema
from headwater.errors import PlannedTypeDiffers
from headwater.plan import PlannedView
from headwater.plan.spark_type import from_arrow

_COLLATION = re.compile(r"(?<=\bstring) collate \w+", re.IGNORECASE)
"""The comparison of texts, which is no part of what was planned: their values are texts like all others."""


def check_frame(planned: PlannedView, rows: DataFrame) -> None:
    """Assert that a view's rows, which Spark has planned and not yet computed, have the planned types."""
    _check(planned, {field.name: _COLLATION.sub("", field.dataType.simpleString()) for field in rows.schema.fields})


def typed(planned: PlannedView, rows: pa.Table) -> pa.Table:
    """The view's columns of rows that Spark gave, with exactly the planned schema."""
    schema = output_schema(planned)
    columns = rows.select(schema.names)
    _check(planned, {field.name: str(from_arrow(field.type)) for field in columns.schema})
    return columns.cast(schema)


def _check(planned: PlannedView, given: Mapping[str, str]) -> None:
    for column in planned.columns:
        wanted, kind = str(from_arrow(column.type)), given[column.name]
        if kind != wanted:
            raise PlannedTypeDiffers(
                f'view "{planned.name}" has a column "{column.name}" of another type than was planned',
                detail=f"It was planned as {wanted.upper()}, and Spark gives {kind.upper()}. Nothing was delivered.",
                hint=f"Report it with the view's query; until then, write CAST(… AS {wanted.upper()}).",
                origin=planned.view.origin,
                view=planned.name,
                column=column.name,
                planned=wanted,
                given=kind,
            )
