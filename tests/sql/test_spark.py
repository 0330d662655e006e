"""The canonical text of a query means to Spark what its author wrote: tried on the examples of Spark's functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from headwater import errors
from headwater.sql import canonical, parse_expression, spell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNREAD = re.compile(r"X '|>>>")
"""What Spark reads and we refuse: a space inside X'1F', the operator >>>."""
IMPURE = re.compile(r"rand|uuid|current_|now\(|local|shuffle|reflect|java_method|aes_encrypt", re.IGNORECASE)


def examples(spark: SparkSession) -> list[str]:
    registry = spark._jsparkSession.sessionState().functionRegistry()  # type: ignore[attr-defined]
    names = registry.listFunction()
    infos = (registry.lookupFunction(names.apply(index)) for index in range(names.size()))
    texts = [info.get().getExamples() for info in infos if not info.isEmpty()]
    return [" ".join(query.split()) for text in texts for query in re.findall(r"> (SELECT.*?);\s*\n", text, re.DOTALL)]


def outcome(spark: SparkSession, query: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        frame = spark.sql(query)
        return sorted(str(tuple(row)) for row in frame.collect()), [field.dataType for field in frame.schema]
    except PySparkException:
        return None


def same_plan(spark: SparkSession, query: str, other: str) -> bool:
    """Whether Spark's optimizer makes one plan of both, which needs no job to be seen."""
    from pyspark.errors import PySparkException

    try:
        plans = [spark.sql(text)._jdf.queryExecution().optimizedPlan() for text in (query, other)]  # type: ignore[attr-defined]
        return bool(plans[0].sameResult(plans[1]))
    except PySparkException:
        return False


def same_words(query: str, other: str) -> bool:
    return re.sub(r"\s", "", query).lower() == re.sub(r"\s", "", other).lower()


@pytest.mark.jvm
def test_the_canonical_text_gives_the_same_rows_as_the_authors(spark: SparkSession) -> None:
    found = [query for query in examples(spark) if not IMPURE.search(query)]
    unread, differing, tried = [], [], 0
    for query in found:
        try:
            spelled = canonical(query)
        except errors.DeclarationError:
            unread.append(query)
            continue
        if not same_words(query, spelled):
            tried += 1
            if same_plan(spark, query, spelled):
                continue
            expected = outcome(spark, query)
            if expected is not None and outcome(spark, spelled) != expected:
                differing.append((query, spelled))
    assert differing == []
    assert [query for query in unread if not UNREAD.search(query)] == []
    assert len(found) > 1000
    assert tried > 100


OPERATORS = ("OR", "AND", "=", "<", "|", "^", "&", "<<", "+", "-", "||", "*", "/", "%", "DIV")


@pytest.mark.jvm
def test_operators_bind_as_they_do_in_spark(spark: SparkSession) -> None:
    """Parentheses around all that our parser takes for one operand change nothing of what Spark reads."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]

    def read(text: str) -> str:
        return str(parser.parseExpression(text).toString())

    pairs = [f"a {one} b {other} c" for one in OPERATORS for other in OPERATORS if {one, other} != {"=", "<"}]
    more = [
        "-a || b",
        "~a & b",
        "NOT a = b",
        "NOT a AND b",
        "a || b COLLATE UNICODE",
        "a BETWEEN b | c AND d + 1 AND e",
    ]
    assert [text for text in [*pairs, *more] if read(text) != read(spell(in_parentheses(parse_expression(text))))] == []


def in_parentheses(node: exp.Expr) -> exp.Expr:
    """The tree with every operator that is an operand in parentheses."""
    for operand in node.iter_expressions():
        in_parentheses(operand)
        if isinstance(operand, exp.Binary | exp.Unary | exp.Between) and not isinstance(operand, exp.Paren):
            operand.replace(exp.Paren(this=operand.copy()))
    return node
