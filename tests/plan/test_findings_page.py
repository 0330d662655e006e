"""docs/reference/findings.md: every finding has a section, and every example there is found as the page shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater import findings, model, plan, sql
from headwater.errors import Caution, Finding
from tests.plan.planning import STORES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### `(?P<name>\w+)`\n(?P<text>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(sql|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHARED = BLOCK.findall(PAGE)[0][1]
SECTIONS = {section["name"]: section["text"] for section in SECTION.finditer(PAGE)}


def findings_of(example: str) -> tuple[Finding, ...]:
    shared, own = sql.parse_declarations(SHARED, "shop.sql"), sql.parse_declarations(example, "example.sql")
    declarations = (*shared.declarations, *own.declarations)
    checked = plan.check(model.Project(name="shop", declarations=declarations, stores=STORES))
    return (*shared.findings, *own.findings, *checked.findings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SECTIONS)
def test_an_example_gives_the_finding_that_it_stands_for(name: str) -> None:
    (kind, example), (_, message) = BLOCK.findall(SECTIONS[name])
    (finding,) = findings_of(example)
    assert kind == "sql"
    assert type(finding) is getattr(findings, name)
    assert f"{finding.origin}: {finding}\n" == message


def test_every_finding_has_a_section() -> None:
    every = {
        name
        for name, kind in vars(findings).items()
        if isinstance(kind, type) and issubclass(kind, Finding) and kind not in (Finding, Caution)
    }
    assert set(SECTIONS) == every


def test_a_section_says_whether_its_finding_is_a_caution() -> None:
    cautions = {name for name, text in SECTIONS.items() if text.strip().startswith("A caution.")}
    assert cautions == {name for name in SECTIONS if issubclass(getattr(findings, name), Caution)}
