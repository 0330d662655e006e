"""Every query of Nexmark that can be expressed, over 10,000 events: the rows are those that DuckDB gives.

One project holds all of them and is caught up once, from three commits of each topic and a tick that closes everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headwater.testing import COMMIT, Now, Scenario, Tick, scenario
from tests.nexmark.generate import START, events

HERE = Path(__file__).parent
EVENTS, COMMITS = 10_000, 3
EXPECTED = dict(re.findall(r"^-- (q\d+)\n(.*?);$", (HERE / "expected.sql").read_text(encoding="utf-8"), re.M | re.S))
TOPICS = ("persons", "auctions", "bids")


def arrivals() -> Iterator[tuple[datetime, list[tuple[str, dict[str, Any]]]]]:
    """What arrives when."""
    every, size = events(EVENTS), EVENTS // COMMITS + 1
    for number in range(COMMITS):
        yield START + timedelta(minutes=number + 1), every[number * size : (number + 1) * size]


@pytest.fixture(scope="module")
def site(spark: object) -> Iterator[Scenario]:
    assert spark
    with scenario(HERE / "project.sql") as found:
        for now, rows in arrivals():
            script = [Now(now)]
            for topic in TOPICS:
                script += [*({topic: row} for name, row in rows if name == topic), COMMIT]
            found.feed(script)
        end = START + timedelta(days=2)
        found.feed([Now(end), *(Tick(topic, end) for topic in TOPICS)])
        found.run()
        yield found


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    for topic in TOPICS:
        rows = [{**row, "arrived_at": now} for now, found in arrivals() for name, row in found if name == topic]
        plain = [{name: spelled(value) for name, value in row.items()} for row in rows]
        connection.register("found", pa.Table.from_pylist(plain))
        connection.execute(f"CREATE TABLE {topic} AS FROM found")
    yield connection
    connection.close()


@pytest.mark.parametrize("query", EXPECTED)
def test_a_query_gives_the_rows_of_duckdb(query: str, site: Scenario, oracle: duckdb.DuckDBPyConnection) -> None:
    expected = rows_of(oracle.sql(EXPECTED[query]).to_arrow_table())
    assert len(expected) > 0
    assert rows_of(site.project.query(f"SELECT * FROM {query}")) == expected


def rows_of(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The rows, each as often as it is there; instants without a zone, and fractions to nine digits."""
    names = sorted(name for name in table.column_names if not name.startswith("_"))
    return Counter(tuple(spelled(row[name]) for name in names) for row in table.to_pylist())


def spelled(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return f"{value:.9g}" if isinstance(value, float) else value
