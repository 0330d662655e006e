"""Wrong declarations as data: what people write, what `check` must say of it, and what they write then.

The files in `wrong/` hold cases, by where their authors come from. A case begins with `--- title`, and has the text; a
query alone stands for a materialized view `v`. Behind it, in comments,

    -- finding: a part of the first line of the finding that is expected; one such line for each cause
    -- hint: a part of its hint
    -- mend: what is replaced ==> what it is replaced by; mended so, the text has no findings

The streams and tables that they read are in `wrong/shop.sql`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from headwater import model, plan, sql
from headwater.errors import Finding
from tests.plan.planning import STORES

FILE = "wrong.sql"
_FOLDER = Path(__file__).parent / "wrong"
_NOTE = re.compile(r"^-- (?P<kind>finding|hint|mend): (?P<text>.*)$")
_QUERY = re.compile(r"\s*(SELECT|WITH|VALUES)\b")
_SHOP = sql.parse_declarations((_FOLDER / "shop.sql").read_text("utf-8"), "shop.sql")


@dataclass
class Case:
    """One text, what is found in it, and how it is mended."""

    topic: str
    title: str
    text: str
    findings: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    mends: list[tuple[str, str]] = field(default_factory=list)

    @property
    def mended(self) -> str:
        """The text as the hint asks for it."""
        text = self.text
        for old, new in self.mends:
            assert old in text, f"{self.title}: {old!r} is not in the text"
            text = text.replace(old, new)
        return text


def cases() -> list[Case]:
    """Every case of every file."""
    return [
        _case(path.stem, part)
        for path in sorted(_FOLDER.glob("*.sql"))
        if path.name != "shop.sql"
        for part in re.split(r"^--- ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    ]


def _case(topic: str, part: str) -> Case:
    title, _, rest = part.partition("\n")
    notes = [found for line in rest.splitlines() if (found := _NOTE.match(line))]
    text = "\n".join(line for line in rest.splitlines() if not _NOTE.match(line)).strip()
    if _QUERY.match(text):
        text = f"CREATE MATERIALIZED VIEW v AS\n{text}"
    case = Case(topic, title, text)
    for note in notes:
        {"finding": case.findings, "hint": case.hints}.get(note["kind"], []).append(note["text"])
        if note["kind"] == "mend":
            old, _, new = note["text"].partition(" ==> ")
            case.mends.append((old, new.replace("\\n", "\n")))
    return case


def found_in(text: str) -> list[Finding]:
    """What `check` finds in a text beside the shop, cautions left out, in the order of the text."""
    parsed = sql.parse_declarations(text, FILE)
    declarations = (*_SHOP.declarations, *parsed.declarations)
    checked = plan.check(model.Project(name="shop", declarations=declarations, stores=STORES), parsed.refused)
    every = [*parsed.findings, *checked.findings]
    errors = [finding for finding in every if finding.severity == "error"]
    return sorted(
        errors, key=lambda finding: (finding.origin.line, finding.origin.column) if finding.origin else (0, 0)
    )
