"""Types without a JVM: equal to those of Spark's analyzer, and refused where it refuses.

Everything goes through `check`, as a view of a project does. What a statement makes of the same corpus is looked at in
`tests/query/test_statement.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from headwater import model, plan, sql
from headwater.errors import Finding
from headwater.findings import (
    AmbiguousColumn,
    NotSupportedYet,
    QueryRefused,
    SyntaxRefused,
    TypeMismatch,
    UnknownColumn,
    UnknownFunction,
    UnknownType,
)
from headwater.plan.functions import find
from headwater.plan.spark_type import VOID, SparkType, from_arrow, from_sqlglot, to_arrow
from tests.plan.spark_examples import Example, analyzed_types, examples
from tests.plan.typing_corpus import COLUMNS, EXPRESSIONS, OPERATORS, QUERIES, REFUSED, VIEWS, analyzed_table, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABOUT_TYPES = (
    AmbiguousColumn, NotSupportedYet, QueryRefused, SyntaxRefused, TypeMismatch, UnknownColumn, UnknownFunction,
    UnknownType,
)  # fmt: skip
"""What `check` may find besides (no watermark, impure, no name, endless) says nothing against a type."""


def stream(name: str, columns: Mapping[str, pa.DataType], time: str) -> model.Stream:
    """A stream of these columns, one of which is its time."""
    declared = tuple(model.Column(column, kind) for column, kind in columns.items())
    return model.Stream(name=name, columns=declared, time=time, watermark=model.Bounded(timedelta(0)))


T = stream("t", COLUMNS, "ts")


class Checked(NamedTuple):
    """A view `v` as `check` sees it: the types of its columns, and what it finds about types."""

    kinds: list[str]
    findings: list[Finding]


def checked(query: str, *declarations: model.Declaration) -> Checked:
    """What `check` makes of a query over `t` and other declarations."""
    parsed = sql.parse_declarations(f"CREATE MATERIALIZED VIEW v AS {query}", "v.sql")
    project = model.Project(name="types", declarations=(T, *declarations, *parsed.declarations))
    result = plan.check(project)
    columns = result.views["v"].shown if "v" in result.views else ()
    findings = [finding for finding in (*parsed.findings, *result.errors) if isinstance(finding, ABOUT_TYPES)]
    return Checked(
        [str(from_arrow(column.type)) for column in columns],
        [finding for finding in findings if "which can't be kept" not in finding.summary],
    )


def together(expressions: Sequence[str]) -> list[tuple[str, list[Finding]]]:
    """Each of some expressions over `t`, in views of many columns: its type, and what is found in its line."""
    results: list[tuple[str, list[Finding]]] = []
    for start in range(0, len(expressions), 100):
        batch = expressions[start : start + 100]
        text = ",\n".join(f"{expression} AS c{position}" for position, expression in enumerate(batch))
        kinds, findings = checked(f"SELECT\n{text}\nFROM t")
        by_line: dict[int, list[Finding]] = {}
        for finding in findings:
            assert finding.origin is not None
            by_line.setdefault(finding.origin.line - 2, []).append(finding)
        results += [(kind, by_line.get(position, [])) for position, kind in enumerate(kinds)]
    return results


def as_view(line: str) -> str:
    """A line of the corpus as a query over `t` whose columns have names."""
    return line if line.upper().startswith(("SELECT", "WITH")) else f"SELECT {line} AS x FROM t"


def kept(kinds: list[str] | None) -> list[str] | None:
    """Spark's types as columns have them: an interval has all of its fields, a time all of its digits."""
    return None if kinds is None else [_kept(kind) for kind in kinds]


def _kept(kind: str) -> str:
    kind = re.sub(r"interval (day|hour|minute|second)( to \w+)?", "interval day to second", kind)
    kind = re.sub(r"interval (year|month)( to month)?|interval(?! )", "interval year to month", kind)
    return re.sub(r"time\(\d\)", "time(6)", kind).replace("map<void,", "map<string,")


# Against Spark


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark with the table `t`, which has a column of every type and no rows."""
    with analyzed_table(spark):
        yield spark


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


def spark_type(text: str) -> SparkType:
    """A type as Spark spells it."""
    return VOID if text == "void" else from_sqlglot(exp.DataType.build(text, dialect="spark"))


class ExampleView(NamedTuple):
    """An example as a view: what it reads, and how many columns it has where no generator gives several."""

    query: str
    source: model.Stream | None
    width: int


def as_project(spark: SparkSession, query: str) -> ExampleView | None:
    """An example as a view: its columns have names, and the VALUES that it reads are a stream; None if it can't be."""
    tree = sqlglot.parse_one(query, dialect=sql.Headwater)
    if not isinstance(tree, exp.Select) or any(part.is_star for part in tree.expressions):
        return None
    columns = enumerate(tree.expressions)
    tree.set("expressions", [part if part.alias else exp.alias_(part, f"c{at}") for at, part in columns])
    source, width = tree.args.get("from_"), len(tree.expressions)
    if source is None:
        return ExampleView(tree.from_("t").sql(dialect=sql.Headwater), None, width)
    if not isinstance(source.this, exp.Values):
        return None
    fields = spark.sql(f"SELECT * FROM {source.this.sql(dialect=sql.Headwater)}").schema.fields
    kinds = {field.name: to_arrow(spark_type(field.dataType.simpleString())) for field in fields}
    name = source.this.alias or "rows"
    source.set("this", exp.to_table(name))
    rows = stream(name, {**kinds, "happened_at": model.INSTANT}, "happened_at")
    return ExampleView(tree.sql(dialect=sql.Headwater), rows, width)


def test_spark_s_own_examples_have_the_types_that_spark_derives(analyzer: SparkSession) -> None:
    chosen = [example for example in examples(analyzer) if not is_left_out(example)][:: 1 if THOROUGH else 3]
    differing, compared = {}, 0
    for example in chosen:
        wanted, view = kept(analyzed_types(analyzer, example.query)), as_project(analyzer, example.query)
        if view is None or wanted is None or len(wanted) != view.width:
            continue
        result = checked(view.query, *([view.source] if view.source else []))
        compared += 1
        if result != (wanted, []):
            differing[example] = (view.query, result, wanted)
    assert differing == {}
    assert compared >= (1100 if THOROUGH else 380)


def test_expressions_and_queries_have_the_types_that_spark_derives(analyzer: SparkSession) -> None:
    corpus = [as_view(line) for line in lines(EXPRESSIONS) + lines(QUERIES) + lines(VIEWS)]
    wanted = {query: (kept(analyzed_types(analyzer, query)), []) for query in corpus}
    derived = {query: tuple(checked(query)) for query in corpus}
    assert len(corpus) >= 480
    assert {query: (derived[query], wanted[query]) for query in corpus if derived[query] != wanted[query]} == {}


def test_what_spark_refuses_is_refused(analyzer: SparkSession) -> None:
    corpus = [as_view(line) for line in lines(REFUSED)]
    assert len(corpus) >= 150
    assert [query for query in corpus if analyzed_types(analyzer, query) is not None] == []
    assert [query for query in corpus if not checked(query).findings] == []


def test_every_operator_on_every_pair_of_types_gives_the_type_that_spark_derives(analyzer: SparkSession) -> None:
    pairs = [f"{left} {name} {right}" for name in OPERATORS for left in COLUMNS for right in COLUMNS]
    results = dict(zip(pairs, together(pairs), strict=True))
    accepted = [pair for pair, (_, findings) in results.items() if not findings]
    for start in range(0, len(accepted), 100):
        batch = accepted[start : start + 100]
        wanted = kept(analyzed_types(analyzer, f"SELECT {', '.join(batch)} FROM t"))
        assert wanted == [results[pair][0] for pair in batch]
    refused = [pair for pair, (_, findings) in results.items() if findings]
    assert [pair for pair in refused[::41] if analyzed_types(analyzer, f"SELECT {pair} FROM t") is not None] == []


def test_every_cast_that_we_take_is_one_that_spark_takes(analyzer: SparkSession) -> None:
    targets = {name: str(from_arrow(kind)) for name, kind in COLUMNS.items() if name != "v"}
    casts = [f"CAST({name} AS {target})" for name in COLUMNS for target in targets.values()]
    results = dict(zip(casts, together(casts), strict=True))
    accepted = [cast for cast, (_, findings) in results.items() if not findings]
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
        ("dt - dt", "interval day to second"),
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
    assert checked(f"SELECT {expression} AS x FROM t") == ([kind], [])


def test_the_sides_of_a_join_are_sources_of_columns() -> None:
    condition = "l.i = r.i AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '1' HOUR"
    assert checked(f"SELECT l.s, r.dec FROM t AS l JOIN t AS r ON {condition}") == (["string", "decimal(12,2)"], [])


def test_a_unit_of_time_is_no_column() -> None:
    query = "SELECT dateadd(DAY, 1, ts) AS next, count(*) AS n FROM t GROUP BY dateadd(DAY, 1, ts)"
    assert checked(query) == (["timestamp", "bigint"], [])
    (finding,) = checked("SELECT dateadd(DAYY, 1, ts) AS next FROM t").findings
    assert finding.detail == '"DAYY" is not a unit of time.'


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
        (
            "SELECT i FROM t UNION ALL SELECT i, s FROM t",
            TypeMismatch,
            "unites queries with different numbers of columns",
        ),
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
def test_a_finding_says_what_is_wrong(query: str, kind: type[Finding], summary: str) -> None:
    (finding,) = checked(query).findings
    assert (type(finding), finding.summary) == (kind, f'view "v" {summary}')


def test_an_unknown_function_comes_with_suggestions() -> None:
    (finding,) = checked("SELECT colesce(i) AS x FROM t").findings
    assert finding.hint == "Did you mean coalesce?"


def test_nothing_is_said_about_what_is_built_on_a_problem() -> None:
    assert len(checked("SELECT upper(nope(i) + 1) || 's' AS x FROM t WHERE foo(i) > 2").findings) == 2


def test_all_problems_are_found_not_only_the_first() -> None:
    findings = checked("SELECT foo(i) AS x, j, s + s AS y FROM t WHERE s").findings
    assert sorted(type(finding).__name__ for finding in findings) == [
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
    assert checked("SELECT tax_of(dec) AS tax FROM t", tax) == (["decimal(14,4)"], [])
    (finding,) = checked("SELECT tax_of(ai) AS tax FROM t", tax).findings
    assert isinstance(finding, TypeMismatch)
    assert checked("SELECT tax_of() AS tax FROM t", tax).findings
