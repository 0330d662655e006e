"""Views that call Python functions which do what they may not: each stops alone and names function, view and row.

One project for all: every view is served, then one row comes that its function can't take, and every view is run again.
The functions live in a folder that is on nobody's path.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import FunctionFailed
from headwater.operate import CaughtUp
from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM sales (id STRING, n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
"""
COMMITS = [[("1", 1, 1), ("2", 2, 2)], [("3", 3, 3), ("4", 13, 4), ("5", 5, 130)]]
PYTHON = """
import random

import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw
from luck import is_unlucky


def declared(made):
    return hw.function(parameters={"n": "BIGINT"}, returns="BIGINT", deterministic=True)(made)


@declared
def raising(n):
    return pa.array([luckily(number) for number in n.to_pylist()])


def luckily(number):
    if is_unlucky(number):
        raise ValueError(f"{number} is unlucky")
    return number


@declared
def picky(n):
    return pa.array([number + 1 for number in n.to_pylist()])


@declared
def mistyped(n):
    unlucky = any(map(is_unlucky, n.to_pylist()))
    return n.cast(pa.int32()) if unlucky else n


@declared
def shortened(n):
    return n.filter(pc.not_equal(n, 13))


@declared
def drawn(n):
    return pa.array([random.randrange(10**15) if is_unlucky(number) else number for number in n.to_pylist()])


@declared
def accumulated(n):
    return pc.cumulative_sum(n) if any(map(is_unlucky, n.to_pylist())) else n
"""
WINDOW = "FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end"


@dataclass(frozen=True)
class Broken:
    """A view, the function that breaks its word, and what is said of it."""

    query: str
    function: str
    said: str
    named: bool = True


VIEWS = {
    "raises": Broken(
        "SELECT id, raising(n) AS x FROM sales", "raising", 'Function "raising" raised ValueError: 13 is unlucky.'
    ),
    "raises_in_a_window": Broken(
        f"SELECT window_end, sum(raising(n)) AS x {WINDOW}", "raising", "It was raised for n = 13, at "
    ),
    "raises_when_settled": Broken(
        "SELECT id, sum(raising(n)) OVER (ORDER BY at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) AS x"
        ", at FROM sales",
        "raising",
        "13 is unlucky",
    ),
    "has_another_type": Broken(
        "SELECT id FROM sales WHERE mistyped(n) > 0",
        "mistyped",
        'Function "mistyped" returned int32, and declares BIGINT',
    ),
    "has_another_length": Broken(
        "SELECT id, shortened(n) AS x FROM sales", "shortened", 'Function "shortened" returned 0 values for 1 row.'
    ),
    "is_random": Broken("SELECT id, drawn(n) AS x FROM sales", "drawn", 'Function "drawn" is not deterministic.'),
    "looks_at_other_rows": Broken(
        "SELECT id, accumulated(n) AS x FROM sales",
        "accumulated",
        'Function "accumulated" is not deterministic. It gave 21 and then 5 for n = 5.',
        named=False,
    ),
}


HEALTHY = "CREATE MATERIALIZED VIEW healthy AS SELECT id, picky(n) AS x FROM sales WHERE picky(n) > 0;"


@dataclass(frozen=True)
class Outcome:
    """The project after the row came, and what became of each view."""

    project: Project
    done: dict[str, CaughtUp]

    def error(self, view: str) -> FunctionFailed:
        error = self.done[view].error
        assert isinstance(error, FunctionFailed), error
        return error


def feed(project: Project, commits: list[list[tuple[str, int, int]]]) -> None:
    for commit in commits:
        project.append("sales", [{"id": i, "n": n, "at": START + timedelta(seconds=at)} for i, n, at in commit])


def rows_of(project: Project, view: str) -> list[dict[str, Any]]:
    return list(project.query(f"SELECT * FROM {view} ORDER BY 1").to_pylist())


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "headwater.toml").write_text('name = "functions"\n[spark]\n"spark.master" = "local[2]"\n')
    (folder / "luck.py").write_text("def is_unlucky(number):\n    return number == 13\n")
    (folder / "functions.py").write_text(PYTHON)
    views = [f"CREATE MATERIALIZED VIEW {name} AS {view.query};" for name, view in VIEWS.items()]
    (folder / "views.sql").write_text("\n".join([STREAM, *views, HEALTHY]))
    with hw.open(folder) as project:
        feed(project, COMMITS[:1])
        assert [done.error for done in project.catch_up()] == [None] * (len(VIEWS) + 1)
        feed(project, COMMITS[1:])
        return Outcome(project, {done.view: done for done in project.catch_up()})


@pytest.mark.parametrize("name", VIEWS)
def test_a_function_that_breaks_its_word_stops_its_view(outcome: Outcome, name: str) -> None:
    error = outcome.error(name)
    assert (error.fields["view"], error.fields["function"]) == (name, VIEWS[name].function)
    assert VIEWS[name].said in str(error.detail)


@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.named])
def test_the_row_of_the_log_is_named(outcome: Outcome, name: str) -> None:
    error = outcome.error(name)
    assert error.summary == f'view "{name}" stopped at row 1 of commit 2 of "sales"'
    assert '{"id":"4","n":13,' in str(error.detail)


def test_where_every_row_is_fine_alone_that_is_said(outcome: Outcome) -> None:
    error = outcome.error("looks_at_other_rows")
    assert error.summary == 'view "looks_at_other_rows" stopped'
    assert "Every row is fine on its own: it fails on several together." in str(error.detail)


def test_the_line_of_the_file_stands_in_the_error(outcome: Outcome) -> None:
    line = next(n for n, text in enumerate(PYTHON.splitlines(), 1) if "raise ValueError" in text)
    assert f"functions.py:{line}. The row is" in str(outcome.error("raises").detail)


def test_the_rows_of_the_view_are_as_they_were(outcome: Outcome) -> None:
    assert rows_of(outcome.project, "raises") == [{"id": "1", "x": 1}, {"id": "2", "x": 2}]


def test_a_function_is_given_the_rows_of_the_log_and_no_others(outcome: Outcome) -> None:
    assert outcome.done["healthy"].error is None, "it would raise for a NULL, as the rows have that carry a watermark"
    assert [row["x"] for row in rows_of(outcome.project, "healthy")] == [2, 3, 4, 14, 6]


def test_batch_gives_no_number_either(outcome: Outcome) -> None:
    with pytest.raises(FunctionFailed):
        outcome.project.views.batch("has_another_length")


def test_a_mended_function_is_another_view_built_from_the_log(outcome: Outcome) -> None:
    folder = outcome.project.folder
    (folder / "luck.py").write_text("def is_unlucky(number):\n    return False\n")
    with hw.open(folder) as project:
        (done,) = project.catch_up("raises")
        assert (done.error, done.version, done.rebuilt) == (None, 2, "its declaration has changed")
        assert [row["x"] for row in rows_of(project, "raises")] == [1, 2, 3, 13, 5]
        assert project.verify("raises").identical
