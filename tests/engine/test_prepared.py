"""Prepared plans: what they rest on in Spark, and which are refused."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.engine.prepared import Input, Instants, Prepared, PreparingSession, prepare
from headwater.operators.lowering.ledger import Count

SALES = pa.schema([("shop", pa.string()), ("price", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
INPUT = Input("__sales", SALES, StructType().add("shop", "string").add("price", "long").add("at", "timestamp"))
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture(scope="module", params=[False, True], ids=["interpreted", "compiled"])
def own(request: pytest.FixtureRequest, spark: SparkSession) -> PreparingSession:
    return PreparingSession(spark, compiled=request.param)


def sales(*rows: tuple[str, int, int]) -> pa.Table:
    """Sales of a shop, at a price, some minutes after noon."""
    return pa.table(
        {
            "shop": [shop for shop, _, _ in rows],
            "price": [price for _, price, _ in rows],
            "at": pa.array([NOON + timedelta(minutes=minutes) for _, _, minutes in rows], SALES.field("at").type),
        },
        schema=SALES,
    )


def per_shop(frames: Mapping[str, DataFrame], at: Instants) -> DataFrame:
    """What each shop sold after one instant and up to another, counted as it comes."""
    rows = frames["__sales"].coalesce(1).observe("come", F.count(F.lit(1)).alias("rows"))
    among = (F.col("at") > F.lit(at["after"])) & (F.col("at") <= F.lit(at["until"]))
    return rows.where(among).groupBy("shop").agg(F.sum("price").alias("sold"))


def between(first: int, last: int) -> Instants:
    return {"after": NOON + timedelta(minutes=first), "until": NOON + timedelta(minutes=last)}


def sold(table: pa.Table) -> dict[str, int]:
    return {row["shop"]: row["sold"] for row in table.to_pylist()}


@pytest.fixture(scope="module")
def plan(own: PreparingSession) -> Prepared:
    plan = prepare(own, [INPUT], ["after", "until"], per_shop)
    assert plan is not None
    return plan


def test_a_kept_plan_answers_for_the_rows_and_the_instants_that_it_is_given(plan: Prepared) -> None:
    one, _ = plan.run({"__sales": sales(("a", 1, 1), ("a", 2, 2), ("b", 4, 3), ("b", 8, 9))}, between(0, 5))
    assert sold(one) == {"a": 3, "b": 4}
    other, _ = plan.run({"__sales": sales(("c", 5, 1), ("c", 7, 2))}, between(1, 2))
    assert sold(other) == {"c": 7}


def test_instants_that_are_compared_with_the_same_are_told_apart(own: PreparingSession) -> None:
    """Spark computes what two conditions share once; an instant is no part of that, though each is put in later."""

    def per_shop_in_a_minute(frames: Mapping[str, DataFrame], at: Instants) -> DataFrame:
        later = F.timestamp_micros(F.unix_micros("at") + F.lit(60_000_000))
        return frames["__sales"].where((later > F.lit(at["after"])) & (later <= F.lit(at["until"])))

    plan = prepare(own, [INPUT], ["after", "until"], per_shop_in_a_minute)
    assert plan is not None
    rows, _ = plan.run({"__sales": sales(("a", 1, 1), ("b", 2, 4), ("c", 4, 5))}, between(2, 5))
    assert rows["shop"].to_pylist() == ["b"]


def test_each_execution_has_counts_of_its_own(plan: Prepared) -> None:
    executions = [plan.run({"__sales": sales(*[("a", 1, 1)] * count)}, between(0, 5)) for count in (3, 0, 2)]
    assert [sold(rows) for rows, _ in executions] == [{"a": 3}, {}, {"a": 2}]
    assert [counts["come"] for _, counts in executions] == [Count(3, 3), Count(0, 0), Count(2, 2)]


def test_a_plan_can_be_executed_several_times_at_once(plan: Prepared) -> None:
    def run(number: int) -> tuple[dict[str, int], Count]:
        rows, counts = plan.run({"__sales": sales(*[(f"shop-{number}", 1, 1)] * number)}, between(0, 5))
        return sold(rows), counts["come"]

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(run, range(1, 41)))
    assert told == [({f"shop-{number}": number}, Count(number, number)) for number in range(1, 41)]


def test_no_job_is_begun_for_a_plan_that_is_kept(plan: Prepared, spark: SparkSession) -> None:
    context, group = spark.sparkContext, str(uuid4())
    context.setJobGroup(group, "a plan that is kept")
    try:
        plan.run({"__sales": sales(("a", 1, 1))}, between(0, 5))
        assert not context.statusTracker().getJobIdsForGroup(group)
        spark.range(1).count()
        assert context.statusTracker().getJobIdsForGroup(group), "the tracker sees those that are"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_a_plan_that_fails_says_so_and_leaves_nothing_behind(own: PreparingSession) -> None:
    def divided(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        return frames["__sales"].coalesce(1).sort("shop").select(F.expr("price div (price - 3)").alias("sold"))

    plan = prepare(own, [INPUT], [], divided)
    assert plan is not None
    for _ in range(3):
        with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
            plan.run({"__sales": sales(("a", 1, 1), ("b", 3, 1))}, {})
    assert plan._kept.memoryUsed() == 0
    assert plan.run({"__sales": sales(("a", 4, 1))}, {})[0].to_pylist() == [{"sold": 4}]


def test_rows_are_counted_where_no_row_can_be_shown(plan: Prepared) -> None:
    rows, counts = plan.run({"__sales": sales(("a", 1, 1), ("b", 1, 2))}, between(5, 5))
    assert sold(rows) == {}
    assert counts["come"] == Count(2, 2)


def test_plans_of_several_inputs_are_given_each_its_own(own: PreparingSession) -> None:
    rates = Input(
        "__rates",
        pa.schema([("shop", pa.string()), ("rate", pa.int64())]),
        StructType().add("shop", "string").add("rate", "long"),
    )

    def joined(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        sales, rates = frames["__sales"].coalesce(1), frames["__rates"].coalesce(1)
        return sales.join(rates, "shop").select("shop", (F.col("price") * F.col("rate")).alias("sold"))

    plan = prepare(own, [INPUT, rates], [], joined)
    assert plan is not None
    for rate in (2, 3):
        given = {"__sales": sales(("a", 5, 1), ("b", 7, 1)), "__rates": pa.table({"shop": ["a"], "rate": [rate]})}
        assert sold(plan.run(given, {})[0]) == {"a": 5 * rate}


@pytest.mark.parametrize("kind", ["inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti"])
def test_both_sides_of_a_join_are_counted_whole_where_one_of_them_is_empty(own: PreparingSession, kind: str) -> None:
    """Compiled code would not ask for one side where the other has no row."""
    other = replace(INPUT, name="__other")

    def joined(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        one, two = (
            frames[name].coalesce(1).observe(name, F.count(F.lit(1)).alias("rows")).where("price > 0")
            for name in ("__sales", "__other")
        )
        return one.join(two.groupBy("shop").agg(F.max("at").alias("last_at")).hint("merge"), "shop", kind)

    plan = prepare(own, [INPUT, other], [], joined)
    assert plan is not None
    for left, right in ((0, 3), (3, 0), (1, 3), (3, 1), (0, 0)):
        given = {
            "__sales": sales(*[("a", 1, 1)] * left),
            "__other": sales(*[("b", 1, 1)] * right),
        }
        _, counts = plan.run(given, {})
        assert counts == {"__sales": Count(left, left), "__other": Count(right, right)}, (left, right)


def test_a_plan_in_which_instants_were_compared_while_it_was_made_is_refused(own: PreparingSession) -> None:
    def folded(frames: Mapping[str, DataFrame], at: Instants) -> DataFrame:
        return frames["__sales"].where(F.lit(at["after"]) < F.lit(at["until"]))

    assert prepare(own, [INPUT], ["after", "until"], folded) is None


def test_a_plan_in_which_something_was_computed_of_an_instant_is_refused(own: PreparingSession) -> None:
    def by_spark(frames: Mapping[str, DataFrame], at: Instants) -> DataFrame:
        return frames["__sales"].where(F.unix_micros("at") > F.unix_micros(F.lit(at["after"])))

    def by_python(frames: Mapping[str, DataFrame], at: Instants) -> DataFrame:
        return frames["__sales"].where(F.col("at") > F.lit(at["after"] - timedelta(days=1)))

    assert prepare(own, [INPUT], ["after"], by_spark) is None
    assert prepare(own, [INPUT], ["after"], by_python) is None


def test_a_plan_that_reads_more_than_it_is_given_is_refused(own: PreparingSession) -> None:
    def with_a_range(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        return frames["__sales"].select("price").union(own.session.range(3))

    def with_a_subquery(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        frames["__sales"].createOrReplaceTempView("sales")
        return own.session.sql("SELECT * FROM sales WHERE price = (SELECT max(price) FROM sales)")

    assert prepare(own, [INPUT], [], with_a_range) is None
    assert prepare(own, [INPUT], [], with_a_subquery) is None


def test_a_plan_that_is_more_than_a_task_is_refused(own: PreparingSession) -> None:
    def moved(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        return frames["__sales"].repartition(2, "shop")

    def sent_around(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        sales = frames["__sales"].coalesce(1)
        return sales.join(F.broadcast(sales.select(F.col("shop").alias("other"))), F.expr("shop < other"), "left")

    def by_python(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        return frames["__sales"].select(F.udf(lambda shop: shop, useArrow=False)("shop").alias("sold"))

    assert [prepare(own, [INPUT], [], make) for make in (moved, sent_around, by_python)] == [None] * 3


def test_a_plan_is_computed_with_the_settings_of_its_session(own: PreparingSession, spark: SparkSession) -> None:
    own.session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        there = PreparingSession(own.session)
    finally:
        own.session.conf.set("spark.sql.session.timeZone", "UTC")

    def hours(frames: Mapping[str, DataFrame], _: Instants) -> DataFrame:
        return frames["__sales"].select("shop", F.hour("at").alias("sold"))

    for session, hour in ((there, 21), (own, 12)):
        plan = prepare(session, [INPUT], [], hours)
        assert plan is not None
        assert sold(plan.run({"__sales": sales(("a", 1, 1))}, {})[0]) == {"a": hour}
    assert spark.sparkContext.getLocalProperty("spark.sql.session.timeZone") != "Asia/Tokyo"
