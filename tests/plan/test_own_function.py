"""Functions of the project's own: SQL expressions take the place of a call, Python functions are called by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater import plan, sql
from headwater.declare import load_python
from headwater.errors import Finding
from headwater.findings import QueryRefused
from headwater.model import Project
from headwater.operators import Aggregate, Role
from tests.plan.planning import STORES, STREAMS, planned

SCORES = """
import headwater as hw
import pyarrow as pa
import pyarrow.compute as pc

RATE = 2.0


@hw.function(parameters={"weight": "DOUBLE", "customer": "STRING"}, returns="DOUBLE", deterministic=True)
def score(weight, customer):
    return scaled(weight)


def scaled(weight):
    return pc.multiply(weight, RATE)
"""


def with_functions(folder: Path, python: str, text: str) -> plan.Plan:
    """The plan of a project with a file of functions in Python."""
    (folder / "scores.py").write_text(python, encoding="utf-8")
    declared = [load_python(folder / "scores.py"), sql.parse_declarations(STREAMS + text, "project.sql")]
    assert not [finding for parsed in declared for finding in parsed.findings]
    declarations = tuple(found for parsed in declared for found in parsed.declarations)
    return plan.check(Project(name="shop", declarations=declarations, stores=STORES))


def scored(folder: Path, python: str = SCORES) -> plan.Plan:
    return with_functions(
        folder, python, "CREATE MATERIALIZED VIEW v AS SELECT id, score(weight, customer) AS s FROM orders;"
    )


def test_a_call_of_an_sql_function_may_be_the_argument_of_another() -> None:
    found = planned("""
        CREATE FUNCTION twice(n INT) RETURNS INT RETURN n * 2;
        CREATE FUNCTION four_times(n INT) RETURNS INT RETURN twice(twice(n));
        CREATE MATERIALIZED VIEW v AS SELECT id, four_times(four_times(1)) AS n FROM orders;
    """).checked()
    assert [str(column) for column in found.view("v").columns] == ["id STRING NOT NULL", "n INT"]


def test_a_function_in_python_is_called_by_a_name_that_says_which_source_it_has(tmp_path: Path) -> None:
    found = scored(tmp_path).checked()
    ((name, function),) = found.functions.items()
    assert name.startswith("score__")
    assert function.name == "score"
    shown = plan.describe_view(found.view("v"))
    assert f"CAST({name.upper()}(CAST(weight AS DOUBLE), CAST(customer AS STRING)) AS DOUBLE) AS s" in shown


def test_its_result_has_the_declared_type_and_derives_from_its_arguments(tmp_path: Path) -> None:
    view = scored(tmp_path).checked().view("v")
    assert [str(column) for column in view.columns] == ["id STRING NOT NULL", "s DOUBLE"]
    assert {str(ancestor) for ancestor in view.lineage["s"]} == {"orders.weight", "orders.customer"}
    assert view.execution.kind == "settle"


def test_it_may_be_aggregated_grouped_by_and_called_by_sql_functions(tmp_path: Path) -> None:
    found = with_functions(
        tmp_path,
        SCORES,
        """
        CREATE FUNCTION rounded(weight DOUBLE) RETURNS BIGINT RETURN CAST(score(weight, 'x') AS BIGINT);
        CREATE MATERIALIZED VIEW v AS
        SELECT rounded(weight) AS bucket, window_end, sum(CAST(score(weight, customer) AS DECIMAL(12, 2))) AS total
        FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY 1, 2;
        """,
    ).checked()
    (aggregate,) = [stage for stage in found.view("v").stages if isinstance(stage, Aggregate)]
    assert aggregate.column("window_end").role is Role.WINDOW_END  # type: ignore[union-attr]
    assert [str(column) for column in found.view("v").columns] == [
        "bucket BIGINT",
        "window_end TIMESTAMP NOT NULL",
        "total DECIMAL(22, 2)",
    ]


CHANGES = {
    "a comment": (SCORES.replace("    return scaled", "    # twice\n    return scaled"), True),
    "formatting": (SCORES.replace("return scaled(weight)", "return (\n        scaled(weight)\n    )"), True),
    "its own text": (SCORES.replace("return scaled(weight)", "return scaled(scaled(weight))"), False),
    "a function it calls": (SCORES.replace("pc.multiply(weight, RATE)", "pc.add(weight, RATE)"), False),
    "a constant behind that": (SCORES.replace("RATE = 2.0", "RATE = 3.0"), False),
    "the type of its result": (SCORES.replace('returns="DOUBLE"', 'returns="FLOAT"'), False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_view_is_another_once_a_function_that_it_calls_is(change: str, tmp_path: Path) -> None:
    python, same = CHANGES[change]
    before, after = scored(tmp_path).view("v").fingerprint, scored(tmp_path, python).view("v").fingerprint
    assert (before == after) is same


def test_a_change_in_a_file_beside_that_it_uses_is_a_change_of_the_function(tmp_path: Path) -> None:
    python = SCORES.replace("RATE = 2.0", "import rates").replace("RATE)", "rates.usual())")
    found = []
    for rate in ("2.0", "3.0"):
        (tmp_path / "rates.py").write_text(f"LOW = {rate}\n\n\ndef usual():\n    return LOW\n", encoding="utf-8")
        found.append(scored(tmp_path, python).checked().view("v").fingerprint)
    assert found[0] != found[1]


def only_finding(found: plan.Plan) -> Finding:
    (finding,) = found.errors
    return finding


def test_it_cant_be_called_in_a_lambda(tmp_path: Path) -> None:
    query = "SELECT id, transform(items, i -> score(1.0, i)) AS s FROM orders"
    finding = only_finding(with_functions(tmp_path, SCORES, f"CREATE MATERIALIZED VIEW v AS {query};"))
    assert isinstance(finding, QueryRefused)
    assert finding.summary == 'view "v" calls the Python function "score" in a lambda'


def test_it_cant_be_called_in_the_rest_of_a_join_s_condition(tmp_path: Path) -> None:
    query = """SELECT o.id, p.paid FROM orders AS o JOIN payments AS p ON o.id = p.order_id
        AND p.at BETWEEN o.at AND o.at + INTERVAL '1' MINUTE AND score(o.weight, p.id) > 1"""
    finding = only_finding(with_functions(tmp_path, SCORES, f"CREATE MATERIALIZED VIEW v AS {query};"))
    assert str(finding) == (
        'view "v" calls the Python function "score" in the condition of a join\n'
        "  Hint:   Compute it as a column of a subquery in FROM, and use the column here."
    )


def test_the_number_and_the_types_of_its_arguments_are_checked(tmp_path: Path) -> None:
    query = "CREATE MATERIALIZED VIEW v AS SELECT id, score(weight) AS s FROM orders;"
    finding = only_finding(with_functions(tmp_path, SCORES, query))
    assert finding.summary == 'view "v" calls the function "score" with 1 arguments in place of 2'


def test_a_function_may_have_a_name_that_another_dialect_has() -> None:
    functions = "CREATE FUNCTION host(url STRING) RETURNS STRING RETURN upper(url);"
    view = "CREATE MATERIALIZED VIEW v AS SELECT id, host(customer) AS h, host(host(id)) AS hh FROM orders;"
    named = {
        found.name: found.expression.sql
        for found in planned(f"{functions} {view}").checked().view("v").root.expressions
    }
    assert named["h"] == "CAST((UPPER(CAST(customer AS STRING))) AS STRING)"
    assert named["hh"].count("UPPER(") == 2
