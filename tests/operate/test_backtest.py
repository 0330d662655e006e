"""Backtests: a view with other conditions, over all of history."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import ArgumentRefused
from headwater.operate.backtest import with_conditions
from tests.cli.test_commands import headwater

START = datetime(2026, 1, 1, tzinfo=UTC)
PATTERN = """SELECT * FROM payments MATCH_RECOGNIZE (PARTITION BY card ORDER BY at
  MEASURES FIRST(at) AS started_at, LAST(large.amount) AS amount
  PATTERN (small+ large) WITHIN INTERVAL '1' MINUTE DEFINE small AS amount < 2, large AS large.amount > 500)"""
DECLARED = f"""
CREATE STREAM payments (card STRING, amount INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW card_testing AS {PATTERN};
CREATE MATERIALIZED VIEW large AS SELECT card, amount FROM payments WHERE amount > 500 AND card <> 'z';
"""


@pytest.mark.parametrize(
    ("query", "text", "other"),
    [
        ("SELECT a FROM t WHERE a > 5 AND b > 5", "b > 7", "SELECT a FROM t WHERE a > 5 AND b > 7"),
        ("SELECT a FROM t WHERE a > 5 AND a < 9", "a > 7 AND a < 8", "SELECT a FROM t WHERE a > 7 AND a < 8"),
        ("SELECT sum(b) AS s FROM t GROUP BY a HAVING sum(b) >= 10", "SUM(b) >= 20", "HAVING SUM(b) >= 20"),
        (PATTERN, "large.amount > 300 AND small.amount < 5", "small AS amount < 5, large AS large.amount > 300"),
    ],
)
def test_a_condition_takes_the_place_of_the_one_with_its_left_side(query: str, text: str, other: str) -> None:
    assert other in " ".join(with_conditions("v", query, text).split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("large.amount >= 300", 'view "v" has no conditions on the left side of "large.amount >= 300"'),
        ("other.amount > 300", "It has small.amount < 2, large.amount > 500."),
        ("300", '"300" is no condition'),
    ],
)
def test_what_has_no_place_is_refused_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(ArgumentRefused) as raised:
        with_conditions("v", PATTERN, text)
    assert said in str(raised.value)


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Any:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    with hw.open(tmp_path) as opened:
        amounts = {"x": [1, 600, 1, 400], "y": [1, 1, 350], "z": [1, 900], "end": [7]}
        rows = [
            {"card": card, "amount": amount, "at": START + timedelta(hours=card == "end", seconds=10 * number)}
            for card, paid in amounts.items()
            for number, amount in enumerate(paid)
        ]
        opened.append("payments", rows, history=True)
        yield opened


def test_gained_and_lost_rows_precision_and_recall(project: Any, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("card,amount,comment\nx,400,a chargeback\nz,900,\nx,1000,\n")
    done = project.versions.backtest(
        "card_testing", "large.amount > 300", "large.amount > 800", labels=labels, examples=1
    )
    declared, less, more = done.variants
    assert (declared.conditions, declared.rows, declared.gained, declared.lost) == ("", 2, 0, 0)
    assert (less.rows, less.gained, less.lost) == (4, 2, 0)
    assert [row["amount"] for row in less.examples["gained"]] in ([400], [350])
    assert (more.rows, more.gained, more.lost) == (1, 0, 1)
    assert [row["card"] for row in more.examples["lost"]] == ["x"]
    shares = [(one.labelled.precision, one.labelled.recall) for one in done.variants]
    assert shares == [(0.5, pytest.approx(1 / 3)), (0.5, pytest.approx(2 / 3)), (1.0, pytest.approx(1 / 3))]


def test_any_view_can_be_backtested(project: Any) -> None:
    _, other = project.versions.backtest("large", "amount > 300").variants
    assert (other.rows, other.gained, other.lost) == (3, 2, 0)


def test_labels_need_a_column_of_the_view(project: Any, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("customer\n1\n")
    with pytest.raises(ArgumentRefused, match="have no column of view"):
        project.versions.backtest("large", labels=tmp_path / "labels.csv")
    with pytest.raises(ArgumentRefused, match="can't be read"):
        project.versions.backtest("large", labels=tmp_path / "nothing.csv")


def test_the_command_shows_variants_side_by_side(project: Any, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("card,amount\nx,400\nz,900\n")
    command = ["backtest", "large", "--set", "amount > 300", "--labels", str(tmp_path / "labels.csv")]
    shown = headwater(*command, folder=tmp_path).stdout
    assert ["as", "declared", "1", "0", "0", "0.0%", "0.0%"] in [line.split() for line in shown.splitlines()]
    assert ["amount", ">", "300", "3", "2", "0", "33.3%", "50.0%"] in [line.split() for line in shown.splitlines()]
    assert "gained by amount > 300" in shown
    variants = json.loads(headwater(*command, "--json", folder=tmp_path).stdout)["variants"]
    assert [one["labelled"]["hits"] for one in variants] == [0, 1]
