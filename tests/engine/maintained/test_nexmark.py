"""Questions of the Nexmark benchmark in their own words, without a bound in time, as DuckDB answers them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from tests.engine.maintained.forever import answers, opened, shown, step

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STREAMS = """
CREATE STREAM person (id BIGINT, name STRING, city STRING, state STRING, date_time TIMESTAMP NOT NULL,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND);
CREATE STREAM auction (id BIGINT, seller BIGINT, category BIGINT, expires TIMESTAMP, date_time TIMESTAMP NOT NULL,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND);
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP NOT NULL,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND);
CREATE TABLE side_input (key BIGINT NOT NULL, value STRING, PRIMARY KEY (key));
"""
QUERIES = {
    "q3": (
        "id",
        "SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P ON A.seller = P.id "
        "WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')",
    ),
    "q4": (
        "",
        "SELECT Q.category, CAST(AVG(Q.final) AS DECIMAL(20, 4)) AS average FROM ("
        "SELECT MAX(B.price) AS final, A.category FROM auction A, bid B "
        "WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires GROUP BY A.id, A.category) Q "
        "GROUP BY Q.category",
    ),
    "q6": (
        "id",
        "SELECT Q.id, Q.seller, CAST(AVG(Q.final) OVER (PARTITION BY Q.seller ORDER BY Q.expires, Q.id "
        "ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS DECIMAL(20, 4)) AS average FROM ("
        "SELECT A.id, A.seller, A.expires, MAX(B.price) AS final FROM auction A, bid B "
        "WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires "
        "GROUP BY A.id, A.seller, A.expires) Q",
    ),
    "q9": (
        "",
        "SELECT id, seller, category, auction, bidder, price FROM ("
        "SELECT A.id, A.seller, A.category, B.auction, B.bidder, B.price, "
        "ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.date_time ASC) AS rownum "
        "FROM auction A, bid B WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires) "
        "WHERE rownum <= 1",
    ),
    "q13": (
        "auction, bidder, date_time",
        "SELECT B.auction, B.bidder, B.price, B.date_time, S.value FROM bid B JOIN side_input S ON B.auction = S.key",
    ),
    "q18": (
        "",
        "SELECT auction, bidder, price, date_time FROM (SELECT *, "
        "ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS rank_number FROM bid) "
        "WHERE rank_number <= 1",
    ),
    "q19": (
        "",
        "SELECT auction, bidder, price, rank_number FROM (SELECT *, "
        "ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, date_time) AS rank_number FROM bid) "
        "WHERE rank_number <= 10",
    ),
    "q20": (
        "auction, bidder, date_time",
        "SELECT auction, bidder, price, B.date_time, seller, category FROM bid AS B INNER JOIN auction AS A "
        "ON B.auction = A.id WHERE A.category = 10",
    ),
}


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, STREAMS, QUERIES) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> None:
    """People, auctions and bids; no two bids of one auction are at the same time. Every third auction has a value."""
    project.append("side_input", [{"key": number, "value": f"v{number}"} for number in range(0, commits, 3)])
    for commit in range(commits):
        at = [START + timedelta(seconds=10 * commit + number) for number in range(9)]
        state = chance.choice(["OR", "CA", "NY"])
        person = {"id": commit, "name": f"p{commit}", "city": "c", "state": state, "date_time": at[0].isoformat()}
        auction = {
            "id": commit,
            "seller": chance.randrange(commit + 1),
            "category": chance.choice([10, 11]),
            "expires": (at[0] + timedelta(seconds=chance.choice([5, 60]))).isoformat(),
            "date_time": at[0].isoformat(),
        }
        bids = [
            {
                "auction": chance.randrange(max(0, commit - 4), commit + 2),
                "bidder": chance.randrange(3),
                "price": chance.randrange(100),
                "date_time": instant.isoformat(),
            }
            for instant in at
        ]
        topics = [("person", [person]), ("auction", [auction]), ("bid", bids)]
        for topic, rows in chance.sample(topics, 3):
            project.append(topic, rows)
            if chance.random() < 0.4:
                step(project)


def test_the_rows_are_those_of_duckdb_and_all_are_found_by_keys(project: hw.Project) -> None:
    feed(project, random.Random(31), 8)
    step(project)
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        for topic in ("person", "auction", "bid"):
            connection.register(topic, project.read(topic))
        connection.register("side_input", project.query("SELECT * FROM side_input"))
        assert {name: shown(project, name) for name in QUERIES} == answers(connection, QUERIES)
    steps = {name: project.plan().view(name).physical.step for name in QUERIES}
    assert [name for name, found in steps.items() if found is None or found.trace is None] == []
