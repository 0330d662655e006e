"""Python views that do what they may not: each is stopped alone, before it gives a number, and says what is wrong.

One project for all, and one run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import HeadwaterError
from headwater.operate import CaughtUp
from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM sales (id STRING, n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
"""
PYTHON = """
from pyspark.sql import functions as F

import headwater as hw


def declared(made):
    return hw.view(columns={"id": "STRING", "n": "BIGINT", "at": "TIMESTAMP"}, horizon="1 minute")(made)


@declared
def healthy(sales):
    return sales.withColumn("n", F.col("n") + 1)


@declared
def other_columns(sales):
    return sales.select("id", F.col("n").cast("int").alias("n"), "at", F.lit(1).alias("more"))


@declared
def same_name_twice(sales):
    return sales.select("id", "n", "at", F.col("n").alias("n"))


@declared
def no_frame(sales):
    return [1, 2]


@declared
def raising(sales):
    return sales.select("nothing_of_the_kind")


@declared
def acting(sales):
    return sales.withColumn("n", F.lit(sales.count()))


@declared
def by_the_clock(sales):
    return sales.where(F.current_timestamp() > F.col("at"))


@declared
def by_chance(sales):
    return sales.where(F.rand() > 0.5)


@declared
def sampled(sales):
    return sales.sample(0.5, seed=1)


@declared
def numbered(sales):
    return sales.withColumn("n", F.monotonically_increasing_id())


@declared
def limited(sales):
    return sales.orderBy("at").limit(1)


@declared
def by_order(sales):
    return sales.groupBy("id", "at").agg(F.first("n").alias("n"))


@declared
def from_elsewhere(sales):
    other = sales.sparkSession.read.schema("n BIGINT").parquet(ELSEWHERE)
    return sales.join(other, "n", "left").select("id", "n", "at")


@declared
def late_window(sales):
    return hw.tumble(sales.where("n > 0"), size="1 minute").select("id", "n", F.col("window_end").alias("at"))


@declared
def two_windows(sales):
    hw.tumble(sales, size="1 minute")
    return hw.tumble(sales, size="2 minutes").select("id", "n", F.col("window_end").alias("at"))


@declared
def long_gap(sales):
    return hw.session(sales, gap="2 minutes", by="id").select("id", "n", F.col("window_end").alias("at"))


@hw.view(columns={"id": "STRING", "n": "BIGINT", "at": "TIMESTAMP"}, horizon="1 minute", gap="0 seconds")
def undeclared_gap(sales):
    return hw.session(sales, gap="10 seconds", by="id").select("id", "n", F.col("window_end").alias("at"))


@declared
def without_time(sales):
    return sales.withColumn("at", F.when(F.col("n") < 3, F.col("at")))


@hw.view(columns={"n": "BIGINT", "at": "TIMESTAMP"}, key="n", horizon="1 minute")
def of_one_key(sales):
    return sales.select((F.col("n") % 2).alias("n"), "at")


@declared
def on_a_row(sales):
    return sales.withColumn("n", F.expr("100 DIV (n - 3)"))
"""
SAID = {
    "other_columns": (
        'function "other_columns" returned other columns than it declares',
        "It declares n bigint, and it returned n int, more int.",
    ),
    "same_name_twice": ('function "same_name_twice" returned other columns than it declares', "same name twice"),
    "no_frame": ('function "no_frame" returned a list, which is no DataFrame', ""),
    "raising": ('function "raising" raised AnalysisException', "nothing_of_the_kind"),
    "acting": ('function "acting" runs a query of its own (collect, count, toPandas, write, …)', ""),
    "by_the_clock": (
        'function "by_the_clock" returned rows that a replay would not give again',
        "It uses CurrentTimestamp: it reads the clock.",
    ),
    "by_chance": ('function "by_chance" returned rows that a replay would not give again', "Rand: it is random"),
    "sampled": ('function "sampled" returned rows that a replay would not give again', "Sample: it is random"),
    "numbered": ('function "numbered" returned rows that a replay would not give again', "MonotonicallyIncreasingID"),
    "limited": ('function "limited" returned rows that a replay would not give again', "GlobalLimit: which rows"),
    "by_order": ('function "by_order" returned rows that a replay would not give again', "First: its value depends"),
    "from_elsewhere": (
        'function "from_elsewhere" returned rows that a replay would not give again',
        "It reads rows that are none of its inputs'",
    ),
    "late_window": ("a window takes an input of a Python view as it was given", "known only of the rows of an input"),
    "two_windows": ('"sales" is taken through two windows', ""),
    "long_gap": (
        'function "long_gap" makes sessions with a gap of 2 minutes',
        "It declares horizon = '1 minute': its rows are taken to be final by then.",
    ),
    "undeclared_gap": (
        'function "undeclared_gap" makes sessions with a gap of 10 seconds',
        "It declares gap = '0 seconds': its rows are taken to be final by then.",
    ),
    "without_time": (
        'view "without_time" stopped at row 0 of commit 2 of "sales"',
        'function "without_time" returned NULL in the column "at"',
    ),
    "of_one_key": ('view "of_one_key" has 2 rows of one key', "They have n = 0, and a store keeps one row of a key."),
    "on_a_row": ('view "on_a_row" stopped at row 0 of commit 2 of "sales"', '{"id":"3","n":3,'),
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("python_views")
    elsewhere = str(folder / "data" / "elsewhere")
    spark.range(3).selectExpr("id AS n").write.parquet(elsewhere)
    (folder / "headwater.toml").write_text('name = "views"\n[spark]\n"spark.master" = "local[2]"\n')
    (folder / "streams.sql").write_text(STREAM)
    (folder / "views.py").write_text(f"ELSEWHERE = {elsewhere!r}\n{PYTHON}")
    project = hw.open(folder)
    for commit in ([("1", 1, 1), ("2", 2, 2)], [("3", 3, 3), ("4", 4, 130)]):
        project.append("sales", [{"id": i, "n": n, "at": START + timedelta(seconds=at)} for i, n, at in commit])
    return project


@pytest.fixture(scope="module")
def done(project: Project) -> dict[str, CaughtUp]:
    return {found.view: found for found in project.catch_up()}


@pytest.mark.parametrize("view", SAID)
def test_what_a_python_view_may_not_do_is_said(done: dict[str, CaughtUp], view: str) -> None:
    summary, detail = SAID[view]
    error = done[view].error
    assert isinstance(error, HeadwaterError), error
    assert error.summary == summary
    assert detail in str(error.detail)


def test_the_line_of_the_function_that_raised_is_named(done: dict[str, CaughtUp]) -> None:
    line = 1 + next(n for n, text in enumerate(PYTHON.splitlines(), 1) if "nothing_of_the_kind" in text)
    assert f"views.py:{line}." in str(done["raising"].error.detail)  # type: ignore[union-attr]


def test_batch_gives_no_number_either(project: Project) -> None:
    with pytest.raises(HeadwaterError):
        project.views.batch("by_chance")


def test_the_others_go_on_and_can_be_verified(project: Project, done: dict[str, CaughtUp]) -> None:
    assert done["healthy"].error is None
    rows = project.query("SELECT id, n FROM healthy ORDER BY id").to_pylist()
    assert rows == [{"id": "1", "n": 2}, {"id": "2", "n": 3}, {"id": "3", "n": 4}]
    assert project.verify("healthy").identical
