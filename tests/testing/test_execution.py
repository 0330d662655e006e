"""Executions: the same rows in each, a name for each that differs, and one that fails fails alone."""

from __future__ import annotations

import pytest

from headwater.errors import ViewFailed
from headwater.testing import COMMIT, CRASH, EXECUTIONS, executions
from headwater.testing.script import Item
from tests.testing.test_scenario import EXPECTED, SALES, SQL, at

SCRIPT: list[Item] = [
    *({"sales": row} for row in SALES[:2]), COMMIT, {"sales": SALES[2]}, COMMIT, {"sales": SALES[3]},
    {"sales": {**SALES[0], "sold_at": at(27)}},
]  # fmt: skip


def test_every_execution_gives_the_same_rows_in_a_version_of_its_own(spark: object) -> None:
    assert spark
    names, versions = [], []
    for execution in executions(SQL, SCRIPT):
        execution.expect("per_shop", EXPECTED)
        names.append(execution.name)
        versions.append(execution.scenario.project.views.ledger("per_shop").version)
    assert tuple(names) == EXECUTIONS
    assert versions == [1, 2, 3, 4, 5, 5]


def test_an_execution_that_differs_is_named(spark: object) -> None:
    (execution,) = executions(SQL, SCRIPT, ["straight, all at once"])
    with pytest.raises(AssertionError, match='view "per_shop", straight, all at once: 0 rows missing, 3 rows extra'):
        execution.expect("per_shop", [])


def test_an_execution_that_fails_does_not_keep_the_next_one_from_running(spark: object) -> None:
    sql = SQL.replace("count(*) AS n", "CAST(1 / (count(*) - 2) AS BIGINT) AS n")
    found = list(executions(sql, SCRIPT, ["rebuilt", "killed and resumed", "batch"]))
    assert [execution.name for execution in found] == ["rebuilt", "killed and resumed", "batch"]
    for execution in found:
        with pytest.raises(type(execution.error), match="DIVIDE_BY_ZERO"):
            execution.rows("per_shop")
    assert [type(execution.error) for execution in found[:2]] == [ViewFailed, ViewFailed]


def test_a_settled_view_is_executed_in_every_way_as_well(spark: object) -> None:
    streams, _, _ = SQL.partition("CREATE MATERIALIZED")
    view = """
    CREATE MATERIALIZED VIEW running WITH (emit = 'final') AS
    SELECT id, sum(amount) OVER (
      PARTITION BY shop ORDER BY sold_at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) AS total
    FROM sales;
    """
    totals = {"1": "1.00", "2": "2.00", "3": "5.00"}  # the fourth row is late, the fifth not yet final
    for execution in executions(f"{streams}{view}", SCRIPT):
        execution.expect("running", [{"id": number, "total": total} for number, total in totals.items()])


def test_what_is_rebuilt_was_there_before(spark: object) -> None:
    for execution in executions(SQL, SCRIPT, ["rebuilt"]):
        execution.expect("per_shop", EXPECTED)
        assert execution.scenario.project.views.ledger("per_shop").version == 2


def test_a_script_with_crashes_of_its_own_is_executed_as_well(spark: object) -> None:
    for execution in executions(SQL, [*SCRIPT[:3], CRASH, *SCRIPT[3:]], ["one commit per micro-batch"]):
        execution.expect("per_shop", EXPECTED)
