"""The dialect reads what Flink, RisingWave and Spark users type, and writes it back in one spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from headwater import errors
from headwater.sql import Headwater, canonical, parse_declarations, parse_expression, render, spell
from headwater.sql.source import statements, tokenize

CORPUS = {
    path.name: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "corpus").glob("*.sql"))
}


def corpus_statements() -> list[str]:
    return [
        text[statement.tokens[0].start : statement.tokens[-1].end + 1]
        for text in CORPUS.values()
        for statement in statements(text, tokenize(text)[0])
    ]


def test_the_corpus_has_at_least_sixty_statements() -> None:
    assert len(corpus_statements()) >= 60


@pytest.mark.parametrize("statement", corpus_statements(), ids=lambda text: " ".join(text.split()[:4]))
def test_what_is_printed_reads_as_the_same_tree(statement: str) -> None:
    tree = sqlglot.parse_one(statement, dialect=Headwater)
    printed = spell(tree)
    again = sqlglot.parse_one(printed, dialect=Headwater)
    assert spell(again) == printed
    assert sqlglot.parse_one(spell(again, pretty=True), dialect=Headwater) == again


@pytest.mark.parametrize("file", CORPUS)
def test_every_declaration_of_the_corpus_is_read_and_rendered_back(file: str) -> None:
    parsed = parse_declarations(CORPUS[file], file)
    assert [finding for finding in parsed.findings if not isinstance(finding, errors.Caution)] == []
    for declaration in parsed.declarations:
        assert parse_declarations(render(declaration), "again.sql").declarations == (declaration,)


@pytest.mark.parametrize(
    ("written", "spelling"),
    [
        ("select  a\nfrom t -- why", "SELECT a FROM t"),
        ("SELECT `a`, `b c`, `order` FROM `t`", "SELECT a, `b c`, `order` FROM t"),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES))",
            "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTE)",
        ),
        (
            "select * from tumble(t, at, interval 10 minutes)",
            "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTE)",
        ),
        (
            "SELECT * FROM TUMBLE(SIZE => INTERVAL '10' MINUTE, DATA => TABLE t, TIMECOL => DESCRIPTOR(at))",
            "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTE)",
        ),
        ("SELECT a - INTERVAL 1 HOUR 30 MINUTES", "SELECT a - (INTERVAL '1' HOUR + INTERVAL '30' MINUTE)"),
        (
            "SELECT * FROM a JOIN b TIMESTAMP AS OF a.at ON a.k = b.k",
            "SELECT * FROM a JOIN b FOR SYSTEM_TIME AS OF a.at ON a.k = b.k",
        ),
        (
            "SELECT * FROM a as known at now() - interval 1 hour as b",
            "SELECT * FROM a AS KNOWN AT NOW() - INTERVAL '1' HOUR AS b",
        ),
        (
            "SELECT known.k FROM a for system_time as of d as known at e as known cross join b as known",
            "SELECT known.k FROM a FOR SYSTEM_TIME AS OF d AS KNOWN AT e AS known CROSS JOIN b AS known",
        ),
        (
            "SELECT b.id FROM b, UNNEST(b.c) AS d(e) CROSS JOIN UNNEST(f) WITH ORDINALITY AS g(h, number)",
            "SELECT b.id FROM b CROSS JOIN UNNEST(b.c) AS d(e) CROSS JOIN UNNEST(f) WITH ORDINALITY AS g(h, `number`)",
        ),
        ("SELECT b FROM a, UNNEST(b) WITH ORDINALITY", "SELECT b FROM a CROSS JOIN UNNEST(b) WITH ORDINALITY"),
        (
            "SELECT * FROM a JOIN (VALUES (1, 'x'), (2, NULL)) AS v(b, c) ON a.b = v.b",
            "SELECT * FROM a JOIN VALUES (1, 'x'), (2, NULL) AS v(b, c) ON a.b = v.b",
        ),
        ("SELECT 'it''s', \"two\"", "SELECT 'it\\'s', 'two'"),
        (
            "SELECT sum(a) OVER (ORDER BY b range between interval '1' hour preceding and current row) FROM t",
            "SELECT SUM(a) OVER (ORDER BY b RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) FROM t",
        ),
        (
            "SELECT a FROM t QUALIFY rank() OVER (ORDER BY b) = 1",
            "SELECT a FROM t QUALIFY RANK() OVER (ORDER BY b) = 1",
        ),
    ],
)
def test_spellings_of_one_query_have_one_canonical_form(written: str, spelling: str) -> None:
    assert canonical(written) == spelling
    assert canonical(spelling) == spelling


@pytest.mark.parametrize(
    "call",
    [
        "MONTHS_BETWEEN(a, b, TRUE)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a)",
        "PARSE_JSON(a)",
        "DATE_FORMAT(a, 'YYYY-DDD')",
        "DATE_SUB(a, 1)",
        "GET_JSON_OBJECT(a, '$.b[0]')",
        "FIRST(a, TRUE)",
        "LAST(a, 1)",
        "NAMED_STRUCT('a', 1)",
        "LEFT(a, 2)",
        "UNKNOWN_TO_SQLGLOT(a, b -> c)",
    ],
)
def test_a_call_is_kept_as_it_was_written(call: str) -> None:
    assert spell(parse_expression(call)) == call
