"""Every statement of the corpus gives what Spark gives: the same types, and the same values to the last digit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.errors import StatementRefused
from headwater.query import Engine
from headwater.query.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from headwater.query.functions import FUNCTIONS
from tests.query import corpus
from tests.query.asking import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = {"sales": corpus.sales(), "limits": corpus.limits()}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    opened = Engine()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> SparkSession:
    for name, rows in VIEWS.items():
        made = spark.createDataFrame(rows)
        if "local" in made.columns:
            made = made.withColumn("local", made["local"].cast("timestamp_ntz"))
        made.createOrReplaceTempView(name)
    return spark


@pytest.mark.jvm
def test_a_query_gives_what_spark_gives(views: SparkSession, engine: Engine) -> None:
    differing = []
    for sql in corpus.statements():
        expected, found = views.sql(sql).toArrow(), ask(engine, sql, **VIEWS)
        differing += [f"{sql[:200]}\n{difference}" for difference in differences(found, expected)]
    assert not differing, "\n".join(differing)


@pytest.mark.jvm
@pytest.mark.parametrize("sql", corpus.FAILING)
def test_what_spark_fails_at_is_refused(views: SparkSession, engine: Engine, sql: str) -> None:
    with pytest.raises(Exception, match=r"."):
        views.sql(sql).toArrow()
    with pytest.raises(StatementRefused, match="the query can't be answered"):
        ask(engine, sql, **VIEWS)


def test_the_corpus_calls_every_function() -> None:
    text = f"{corpus.EXPRESSIONS}\n{corpus.QUERIES}".lower()
    called = set(re.findall(r"\b([a-z_0-9]+)\s*\(", text))
    known = {*FUNCTIONS, *AGGREGATES, *WINDOW_FUNCTIONS}
    assert known - called == set(), "no function without a comparison"


def differences(found: pa.Table, expected: pa.Table) -> Iterator[str]:
    """The columns that differ, in type or in a value; floating-point sums may differ in their last digit."""
    if found.num_columns != expected.num_columns:
        yield f"  columns {found.schema.names} and {expected.schema.names}"
        return
    for place, name in enumerate(found.column_names):
        one, other = found.column(place), expected.column(place)
        if spelled(one.type) != spelled(other.type):
            yield f"  {name}: type {one.type} and not {other.type}"
        elif not all(map(same, one.to_pylist(), other.to_pylist())) or len(one) != len(other):
            yield f"  {name}: {one.to_pylist()} and not {other.to_pylist()}"


def spelled(kind: pa.DataType) -> str:
    return str(kind).replace("element: ", "item: ").replace(" not null", "")


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isfinite(one) and math.isfinite(other):
        return math.isclose(one, other, rel_tol=1e-14) and math.copysign(1, one) == math.copysign(1, other)
    return repr(one) == repr(other)
