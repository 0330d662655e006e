"""What `engine/stamp` rests on. If a test here fails after an upgrade, Spark drives its operators in another way.

Plans are looked at as Spark has optimized them. Windows are closed by ticks to the millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.model import Tumble
from headwater.operators.assign.lowering.window import window_of
from headwater.operators.lowering.stamp import COMMIT, STAMP, barrier, events, in_time, mark, track
from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM a (k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE STREAM b (k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
"""
MILLISECOND = timedelta(milliseconds=1)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def optimized(frame: DataFrame) -> list[str]:
    """The operators of the optimized plan from the top down, each as its indented line."""
    gateway = frame.sparkSession._jvm
    assert gateway is not None
    plans = str(gateway.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "extended"))
    return plans.partition("== Optimized Logical Plan ==\n")[2].partition("== Physical Plan ==")[0].splitlines()


def depth(line: str) -> int:
    return len(line) - len(line.lstrip(" :+-~!"))


def below(lines: list[str], word: str) -> list[str]:
    """The lines of the first operator of that name and of all that it reads."""
    first = next(number for number, line in enumerate(lines) if word in line)
    rest = lines[first + 1 :]
    ends = next((number for number, line in enumerate(rest) if depth(line) <= depth(lines[first])), len(rest))
    return [lines[first], *rest[:ends]]


@pytest.fixture
def rows(spark: SparkSession) -> Callable[[], DataFrame]:
    """A stream that has what a scan has: a stamp, a place in the log, and columns."""

    numbers = count()

    def read() -> DataFrame:
        source = spark.readStream.name(f"s{next(numbers)}").format("rate").load()
        return source.select(F.col("value").alias("v"), F.col("timestamp").alias("at"), F.col("value").alias(COMMIT),
                             F.col("timestamp").alias(STAMP))  # fmt: skip

    return read


def counted(frame: DataFrame, name: str) -> DataFrame:
    return barrier(frame, name, F.count(COMMIT).alias("rows"))


def test_no_filter_is_pushed_below_the_watermark_through_the_barrier(rows: Callable[[], DataFrame]) -> None:
    frame = events(counted(track(rows(), timedelta()), "in")).where(F.col("v") == 7)
    assert not [line for line in below(optimized(frame), "EventTimeWatermark") if "Filter" in line]


def test_without_the_barrier_a_filter_is_pushed_below_the_watermark(rows: Callable[[], DataFrame]) -> None:
    """The trap is still there. Once it isn't, the barrier is only a counter."""
    frame = track(rows(), timedelta()).where(F.col("v") == 7)
    assert [line for line in below(optimized(frame), "EventTimeWatermark") if "Filter" in line]


def test_admission_stays_above_the_watermark_without_a_barrier(rows: Callable[[], DataFrame]) -> None:
    """Nor does Spark ask below it whether the end is NULL, which it is in tick rows."""
    end = window_of(F.col("at"), Tumble(timedelta(seconds=10)))["end"]
    frame = track(rows(), timedelta()).where(in_time(end, timedelta(seconds=1))).groupBy(mark(end, "__mark")).count()
    lines = optimized(frame)
    assert [line for line in lines if "Filter" in line]
    assert not [line for line in below(lines, "EventTimeWatermark") if "Filter" in line]


def side(rows: Callable[[], DataFrame], name: str, *, guarded: bool) -> DataFrame:
    tracked = events(counted(track(rows(), timedelta()), f"in_{name}"))
    marked = tracked.select("v", COMMIT, mark(F.col("at"), "__mark"))
    return counted(marked, f"used_{name}") if guarded else marked


def semi_joined(rows: Callable[[], DataFrame], *, guarded: bool) -> list[str]:
    left, right = (side(rows, name, guarded=guarded).alias(name) for name in "lr")
    condition = "l.v = r.v AND r.__mark >= l.__mark AND r.__mark <= l.__mark + INTERVAL '1' SECOND"
    return optimized(left.join(right, F.expr(condition), "left_semi"))


def test_a_semi_join_stays_above_its_marked_columns(rows: Callable[[], DataFrame]) -> None:
    joined = below(semi_joined(rows, guarded=True), "Join LeftSemi")
    assert len([line for line in joined if "used_" in line]) == 2


def test_without_the_barrier_a_semi_join_slips_below_its_marked_columns(rows: Callable[[], DataFrame]) -> None:
    lines = semi_joined(rows, guarded=False)
    above = lines[: next(number for number, line in enumerate(lines) if "Join LeftSemi" in line)]
    assert [line for line in above if "__mark" in line]


@pytest.fixture
def opened(tmp_path: Path, spark: SparkSession) -> Iterator[Callable[[str], Project]]:
    """A project with one view named v."""
    assert spark
    projects = []

    def open_project(sql: str) -> Project:
        (tmp_path / "headwater.toml").write_text('name = "guards"\n[spark]\n"spark.master" = "local[2]"\n')
        (tmp_path / "streams.sql").write_text(STREAMS)
        (tmp_path / "view.sql").write_text(
            f"CREATE MATERIALIZED VIEW v WITH (emit = 'final', grace = '1 second') AS {sql}"
        )
        projects.append(hw.open(tmp_path))
        return projects[-1]

    yield open_project
    for project in projects:
        project.close()


def held(project: Project) -> list[dict[str, Any]]:
    (done,) = project.catch_up()
    if done.error:
        raise done.error
    return project.query("SELECT * FROM v").to_pylist()


CLOSES = {
    "a window at its end + grace": (
        "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(at), INTERVAL '10' SECOND)"
        " WHERE v > 0 GROUP BY window_end",
        at(10) + timedelta(seconds=1),
    ),
    "a session one gap after its end + grace": (
        "SELECT window_end, count(*) AS n FROM SESSION(TABLE a, DESCRIPTOR(at), INTERVAL '4' SECOND)"
        " GROUP BY window_end",
        at(5 + 4 + 4) + timedelta(seconds=1),
    ),
    "a row without a partner one millisecond after the last that could be one, + grace": (
        "SELECT l.v, r.v AS w FROM a l LEFT JOIN b r ON l.k = r.k"
        " AND r.at BETWEEN l.at - INTERVAL '2' SECOND AND l.at + INTERVAL '3' SECOND",
        at(5 + 3) + MILLISECOND + timedelta(seconds=1),
    ),
    "a window over a join as long after its end as the join's rows lag behind": (
        "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE (SELECT l.at FROM a l JOIN a r ON l.k = r.k"
        " AND r.at BETWEEN l.at - INTERVAL '2' SECOND AND l.at + INTERVAL '3' SECOND), DESCRIPTOR(at),"
        " INTERVAL '10' SECOND) GROUP BY window_end",
        at(10 + 3) + MILLISECOND + timedelta(seconds=1),
    ),
}


@pytest.mark.parametrize("what", CLOSES)
def test_what_is_final_comes_out_to_the_millisecond(opened: Callable[[str], Project], what: str) -> None:
    sql, final = CLOSES[what]
    project = opened(sql)
    project.append("a", [{"k": "x", "v": 1, "at": at(5)}])
    for topic in "ab":
        project.log.tick(topic, to=final - MILLISECOND)
    assert held(project) == []
    assert project.views.batch("v").num_rows == 0
    for topic in "ab":
        project.log.tick(topic, to=final)
    assert len(held(project)) == 1
    assert project.views.batch("v").num_rows == 1


NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def test_spark_itself_drops_what_comes_behind_its_watermark_and_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """The alarm for admitted rows that Spark drops reads this figure."""
    folder = tmp_path / "rows"
    spark.createDataFrame([(at(5),), (at(100),)], "at TIMESTAMP").coalesce(1).write.parquet(str(folder))
    stream = spark.readStream.name("s1").schema("at TIMESTAMP").option("maxFilesPerTrigger", 1).parquet(str(folder))
    windows = stream.withWatermark("at", "0 seconds").groupBy(F.window("at", "10 seconds")).count()

    def run() -> list[Any]:
        """With the batch without data that Spark makes by itself, which sessions of ours do without."""
        spark.conf.set(NO_DATA, "true")
        query = windows.writeStream.foreachBatch(lambda rows, _: rows.collect()).outputMode("update")
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        spark.conf.set(NO_DATA, "false")
        return [
            operator["numRowsDroppedByWatermark"]
            for batch in query.recentProgress
            for operator in batch["stateOperators"]
        ]

    assert sum(run()) == 0
    spark.createDataFrame([(at(6),)], "at TIMESTAMP").coalesce(1).write.mode("append").parquet(str(folder))
    assert sum(run()) == 1
