"""Which views keep running totals, and that a step of one reads what comes and what goes, not all that is retained."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater import model, sql
from headwater.engine import settle, small
from headwater.engine.slice import Slice
from headwater.log import TopicLog
from headwater.log.datafile import DataFile
from headwater.plan import check

STREAM = """
CREATE STREAM sales (id STRING, shop STRING, pieces INT, price DECIMAL(10, 2), weight DOUBLE, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND){};
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def is_kept(query: str, options: str = "", stream: str = "") -> bool:
    text = STREAM.format(stream) + f"CREATE MATERIALIZED VIEW v WITH (retention = '1 hour'{options}) AS {query};"
    project = model.Project(name="shop", declarations=sql.parse_declarations(text, "views.sql").declarations)
    step = check(project).checked().view("v").physical.step
    return step is not None and step.adds == "totals"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT shop, count(*) AS n FROM sales GROUP BY shop",
        "SELECT shop, sum(price) AS total, avg(pieces) AS a, avg(price) AS b FROM sales WHERE id > 'b' GROUP BY shop",
        "SELECT upper(shop) AS shop, count_if(pieces > 1) AS n FROM sales GROUP BY 1 HAVING count(*) > 2",
        "SELECT shop, count(*) AS n FROM sales GROUP BY shop ORDER BY n DESC LIMIT 3",
    ],
)
def test_counts_sums_and_averages_of_plain_rows_are_kept_as_totals(query: str) -> None:
    assert is_kept(query)


@pytest.mark.parametrize(
    ("query", "options", "stream"),
    [
        ("SELECT shop, max(price) AS most FROM sales GROUP BY shop", "", ""),
        ("SELECT shop, sum(weight) AS weight FROM sales GROUP BY shop", "", ""),  # doubles don't add up exactly
        ("SELECT shop, avg(weight) AS weight FROM sales GROUP BY shop", "", ""),
        ("SELECT shop, count(DISTINCT id) AS ids FROM sales GROUP BY shop", "", ""),
        ("SELECT count(*) AS n FROM sales", "", ""),  # of no rows there is one row
        ("SELECT shop, count(*) AS n FROM sales GROUP BY shop", ", every = '5 seconds'", ""),
        ("SELECT shop, count(*) AS n FROM sales GROUP BY shop", "", " WITH (unique = 'id')"),
    ],
)
def test_what_does_not_add_up_is_computed_from_the_rows(query: str, options: str, stream: str) -> None:
    assert not is_kept(query, options, stream)


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    """Sales of two shops, of which 40 minutes are retained."""
    (tmp_path / "headwater.toml").write_text('name = "totals"\n')
    query = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"
    view = f"CREATE MATERIALIZED VIEW v WITH (retention = '40 minutes') AS {query};"
    (tmp_path / "sales.sql").write_text(STREAM.format("") + view)
    with hw.open(tmp_path) as opened:
        yield opened


def sell(project: hw.Project, minute: int) -> None:
    at = START + timedelta(minutes=minute)
    project.append("sales", [{"id": f"{minute}-{n}", "shop": f"s{n}", "at": at} for n in range(2)])


def test_a_step_reads_what_comes_and_what_goes(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 minutes that are retained, with a commit each minute, a step reads two commits."""
    for minute in range(60):
        sell(project, minute)
    project.catch_up()
    seen: list[str] = []
    read = small.KeptColumns.read

    def watched(kept: small.KeptColumns, log: TopicLog, file: DataFile, names: Sequence[str]) -> pa.Table:
        seen.append(file.path)
        return read(kept, log, file, names)

    monkeypatch.setattr(small.KeptColumns, "read", watched)
    sell(project, 60)
    project.catch_up()
    assert len(set(seen)) == 2
    assert project.rows("v").to_pylist() == [{"shop": "s0", "n": 41}, {"shop": "s1", "n": 41}]
    assert project.verify("v").identical


def test_totals_that_are_lost_are_found_again_in_the_log(project: hw.Project, tmp_path: Path) -> None:
    for minute in (0, 30, 50):
        sell(project, minute)
        project.catch_up()
        lost = list(tmp_path.rglob("totals-*.arrow"))
        assert lost
        for file in lost:
            file.unlink()
    assert project.rows("v").to_pylist() == [{"shop": "s0", "n": 2}, {"shop": "s1", "n": 2}]
    assert project.verify("v").identical


VIEWS = """
CREATE MATERIALIZED VIEW sums WITH (retention = '20 seconds', grace = '3 seconds') AS
SELECT shop, count(*) AS n, sum(price) AS total, avg(pieces) AS pieces FROM sales WHERE pieces > 0 GROUP BY shop;
CREATE MATERIALIZED VIEW most WITH (retention = '10 seconds') AS
SELECT shop, total FROM (SELECT shop, sum(price) AS total FROM sales GROUP BY shop) ORDER BY total DESC, shop LIMIT 2;
CREATE MATERIALIZED VIEW computed WITH (retention = '15 seconds') AS
SELECT upper(shop) AS shop, count_if(pieces > 2) AS n FROM sales GROUP BY 1 HAVING count(*) > 1;
"""
NAMES = ("sums", "most", "computed")


@pytest.mark.parametrize("compiled", [0, settle.COMPILED])
def test_every_step_gives_the_rows_of_batch_by_plans_that_are_made_once(
    tmp_path: Path, spark: Any, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of rows that come, go, come late or are ticks; with the totals of the step before, and without them."""
    assert spark
    monkeypatch.setattr(settle, "COMPILED", compiled)
    monkeypatch.setattr(settle, "WORTH", 0)
    monkeypatch.setattr(Slice, "computed", lambda _: pytest.fail("a step was planned anew"))
    (tmp_path / "headwater.toml").write_text('name = "totals"\n')
    (tmp_path / "sales.sql").write_text(STREAM.format("") + VIEWS)
    chance = random.Random(7)
    with hw.open(tmp_path) as project:
        for commit in range(14):
            rows = []
            for number in range(chance.randint(1, 8)):
                at = START + timedelta(seconds=3 * commit + chance.random() * 3 - chance.choice([0, 0, 0, 4, 12, 40]))
                price, shop = f"{chance.randint(0, 500) / 100:.2f}", chance.choice(["a", "A", "b", None])
                sale = {"id": f"{commit}-{number}", "shop": shop, "pieces": chance.choice([0, 1, 2, 3, None])}
                rows.append(sale | {"price": chance.choice([price, None]), "at": max(at, START)})
            project.append("sales", rows)
            if commit == 7:
                project.log.tick("sales", to=START + timedelta(seconds=60))
            if commit % 4 == 3:
                for file in tmp_path.rglob("totals-*.arrow"):
                    file.unlink()
            if chance.random() < 0.7:
                assert [str(done.error) for done in project.catch_up() if done.error] == []
        project.catch_up()
        assert [name for name in NAMES if not project.verify(name).identical] == []
        assert [project.views.ledger(name).remainder for name in NAMES] == [0] * len(NAMES)
