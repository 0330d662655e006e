"""What is written as other systems have it: each case gives the findings that it names, and the answers of DuckDB.

`DIALECT=all` answers every case, by the execution that is chosen and in batch; else a sample is computed in batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater import testing
from tests.dialect.corpus import SHOP, Case, Outcome, cases, found_in, is_error, outcome, score
from tests.dialect.rows import END, ROWS, connect

CASES = cases()
KEPT = {case.name: f"v{number}" for number, case in enumerate(CASES) if outcome(case) is not Outcome.REFUSED}
ANSWERED = [case for case in CASES if case.name in KEPT and not case.unanswered]
IN_FULL = os.environ.get("DIALECT") == "all"
ASKED = ANSWERED if IN_FULL else ANSWERED[::30]


def name_of(case: Case) -> str:
    return case.name


def test_the_corpus_is_told_apart_by_its_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_check_says_what_the_corpus_names(case: Case) -> None:
    findings = found_in(case.declared())
    shown = "\n".join(f"{finding.origin}: {finding}" for finding in findings)
    assert len(findings) == len(case.says), shown
    for finding, part in zip(findings, case.says, strict=True):
        assert part in finding.summary, shown
        assert finding.hint, shown


@pytest.mark.parametrize("case", [case for case in CASES if case.mend], ids=name_of)
def test_what_a_finding_says_can_be_written(case: Case) -> None:
    assert any(map(is_error, found_in(case.declared())))
    assert [str(found) for found in found_in(case.declared(mended=True)) if is_error(found)] == []


@pytest.fixture(scope="module")
def shop(spark: object) -> Iterator[testing.Scenario]:
    views = [case.declared(KEPT[case.name], mended=bool(case.mend)) for case in ASKED]
    with testing.scenario(";\n".join([SHOP.rstrip().removesuffix(";"), *views])) as shop:
        for topic, rows in ROWS.items():
            shop.append(topic, rows)
        for topic in ("orders", "payments", "customers"):
            shop.tick(topic, END)
        if IN_FULL:
            shop.run()
        yield shop


@pytest.mark.parametrize("case", ASKED, ids=name_of)
def test_a_kept_query_gives_the_rows_of_another_engine(case: Case, shop: testing.Scenario) -> None:
    view = KEPT[case.name]
    names = shop.batch(view).column_names
    with connect() as duckdb:
        expected = [dict(zip(names, row, strict=True)) for row in duckdb.execute(case.question).fetchall()]
    assert expected
    assert not testing.compare(shop.batch(view), expected)
    if IN_FULL:
        assert not testing.compare(shop.rows(view), expected)


def test_the_page_shows_the_score() -> None:
    page = Path(__file__).parents[2] / "docs" / "coming-from.md"
    assert score() in page.read_text(encoding="utf-8")
