"""The types of statements: equal to those of Spark's analyzer, and refused where it refuses.

The same corpus goes through `check` in `tests/plan/test_typing.py`, as views do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headwater.errors import StatementRefused
from headwater.query.statement import annotate, parse
from tests.plan.spark_examples import analyzed_types
from tests.plan.typing_corpus import COLUMNS, EXPRESSIONS, QUERIES, REFUSED, STATEMENTS, analyzed_table, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = {"t": pa.schema(list(COLUMNS.items()))}


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark with the table `t`, which has a column of every type and no rows."""
    with analyzed_table(spark):
        yield spark


def as_query(line: str) -> str:
    """A line of the corpus as a query over `t`."""
    return line if line.upper().startswith(("SELECT", "WITH")) else f"SELECT {line} FROM t"


def derived(query: str) -> list[str] | str:
    """The types of a statement's columns, or why it is refused."""
    try:
        statement = parse(query)
        return [str(kind) for _, kind in annotate(statement, SCHEMAS).columns_of[id(statement.tree)]]
    except StatementRefused as refusal:
        return str(refusal.detail)


def test_statements_have_the_types_that_spark_derives(analyzer: SparkSession) -> None:
    corpus = [as_query(line) for line in lines(EXPRESSIONS) + lines(QUERIES) + lines(STATEMENTS)]
    wanted = {query: analyzed_types(analyzer, query) for query in corpus}
    assert len(corpus) >= 480
    assert {query: (derived(query), kinds) for query, kinds in wanted.items() if derived(query) != kinds} == {}


def test_what_spark_refuses_is_refused() -> None:
    assert [line for line in lines(REFUSED) if not isinstance(derived(as_query(line)), str)] == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT idd FROM t", 'It reads an unknown column "idd".'),
        ("SELECT i FROM t AS a JOIN t AS b ON a.l = b.l", 'It names a column "i" that more than one'),
        ("SELECT i FROM t UNION ALL SELECT i, s FROM t", "It combines queries of 1 and 2 columns."),
        ("SELECT va, count(*) FROM t GROUP BY va", 'It groups by "va", whose values can\'t be told apart.'),
        ("SELECT a.s FROM t AS a JOIN t AS b USING (nope)", 'It joins USING a column "nope" that not both'),
        ("SELECT * FROM t NATURAL JOIN t AS u", "A query has no METHOD here"),
        ("SELECT e FROM t LATERAL VIEW explode(ai) x AS e", "A query has no LATERALS here"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(query: str, reason: str) -> None:
    assert str(derived(query)).startswith(reason)


def test_what_the_parser_says_ends_with_one_full_stop() -> None:
    with pytest.raises(StatementRefused) as refusal:
        parse("SELECT a + FROM t")
    assert refusal.value.detail == 'The text can\'t be parsed at "FROM": Something is missing behind "+".'
