"""Types without a JVM: equal to those of Spark's analyzer, and refused where it refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import sqlglot

from headwater import model
from headwater.errors import (
    AmbiguousColumn,
    Finding,
    QueryRefused,
    SyntaxRefused,
    TypeMismatch,
    UnknownColumn,
    UnknownFunction,
    UnknownType,
)
from headwater.plan.functions import find
from headwater.plan.spark_type import from_arrow, to_arrow
from headwater.plan.typing import TypedQuery, annotate, annotate_expression, type_of
from headwater.plan.typing.query import Queries
from headwater.sql import Headwater
from tests.plan.spark_examples import Example, analyzed_types, examples
from tests.plan.typing_corpus import COLUMNS, EXPRESSIONS, OPERATORS, QUERIES, REFUSED, SPARK_COLUMNS, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = [(name, from_arrow(kind)) for name, kind in COLUMNS.items()]


def derived(query: str) -> tuple[list[str], list[str]]:
    """The types that we derive for a query's columns, and the problems that we find."""
    queries = Queries(lambda node: TABLE if node.name == "t" else None, Headwater)
    columns = queries.columns(sqlglot.parse_one(query, dialect=Headwater))
    return [str(kind) for _, kind in columns], [problem.summary for problem in queries.problems]


def as_query(line: str) -> str:
    """A line of the corpus as a query over `t`."""
    return line if line.upper().startswith(("SELECT", "WITH", "VALUES")) else f"SELECT {line} FROM t"


def typed(text: str, **functions: model.Function) -> TypedQuery:
    """A query over `t`, typed."""
    return annotate(sqlglot.parse_one(text, dialect=Headwater), {"t": COLUMNS}, functions)


def only_problem(text: str, **functions: model.Function) -> Any:
    """The one problem of a query."""
    (problem,) = typed(text, **functions).problems
    return problem


# Against Spark


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark with the table `t`, which has a column of every type and no rows."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    declared = ", ".join(part for part in SPARK_COLUMNS.split(", ") if part != "v VOID")
    empty = spark.createDataFrame([], declared).selectExpr("*", "NULL AS v")
    empty.select(*COLUMNS).createOrReplaceTempView("t")
    yield spark
    spark.catalog.dropTempView("t")
    spark.conf.unset("spark.sql.timeType.enabled")


NOT_READ = ("(X '", " >>> ")
"""Spellings that the dialect doesn't read: X 'F0' with a space, the shift >>>."""
COMPUTED = {"SELECT current_time(1+1)", "SELECT localtime(1+1)"}
"""Types that depend on computing a constant; the functions are impure, so that no view can call them."""


def is_left_out(example: Example) -> bool:
    """Whether an example is of a function that no view can call, or can't be read or computed by us."""
    info = find(example.function)
    refused = info is not None and info.refused
    return refused or example.query in COMPUTED or any(spelling in example.query for spelling in NOT_READ)


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "chaos"
"""Whether every example is looked at, or each third."""


def test_spark_s_own_examples_have_the_types_that_spark_derives(analyzer: SparkSession) -> None:
    kept = [example for example in examples(analyzer) if not is_left_out(example)][:: 1 if THOROUGH else 3]
    wanted = {example: analyzed_types(analyzer, example.query) for example in kept}
    accepted = {example: kinds for example, kinds in wanted.items() if kinds is not None}
    differing = {
        example: (kinds, derived(example.query))
        for example, kinds in accepted.items()
        if derived(example.query) != (kinds, [])
    }
    assert len(accepted) >= (1200 if THOROUGH else 400)
    assert differing == {}


def test_expressions_and_queries_have_the_types_that_spark_derives(analyzer: SparkSession) -> None:
    corpus = [as_query(line) for line in lines(EXPRESSIONS) + lines(QUERIES)]
    wanted = {query: (analyzed_types(analyzer, query), []) for query in corpus}
    found = {query: derived(query) for query in corpus}
    assert len(corpus) >= 500
    assert {query: (found[query], wanted[query]) for query in corpus if found[query] != wanted[query]} == {}


def test_what_spark_refuses_is_refused(analyzer: SparkSession) -> None:
    corpus = [as_query(line) for line in lines(REFUSED)]
    assert len(corpus) >= 150
    assert [query for query in corpus if analyzed_types(analyzer, query) is not None] == []
    assert [query for query in corpus if not is_refused(query)] == []


def is_refused(query: str) -> bool:
    """Whether we refuse a query, for its text or for its types."""
    try:
        return bool(derived(query)[1])
    except (SyntaxRefused, sqlglot.ParseError):
        return True


def test_every_operator_on_every_pair_of_types_gives_the_type_that_spark_derives(analyzer: SparkSession) -> None:
    pairs = [f"{left} {name} {right}" for name in OPERATORS for left in COLUMNS for right in COLUMNS]
    found = {pair: derived(f"SELECT {pair} FROM t") for pair in pairs}
    accepted = [pair for pair in pairs if not found[pair][1]]
    for start in range(0, len(accepted), 100):
        batch = accepted[start : start + 100]
        wanted = analyzed_types(analyzer, f"SELECT {', '.join(batch)} FROM t")
        assert wanted == [found[pair][0][0] for pair in batch]
    refused = [pair for pair in pairs if found[pair][1]]
    assert [pair for pair in refused[::41] if analyzed_types(analyzer, f"SELECT {pair} FROM t") is not None] == []


def test_every_cast_that_we_take_is_one_that_spark_takes(analyzer: SparkSession) -> None:
    targets = {name: str(from_arrow(kind)) for name, kind in COLUMNS.items() if name != "v"}
    casts = [f"CAST({name} AS {target})" for name in COLUMNS for target in targets.values()]
    accepted = [cast for cast in casts if not derived(f"SELECT {cast} FROM t")[1]]
    for start in range(0, len(accepted), 100):
        assert analyzed_types(analyzer, f"SELECT {', '.join(accepted[start : start + 100])} FROM t") is not None
    refused = [cast for cast in casts if cast not in accepted]
    assert [cast for cast in refused[::3] if analyzed_types(analyzer, f"SELECT {cast} FROM t") is not None] == []


# Without Spark


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("i + l", "bigint"),
        ("i / i", "double"),
        ("dec / 2", "decimal(16,6)"),
        ("dec * 2", "decimal(14,2)"),
        ("dec * i", "decimal(23,2)"),
        ("wide * wide", "decimal(38,6)"),
        ("wide + 1", "decimal(38,17)"),
        ("'1' + 1", "bigint"),
        ("dt + INTERVAL '1' DAY", "date"),
        ("dt + INTERVAL '1' HOUR", "timestamp"),
        ("dt - dt", "interval day"),
        ("ts - INTERVAL '5' MINUTE", "timestamp"),
        ("ts - ts", "interval day to second"),
        ("COALESCE(i, dec)", "decimal(12,2)"),
        ("CASE WHEN b THEN dt ELSE ts END", "timestamp"),
        ("IF(b, i, 's')", "bigint"),
        ("-2147483648", "int"),
        ("2147483648", "bigint"),
        ("1.50", "decimal(3,2)"),
        ("1e3", "double"),
        ("sum(i)", "bigint"),
        ("sum(dec)", "decimal(22,2)"),
        ("sum(f)", "double"),
        ("avg(dec)", "decimal(16,6)"),
        ("avg(i)", "double"),
        ("count(*)", "bigint"),
        ("rank() OVER (ORDER BY i)", "int"),
        ("lag(dec, 1, 0) OVER (PARTITION BY s ORDER BY ts)", "decimal(12,2)"),
        ("sum(i) FILTER (WHERE b)", "bigint"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY ids)", "interval day to second"),
        ("transform(ai, x -> x + 1.5)", "array<decimal(12,1)>"),
        ("aggregate(ai, 0L, (n, x) -> n + x, n -> CAST(n AS STRING))", "string"),
        ("map_filter(msi, (k, n) -> n > 1)", "map<string,int>"),
        ("zip_with(ai, as_, (x, y) -> struct(x, y AS name))", "array<struct<x:int,name:string>>"),
        ("struct(i, s AS name, 1, st.a)", "struct<i:int,name:string,col3:int,a:int>"),
        ("from_json(s, 'a INT, b ARRAY<STRING>').b[0]", "string"),
        ("ast.a", "array<int>"),
        ("msi['x']", "int"),
        ("EXTRACT(SECOND FROM ts)", "decimal(8,6)"),
        ("round(dec, 1)", "decimal(12,1)"),
        ("to_number(s, '$99,999.99')", "decimal(7,2)"),
        ("max_by(st, ts)", "struct<a:int,b:string>"),
        ("dateadd(HOUR, 1, ts)", "timestamp"),
        ("current_date", "date"),
    ],
)
def test_the_type_of_an_expression(expression: str, kind: str) -> None:
    node = sqlglot.parse_one(expression, dialect=Headwater)
    found = annotate_expression(node, COLUMNS)
    assert (str(found.kind), found.problems) == (kind, ())
    assert from_arrow(found.type) == from_arrow(to_arrow(found.kind))


def test_every_node_has_its_type() -> None:
    node = sqlglot.parse_one("upper(s) = 'A' AND i + 1 > l", dialect=Headwater)
    annotate_expression(node, COLUMNS)
    kinds = {part.sql(dialect=Headwater): str(type_of(part)) for part in node.walk() if part.type is not None}
    assert kinds["UPPER(s)" if "UPPER(s)" in kinds else "upper(s)"] == "string"
    assert kinds["i + 1"] == "int"
    assert kinds["i + 1 > l"] == "boolean"


def test_the_columns_of_a_query_have_names_and_types() -> None:
    query = "SELECT s, window_end, sum(dec) AS spent FROM w GROUP BY s, window_end"
    found = annotate(sqlglot.parse_one(query, dialect=Headwater), {"w": {**COLUMNS, "window_end": model.INSTANT}})
    assert [str(column) for column in found.columns] == [
        "s STRING",
        "window_end TIMESTAMP",
        "spent DECIMAL(22, 2)",
    ]


def test_the_sides_of_a_join_are_sources_of_columns() -> None:
    node = sqlglot.parse_one("l.i = r.i AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '1' HOUR", dialect=Headwater)
    found = annotate_expression(node, {"l": COLUMNS, "r": COLUMNS})
    assert (str(found.kind), found.problems) == ("boolean", ())


def test_a_relation_that_is_not_known_takes_any_column() -> None:
    found = typed("SELECT x + 1 AS y, upper(z) AS w FROM nowhere")
    assert found.problems == ()
    assert [column.name for column in found.columns] == ["y", "w"]


def test_what_else_stands_in_from_is_asked_for() -> None:
    query = sqlglot.parse_one("SELECT n * 2 AS m FROM somewhere", dialect=Headwater)
    found = annotate(query, {}, relation=lambda node: {"n": pa.int32()})
    assert [str(column) for column in found.columns] == ["m INT"]


@pytest.mark.parametrize(
    ("query", "kind", "summary"),
    [
        ("SELECT sm(i) FROM t", UnknownFunction, 'calls an unknown function "sm"'),
        ("SELECT abs(i, i) FROM t", TypeMismatch, 'gives the function "abs" 2 arguments, and it takes 1'),
        ("SELECT sum(st) FROM t", TypeMismatch, 'gives the function "sum" (struct<a:int,b:string>)'),
        ("SELECT i + b FROM t", TypeMismatch, 'applies "+" to INT and BOOLEAN'),
        ("SELECT i FROM t WHERE i", TypeMismatch, 'applies "WHERE" to INT'),
        ("SELECT CAST(dt AS INT) FROM t", TypeMismatch, "casts DATE to INT, which Spark can't do"),
        ("SELECT st.c FROM t", TypeMismatch, 'takes a field "c" that it hasn\'t'),
        ("SELECT idd FROM t", UnknownColumn, 'reads an unknown column "idd"'),
        (
            "SELECT i FROM t AS a JOIN t AS b ON a.l = b.l",
            AmbiguousColumn,
            'names a column "i" that more than one of its inputs has',
        ),
        ("SELECT i FROM t UNION ALL SELECT i, s FROM t", QueryRefused, "combines queries of 1 and 2 columns"),
        (
            "SELECT lag(i, i) OVER (ORDER BY ts) FROM t",
            TypeMismatch,
            'gives the function "lag" a column where it takes a constant',
        ),
        (
            "SELECT from_json(s, schema_of_json(s)) FROM t",
            TypeMismatch,
            'gives the function "schema_of_json" a column where it takes a constant',
        ),
        (
            "SELECT from_json(s, schema_of_json('[1]')) FROM t",
            UnknownType,
            'calls the function "from_json", whose type can\'t be derived',
        ),
        ("SELECT to_avro(i) FROM t", QueryRefused, 'calls the function "to_avro", which no view can use'),
        ("SELECT va, count(*) FROM t GROUP BY va", TypeMismatch, 'groups by "va", whose values can\'t be told apart'),
    ],
)
def test_a_problem_says_what_is_wrong(query: str, kind: type[Finding], summary: str) -> None:
    problem = only_problem(query)
    assert (problem.kind, problem.summary) == (kind, summary)


def test_an_unknown_function_comes_with_suggestions() -> None:
    assert only_problem("SELECT colesce(i) FROM t").hint == "Did you mean coalesce?"


def test_nothing_is_said_about_what_is_built_on_a_problem() -> None:
    assert len(typed("SELECT upper(nope(i) + 1) || 's' AS x FROM t WHERE nope(i) > 2").problems) == 2


def test_all_problems_are_found_not_only_the_first() -> None:
    kinds = [problem.kind for problem in typed("SELECT foo(i), j, s + s FROM t WHERE s").problems]
    assert sorted(kind.__name__ for kind in kinds) == [
        "TypeMismatch",
        "TypeMismatch",
        "UnknownColumn",
        "UnknownFunction",
    ]


def test_a_function_of_the_project_has_its_declared_type_and_checks_its_arguments() -> None:
    tax = model.Function(
        name="tax_of",
        parameters=(model.Column("price", pa.decimal128(12, 2)),),
        returns=pa.decimal128(14, 4),
        body="price * 0.19",
    )
    assert str(typed("SELECT tax_of(dec) AS tax FROM t", tax_of=tax).columns[0]) == "tax DECIMAL(14, 4)"
    assert only_problem("SELECT tax_of(ai) AS tax FROM t", tax_of=tax).kind is TypeMismatch
    assert only_problem("SELECT tax_of() AS tax FROM t", tax_of=tax).summary == (
        'gives the function "tax_of" 0 arguments, and it takes 1'
    )


def test_sqlglot_s_own_nodes_are_typed_as_the_call_that_spark_reads() -> None:
    for text, kind in [("date_add(dt, 1)", "date"), ("split(s, ',')", "array<string>"), ("size(ai)", "int")]:
        node = sqlglot.parse_one(text, dialect="spark")
        assert str(annotate_expression(node, COLUMNS).kind) == kind
