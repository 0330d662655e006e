"""Random queries over random rows, compared with DuckDB: window functions, grouping sets, subqueries.

One example is a log and a dozen queries, each a view. All of them are computed in batch, by one Spark job; in every
third example one of them is settled commit by commit too, and must have the rows of batch. No row is late: what
lateness does is told elsewhere.

A query is one text for both: where they differ, it has fields. `{rows}` are the rows and `{windows}` the rows in their
windows; `{tie}` is what the order of the log decides, which DuckDB must be told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import duckdb
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.testing import COMMIT, Scenario, Tick, scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM events (id STRING NOT NULL, k STRING, g INT, v INT, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND);
"""
HERE = {
    "rows": "events",
    "windows": "TUMBLE(TABLE events, DESCRIPTOR(made_at), INTERVAL '10' SECOND)",
    "tie": "",
}
THERE = {"rows": "events", "windows": "windows", "tie": ", seq"}
QUERIES = 12
"""How many queries share a log."""

ORDERS = ("v ASC NULLS FIRST", "v DESC NULLS LAST", "made_at", "g DESC NULLS LAST, v ASC NULLS LAST", "made_at DESC")
RANKINGS = ("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)")
STEPS = ("lag(v)", "lead(id)", "lag(v, 2, -1)", "lead(v, 1, 0)")
AGGREGATES = ("count(*)", "sum(v)", "avg(v)", "min(v)", "max(id)", "count(k)")
PLACED = ("first_value(id)", "last_value(v)", "nth_value(id, 2)")
TIED = ("row_number()", "ntile(3)", *STEPS)
"""Window functions that show which of two equal rows comes first."""
BOUNDS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
SPANS = ("INTERVAL '{}' SECOND PRECEDING", "CURRENT ROW", "INTERVAL '{}' SECOND FOLLOWING")


@st.composite
def over(draw: st.DrawFn) -> str:
    """Window functions over windows, with and without frames."""
    calls = []
    for number in range(draw(st.integers(1, 3))):
        by = draw(st.sampled_from(["window_end", "k, window_end", "window_end, g"]))
        order = draw(st.sampled_from(ORDERS))
        function = draw(st.sampled_from([*RANKINGS, *STEPS, *AGGREGATES, *PLACED]))
        frame = ""
        if function in AGGREGATES + PLACED:
            start, end = sorted(draw(st.tuples(*[st.integers(0, len(BOUNDS) - 1)] * 2)))
            by_rows = function in PLACED or draw(st.booleans())
            start, end = min(start, len(BOUNDS) - 2), max(end, 1)
            frame = f" ROWS BETWEEN {BOUNDS[start]} AND {BOUNDS[end]}" if by_rows else ""
        tie = "{tie}" if function in TIED or frame else ""
        calls.append(f"{function} OVER (PARTITION BY {by} ORDER BY {order}{tie}{frame}) AS c{number}")
    return f"SELECT id, {', '.join(calls)} FROM {{windows}}"


@st.composite
def over_time(draw: st.DrawFn) -> str:
    """Aggregates over frames in time, of rows in no window."""
    calls = []
    for number in range(draw(st.integers(1, 3))):
        back, ahead = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        start, end = draw(st.sampled_from([(0, 1), (0, 2), (1, 2)]))
        span = f"{SPANS[start].format(back)} AND {SPANS[end].format(ahead)}"
        by = draw(st.sampled_from(["", "PARTITION BY k ", "PARTITION BY k, g "]))
        function = draw(st.sampled_from(AGGREGATES))
        calls.append(f"{function} OVER ({by}ORDER BY made_at RANGE BETWEEN {span}) AS c{number}")
    where = draw(st.sampled_from(["", " WHERE v > 1", " WHERE k IS NOT NULL"]))
    return f"SELECT id, {', '.join(calls)} FROM {{rows}}{where}"


@st.composite
def sets(draw: st.DrawFn) -> str:
    """Aggregates by several sets of columns."""
    first, second = draw(st.sampled_from([("k", "g"), ("g", "k"), ("k", "v % 2"), ("v", "g")]))
    by = draw(
        st.sampled_from(
            ["window_end, ROLLUP ({}, {})", "window_end, CUBE ({}, {})", "window_end, GROUPING SETS (({}), ({}), ())"]
        )
    )
    shown = ", ".join(f"{call} AS c{number}" for number, call in enumerate(draw(st.permutations(AGGREGATES))[:2]))
    having = draw(st.sampled_from(["", " HAVING count(*) > 1", " HAVING max(v) > 2"]))
    level = f"grouping_id(window_end, {first}, {second})"
    return (
        f"SELECT window_end, {first} AS a, {second} AS b, {level} AS level, {shown} FROM {{windows}}"
        f" GROUP BY {by.format(first, second)}{having}"
    )


@st.composite
def values(draw: st.DrawFn) -> str:
    """Rows compared with an aggregate of their window."""
    more = draw(st.sampled_from(["", " AND i.k = o.k", " AND i.g = o.g", " AND i.v > 1"]))
    call = draw(st.sampled_from(["max(i.v)", "avg(i.v)", "count(*)", "min(i.v) + 1", "sum(i.v) - max(i.v)"]))
    value = f"(SELECT {call} FROM {{windows}} AS i WHERE i.window_end = o.window_end{more})"
    if draw(st.booleans()):
        return f"SELECT id, {value} AS c0 FROM {{windows}} AS o"
    compared = draw(st.sampled_from([">", "<", ">=", "<>"]))
    return f"SELECT id, v FROM {{windows}} AS o WHERE o.v {compared} {value}"


@st.composite
def members(draw: st.DrawFn) -> str:
    """Rows of which there are, or are not, others: in the same window, or near in time."""
    within = (
        f"i.made_at BETWEEN o.made_at - INTERVAL '{draw(st.integers(0, 6))}' SECOND AND o.made_at + INTERVAL '3' SECOND"
    )
    source, bound = draw(st.sampled_from([("{windows}", "i.window_end = o.window_end"), ("{rows}", within)]))
    more = draw(st.sampled_from(["", " AND i.k = o.k", " AND i.v < o.v", " AND i.g = o.g AND i.id <> o.id"]))
    negated = draw(st.sampled_from(["", "NOT "]))
    if draw(st.booleans()):
        condition = f"{negated}EXISTS (SELECT 1 FROM {source} AS i WHERE {bound}{more} AND i.v > 2)"
    else:
        column = draw(st.sampled_from(["k", "g", "v"]))
        condition = (
            f"o.{column} {negated}IN (SELECT i.{column} FROM {source} AS i WHERE {bound}{more} AND i.id <> o.id)"
        )
    return f"SELECT id FROM {source} AS o WHERE {condition}"


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events out of order by less than the watermark's delay, some of them at the same time."""
    found, second = [], 0.0
    for number in range(draw(st.integers(8, 30))):
        second += draw(st.sampled_from([0, 0, 0.5, 1, 2, 4]))
        at = START + timedelta(seconds=second + draw(st.sampled_from([0, 0, 1, 2.5, 4.999])))
        values = {
            "id": f"e{number}",
            "k": draw(st.sampled_from(["x", "y", "z", None])),
            "g": draw(st.sampled_from([1, 2, None])),
            "v": draw(st.sampled_from([0, 1, 2, 3, 5, None])),
        }
        found.append({**values, "made_at": at.isoformat()})
    return found


QUERY = st.one_of(over(), over(), over_time(), sets(), values(), members())


def answers(found: Scenario, names: list[str]) -> dict[str, list[Any]]:
    """The rows of views in batch, all computed by one job."""
    views, plan = found.project._opened_views(), found.project.plan()
    parts: list[DataFrame] = []
    for name in names:
        view = views._batch(plan.view(name), None, None)
        frame = view.frame(view.lowering(views._spark))
        shown = F.to_json(F.struct(*(F.col(f"`{column}`") for column in frame.columns)), {"ignoreNullFields": "false"})
        parts.append(frame.select(F.lit(name).alias("view"), shown.alias("row")))
    with interpreted(views._spark):
        table = reduce(DataFrame.union, parts).toArrow().to_pylist()
    return {name: [json.loads(row["row"]) for row in table if row["view"] == name] for name in names}


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Without generated code: compiling it takes longer than computing thirty rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, found in before.items():
        spark.conf.set(name, found)


def opinions(events: list[dict[str, Any]], queries: list[str]) -> list[list[Any]]:
    """The rows that DuckDB gives."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE events (id VARCHAR, k VARCHAR, g INTEGER, v INTEGER, made_at TIMESTAMP, seq INTEGER)"
        )
        for seq, event in enumerate(events):
            at = datetime.fromisoformat(event["made_at"]).replace(tzinfo=None)
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
                [event["id"], event["k"], event["g"], event["v"], at, seq],
            )
        connection.execute(
            "CREATE VIEW windows AS SELECT *, time_bucket(INTERVAL 10 SECOND, made_at, TIMESTAMP '2026-01-01')"
            " + INTERVAL 10 SECOND AS window_end FROM events"
        )
        found = []
        for query in queries:
            answer = connection.execute(query)
            names = [column[0] for column in answer.description]
            found.append([dict(zip(names, map(told, row), strict=True)) for row in answer.fetchall()])
        return found


def told(value: Any) -> Any:
    """A value as Spark writes it in JSON."""
    return value.strftime("%Y-%m-%dT%H:%M:%S.000Z") if isinstance(value, datetime) else value


def ordered(found: list[dict[str, Any]]) -> list[str]:
    """Rows in an order of their own, numbers to nine digits."""
    return sorted(json.dumps({name: rounded(value) for name, value in row.items()}) for row in found)


def rounded(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


@settings(
    max_examples=max(9, settings.default.max_examples // 11),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a failure names its query: a smaller log says no more
)
@given(events=rows(), texts=st.lists(QUERY, min_size=QUERIES, max_size=QUERIES, unique=True), settled=st.randoms())
def test_random_queries_give_the_rows_that_duckdb_gives(
    spark: object, events: list[dict[str, Any]], texts: list[str], settled: Any
) -> None:
    assert spark
    queries = {f"v{number}": text for number, text in enumerate(texts)}
    views = [
        f"CREATE MATERIALIZED VIEW {name} WITH (emit = 'final') AS {text.format(**HERE)};\n"
        for name, text in queries.items()
    ]
    script: list[Any] = [{"events": event} for event in events]
    for place in range(len(script) - 4, 0, -5):
        script.insert(place, COMMIT)
    script += [COMMIT, Tick("events", START + timedelta(minutes=5))]
    with scenario(STREAM + "".join(views)) as found:
        found.feed(script)
        held = answers(found, list(queries))
        expected = opinions(events, [text.format(**THERE) for text in texts])
        for (name, text), rows_there in zip(queries.items(), expected, strict=True):
            assert ordered(held[name]) == ordered(rows_there), text.format(**HERE)
        plan = found.project.plan()
        settling = [name for name in queries if plan.view(name).execution.kind == "settle"]
        for name in settled.sample(settling, min(settled.choice([0, 0, 1]), len(settling))):
            found.run(name, per_batch=1)
            assert found.project.verify(name).identical, queries[name].format(**HERE)
