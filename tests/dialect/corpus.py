"""What people know from other systems, as data: a query as it is written there, and what becomes of it here.

The files in `cases/` are named after the engine and the feature, `flink.top_n.sql`. A case begins with `--- title` and
has the text; a query alone stands for a materialized view `v`. Behind it, in comments,

    -- says: a part of a caution or a finding that `check` has to give, one line for each; without one there is none
    -- mend: what is replaced ==> what it is replaced by; mended so, as the finding says, it is kept
    -- duckdb: the same question in DuckDB's words, where the text isn't one; several such lines are joined
    -- unanswered: why no other engine can be asked

The streams and tables that they read are in `cases/shop.sql`. Every query is ours, written from what
the engines document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from headwater import model, plan, sql
from headwater.errors import DeclarationError, Finding
from headwater.findings import ForeignSpelling
from tests.plan.planning import STORES

FILE = "dialect.sql"
CASES = Path(__file__).parent / "cases"
SHOP = (CASES / "shop.sql").read_text("utf-8")
_NOTE = re.compile(r"^-- (?P<kind>says|mend|duckdb|unanswered): ?(?P<text>.*)$")
_QUERY = re.compile(r"\s*(SELECT|WITH|VALUES|\()", re.IGNORECASE)
_BESIDE = re.compile(r"^WITH \([a-z_]+ = [^)]*\) AS\b|\bEMIT (CHANGES|FINAL|ON WINDOW CLOSE)$")
_WINDOW = re.compile(
    r"\b(?P<kind>TUMBLE|HOP|CUMULATE)\((TABLE )?(?P<read>\w+), (DESCRIPTOR\()?(?P<time>\w+)\)?, "
    r"(?P<lengths>INTERVAL '[^']*'( \w+)?(, INTERVAL '[^']*'( \w+)?)*)\)",
    re.IGNORECASE,
)
_DECLARED = sql.parse_declarations(SHOP, "shop.sql")


class Outcome(StrEnum):
    """The fate of a query that is written as another system has it."""

    WRITTEN = "as written"
    TRANSLATED = "translated"
    MENDED = "after its finding"
    REFUSED = "refused"


@dataclass
class Case:
    """One text of an engine's users, what `check` says of it, and who answers it too."""

    engine: str
    feature: str
    title: str
    text: str
    says: list[str] = field(default_factory=list)
    mend: list[str] = field(default_factory=list)
    duckdb: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The case as tests name it."""
        return f"{self.engine} {self.feature}: {self.title}"

    @property
    def mended(self) -> str:
        """The text as its finding asks for it."""
        text = self.text
        for mend in self.mend:
            old, _, new = mend.partition(" ==>")
            assert old in text, f"{self.name}: {old!r} is not in the text"
            text = text.replace(old, new.removeprefix(" "))
        return text

    def declared(self, view: str = "v", *, mended: bool = False) -> str:
        """The declarations of the case; a query alone is the view of that name."""
        text = self.mended if mended else self.text
        options, query = re.match(r"(WITH \([a-z_]+ = [^)]*\) AS\b)?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        if options or _QUERY.match(text):
            return f"CREATE MATERIALIZED VIEW {view} {options or 'AS'}{'' if options else chr(10)}{query}"
        return text

    @property
    def question(self) -> str:
        """What DuckDB is asked."""
        text = " ".join(self.duckdb) or _BESIDE.sub("", self.mended)
        return _WINDOW.sub(_as_duckdb, text)


def _as_duckdb(window: re.Match[str]) -> str:
    """A window table function in DuckDB's words; the macros are those of the flows."""
    bounds = f"unnest({window['kind']}({window['time']}, {window['lengths']})) AS w"
    return (
        f"(SELECT * EXCLUDE (w), w.window_start, w.window_end, w.window_end - INTERVAL 1 MILLISECOND AS window_time "
        f"FROM (SELECT *, {bounds} FROM {window['read']}))"
    )


def cases() -> list[Case]:
    """Every case of every file."""
    return [
        _case(path.stem.partition(".")[0], path.suffixes[0].removeprefix("."), part)
        for path in sorted(CASES.glob("*.*.sql"))
        for part in re.split(r"^--- ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    ]


def _case(engine: str, feature: str, part: str) -> Case:
    title, _, rest = part.partition("\n")
    lines = rest.splitlines()
    text = "\n".join(line for line in lines if not _NOTE.match(line)).strip().removesuffix(";")
    case = Case(engine, feature.replace("_", " "), title, text)
    for note in filter(None, map(_NOTE.match, lines)):
        getattr(case, note["kind"]).append(note["text"])
    return case


def found_in(text: str) -> list[DeclarationError]:
    """What `check` says of a text beside the shop, in its order, errors and cautions."""
    parsed = sql.parse_declarations(text, FILE)
    declarations = (*_DECLARED.declarations, *parsed.declarations)
    checked = plan.check(model.Project(name="dialect", declarations=declarations, stores=STORES), parsed.refused)
    return list(_sorted([*parsed.findings, *checked.findings]))


def _sorted(findings: list[DeclarationError]) -> Iterator[DeclarationError]:
    def place(finding: DeclarationError) -> tuple[int, int]:
        return (finding.origin.line, finding.origin.column) if finding.origin else (0, 0)

    yield from sorted(findings, key=place)


def is_error(finding: DeclarationError) -> bool:
    """Tells whether a finding refuses what it speaks of."""
    return not (isinstance(finding, Finding) and finding.severity != "error")


def outcome(case: Case) -> Outcome:
    """The fate of a case."""
    findings = found_in(case.declared())
    if any(map(is_error, findings)):
        return Outcome.MENDED if case.mend else Outcome.REFUSED
    return Outcome.TRANSLATED if any(isinstance(each, ForeignSpelling) for each in findings) else Outcome.WRITTEN


def score() -> str:
    """The table of docs/coming-from.md: per engine and feature, how many cases have which fate."""
    told = [(case, outcome(case)) for case in cases()]
    kinds = list(Outcome)
    lines = [
        f"| engine | feature | cases | {' | '.join(kinds)} | answered as DuckDB does |",
        "|---|---|---|" + "---|" * (len(kinds) + 1),
    ]
    for engine, feature in dict.fromkeys((case.engine, case.feature) for case, _ in told):
        of = [(case, fate) for case, fate in told if (case.engine, case.feature) == (engine, feature)]
        counts = [sum(fate is kind for _, fate in of) for kind in kinds]
        asked = sum(fate is not Outcome.REFUSED and not case.unanswered for case, fate in of)
        lines.append(f"| {engine} | {feature} | {len(of)} | {' | '.join(map(str, counts))} | {asked} |")
    return "\n".join(lines)
