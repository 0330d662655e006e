"""Frames in time by running totals: to the bit what Spark finds when it adds up every frame anew."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from headwater import model, sql
from headwater.operators import Call, Expression, Over, Stability
from headwater.operators.aggregate.lowering.stable import stable
from headwater.operators.over.lowering.running import adds_up_exactly, between_totals, over_of
from headwater.operators.over.lowering.values import values_of
from headwater.plan import check
from headwater.sql import parse_expression

START = datetime(2026, 1, 1, tzinfo=UTC)
REACH = timedelta(seconds=3)
FRAMES = ("CURRENT ROW", "INTERVAL '2' SECOND FOLLOWING", "INTERVAL '1' SECOND PRECEDING")
CALLS = {
    "count(*)": pa.int64(),
    "count(whole)": pa.int64(),
    "count_if(whole > 3)": pa.int64(),
    "sum(whole)": pa.int64(),
    "sum(price)": pa.decimal128(20, 2),
    "sum(whole) FILTER (WHERE price > 2)": pa.int64(),
    "avg(whole)": pa.float64(),
    "avg(price)": pa.decimal128(14, 6),
}


def call(text: str, kind: pa.DataType) -> Call:
    function = text.partition("(")[0]
    stability = Stability.REWRITTEN if (function, kind) == ("avg", pa.float64()) else Stability.EXACT
    return Call("value", function, Expression.read(text, kind), stability)


def rows() -> pa.Table:
    """Few keys, instants that are equal or a microsecond apart from the edges of frames, values that can be NULL."""
    chance = random.Random(7)  # the same in every run
    steps = [0, 1, 999_999, 1_000_000, 2_999_999, 3_000_000, 3_000_001]
    at, found = 0, []
    for _ in range(300):
        at += chance.choice(steps)
        whole = chance.choice([None, None, -5, 3, 2**40, 9])
        price = chance.choice([None, None, Decimal("0.01"), Decimal("99999999.99"), Decimal("-3.33")])
        found.append((chance.choice("ab"), START + timedelta(microseconds=at), whole, price))
    key, time, wholes, prices = (list(values) for values in zip(*found, strict=True))
    columns = {"key": key, "at": pa.array(time, pa.timestamp("us", "UTC")), "whole": pa.array(wholes, pa.int64())}
    return pa.table({**columns, "price": pa.array(prices, pa.decimal128(10, 2))})


@pytest.mark.parametrize("end", FRAMES)
def test_the_values_are_those_of_frames_added_up_anew(end: str, spark: SparkSession) -> None:
    window = f"OVER (PARTITION BY key ORDER BY at RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND {end})"
    tree = parse_expression(f"count(1) {window}")
    assert isinstance(tree, exp.Window)
    calls = [call(text, kind) for text, kind in CALLS.items()]
    assert all(adds_up_exactly(found) for found in calls)
    anew = [F.expr(stable(found, "at", over_of(tree))).alias(f"n{number}") for number, found in enumerate(calls)]
    running = [F.expr(between_totals(found, tree, REACH)).alias(f"n{number}") for number, found in enumerate(calls)]
    frame = spark.createDataFrame(rows())
    expected = frame.select("key", "at", "whole", "price", *anew).toArrow()
    assert expected["n6"].null_count > 0  # frames without a value
    assert frame.select("key", "at", "whole", "price", *running).toArrow().equals(expected)


@pytest.mark.parametrize(("order", "is_running"), [("at", True), ("paid_at", False), ("at DESC", False)])
def test_totals_run_along_a_time_that_every_row_has(order: str, is_running: bool) -> None:
    """Rows without a time are a frame of their own, which no difference of totals is."""
    stream = "CREATE STREAM sales (n INT, paid_at TIMESTAMP, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);"
    frame = f"ORDER BY {order} RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW"
    windows = "TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND)"
    query = f"SELECT at, sum(n) OVER (PARTITION BY window_end {frame}) AS total FROM {windows}"
    text = f"{stream} CREATE MATERIALIZED VIEW v AS {query};"
    project = model.Project(name="shop", declarations=sql.parse_declarations(text, "views.sql").declarations)
    planned = check(project).checked().view("v")
    (stage,) = (found for found in planned.stages if isinstance(found, Over))
    assert ("UNBOUNDED PRECEDING" in values_of(stage, planned.sight).values["total"]) is is_running


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sum(weight)", pa.float64()),
        ("avg(weight)", pa.float64()),
        ("max(whole)", pa.int64()),
        ("count(DISTINCT whole)", pa.int64()),
        ("sum(long)", pa.decimal128(38, 2)),
    ],
)
def test_what_does_not_add_up_exactly_has_no_running_total(text: str, kind: pa.DataType) -> None:
    function = text.partition("(")[0]
    assert not adds_up_exactly(Call("value", function, Expression.read(text, kind)))
