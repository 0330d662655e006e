"""Random queries over random rows, compared with DuckDB; `tests/engine/queries.py` makes them.

One example is a log and a dozen queries, each a view; those that `check` refuses are left out. All others must run,
and are computed in batch, by one Spark job; one of them is also kept commit by commit, live or settled as it was
planned, and must have the rows of batch. No row is late: what lateness does is told elsewhere.

RANDOM_QUERIES says how many queries are looked at, RANDOM_SEED which; `make random` takes 2,000. RANDOM_COMPILED=1
lets Spark compile them, as users' sessions do.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import duckdb
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater import model, plan, sql
from headwater.testing import COMMIT, Scenario, Tick, scenario
from tests.engine.queries import QUERY, START, WINDOW_END, here, rows, there

STREAM = """
CREATE STREAM events (id STRING NOT NULL, k STRING, g INT, v INT, tags ARRAY<STRING>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND);
"""
QUERIES = 12
"""How many queries share a log."""
WANTED = int(os.environ.get("RANDOM_QUERIES", "50"))
SEED = int(os.environ.get("RANDOM_SEED", "0"))
COMPILED = os.environ.get("RANDOM_COMPILED") == "1"
looked_at: Counter[str] = Counter()
"""How many queries were run, refused, and kept commit by commit."""


def is_passed(view: str) -> bool:
    """Whether `check` has nothing against a view."""
    declared = sql.parse_declarations(STREAM + view, "views.sql")
    project = model.Project(
        name="p", declarations=declared.declarations, stores=(model.Store(name="main", url="sqlite:"),)
    )
    with naming(view):
        found = [*declared.findings, *plan.check(project).findings]
    return not any(one.severity == "error" for one in found)


@contextmanager
def naming(query: str) -> Iterator[None]:
    """Whatever is raised inside says which query it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"the query: {query}")
        raise


def answers(found: Scenario, queries: dict[str, str]) -> dict[str, list[Any]]:
    """The rows of views in batch, all computed by one job."""
    views, plan = found.project.views.opened(), found.project.plan()
    parts: list[DataFrame] = []
    for name, query in queries.items():
        with naming(here(query)):
            view = views.inspect._batch(plan.view(name), None, None)
            frame = view.frame(view.lowering(views.catalog.spark))
        columns = [F.col(f"`{column.name}`") for column in plan.view(name).shown]
        shown = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
        parts.append(frame.select(F.lit(name).alias("view"), shown.alias("row")))
    with (
        interpreted(views.catalog.spark) if not COMPILED else nullcontext(),
        naming("\n".join(map(here, queries.values()))),
    ):
        table = reduce(DataFrame.union, parts).toArrow().to_pylist()
    return {name: [json.loads(row["row"]) for row in table if row["view"] == name] for name in queries}


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
            "CREATE TABLE events (id VARCHAR, k VARCHAR, g INT, v INT, tags VARCHAR[], made_at TIMESTAMP, seq INT)"
        )
        for seq, event in enumerate(events):
            at = datetime.fromisoformat(event["made_at"]).replace(tzinfo=None)
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                [event["id"], event["k"], event["g"], event["v"], event["tags"], at, seq],
            )
        connection.execute(f"CREATE VIEW windows AS SELECT *, {WINDOW_END} FROM events")
        found = []
        for query in queries:
            answer = connection.execute(query)
            names = [column[0] for column in answer.description]
            found.append([dict(zip(names, map(told, row), strict=True)) for row in answer.fetchall()])
        return found


def told(value: Any) -> Any:
    """A value as Spark writes it in JSON."""
    return f"{value.isoformat(timespec='milliseconds')}Z" if isinstance(value, datetime) else value


def ordered(found: list[dict[str, Any]]) -> list[str]:
    """Rows in an order of their own, numbers to nine digits."""
    return sorted(json.dumps({name: rounded(value) for name, value in row.items()}) for row in found)


def rounded(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


@seed(SEED)
@settings(
    max_examples=math.ceil(WANTED / QUERIES),
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],  # a failure names its query: a smaller log says no more
)
@given(events=rows(), texts=st.lists(QUERY, min_size=QUERIES, max_size=QUERIES, unique=True), chance=st.randoms())
def test_random_queries_give_the_rows_that_duckdb_gives(
    spark: object, events: list[dict[str, Any]], texts: list[str], chance: Any
) -> None:
    assert spark
    views = {
        f"v{number}": f"CREATE MATERIALIZED VIEW v{number} WITH (emit = 'final') AS {here(text)};\n"
        for number, text in enumerate(texts)
    }
    queries = {name: text for (name, view), text in zip(views.items(), texts, strict=True) if is_passed(view)}
    looked_at.update(run=len(queries), refused=len(texts) - len(queries))
    script: list[Any] = [{"events": event} for event in events]
    for place in range(len(script) - 4, 0, -5):
        script.insert(place, COMMIT)
    script += [COMMIT, Tick("events", START + timedelta(days=100))]
    with scenario(STREAM + "".join(views[name] for name in queries)) as found:
        found.feed(script)
        held = answers(found, queries)
        expected = opinions(events, [there(text) for text in queries.values()])
        for (name, text), rows_there in zip(queries.items(), expected, strict=True):
            assert ordered(held[name]) == ordered(rows_there), here(text)
        for name in chance.sample(list(queries), min(chance.choice([0, 1]), len(queries))):
            looked_at.update(kept=1)
            with naming(here(queries[name])):
                found.run(name, per_batch=1)
            assert found.project.verify(name).identical, here(queries[name])
    print(f"random queries so far: {dict(looked_at)}")


def test_most_random_queries_pass_the_check() -> None:
    assert looked_at["run"] >= 2 * looked_at["refused"]
