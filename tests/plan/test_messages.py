"""What is wrong is named by its cause, in its author's words, once, with what to write: a corpus of it."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp

from headwater import sql
from headwater.findings import NotSupportedYet
from headwater.plan.functions import find, foreign
from tests.plan.wrong import FILE, Case, cases, found_in

CASES = cases()
INTERNAL = re.compile(
    r"__|<class|sqlglot|Traceback|object at 0x|collect_list\(struct|\bNone\b|KeyError|ValueError|Exception"
    r"|\b(?i:unable|bad|illegal)\b|(?<!\$)\{\w*\}",
)
"""Names and texts of ours, of Python's and of Spark's that say nothing to an author, and words that blame one."""


def name_of(case: Case) -> str:
    return f"{case.topic}: {case.title}"


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 300
    assert len({name_of(case) for case in CASES}) == len(CASES)
    assert sum(bool(case.mends) for case in CASES) >= 150


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_each_cause_is_one_finding_with_its_place_and_a_hint(case: Case) -> None:
    found = found_in(case.text)
    shown = "\n".join(f"{finding.origin}: {finding}" for finding in found)
    assert len(found) == len(case.findings) >= 1, shown
    for finding, cause, hint in zip(found, case.findings, case.hints, strict=True):
        assert cause in finding.summary, shown
        assert finding.hint, shown
        assert hint in finding.hint, shown


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_finding_points_into_the_text_and_speaks_to_its_author(case: Case) -> None:
    lines = case.text.split("\n")
    for finding in found_in(case.text):
        assert not INTERNAL.search(str(finding)), str(finding)
        assert (
            finding.summary[0].islower()
            or finding.summary[0] == '"'
            or finding.summary.split()[0].isupper()
            or (finding.summary.startswith("Spark SQL"))
        )
        assert not finding.summary.endswith(".")
        assert finding.origin is not None
        assert finding.origin.file == FILE
        assert 1 <= finding.origin.line <= len(lines)
        assert 1 <= finding.origin.column <= len(lines[finding.origin.line - 1]) + 1


@pytest.mark.parametrize("case", [case for case in CASES if case.mends], ids=name_of)
def test_what_a_hint_says_can_be_written(case: Case) -> None:
    assert [str(finding) for finding in found_in(case.mended)] == []


@pytest.mark.parametrize("name", foreign()["write"])
def test_what_is_written_in_place_of_a_foreign_function_calls_functions_of_spark(name: str) -> None:
    template = foreign()["write"][name].replace("{*}", "'a', b")
    if name not in ("trycast", "safe_cast"):  # which take a type
        tree = sql.parse_expression(re.sub(r"\{(\d)\}", r"a\1", template))
        unknown = [call.name for call in tree.find_all(exp.Anonymous) if find(call.name) is None]
        assert unknown == []
    assert find(name) is None, "Spark has it"


def test_what_is_not_supported_yet_is_named() -> None:
    yet = [finding for case in CASES for finding in found_in(case.text) if isinstance(finding, NotSupportedYet)]
    assert len(yet) >= 5
    assert all("yet" in finding.summary or finding.hint for finding in yet)
