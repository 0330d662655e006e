"""Declarations of other systems, converted to ours: Flink SQL, RisingWave, ksqlDB, Spark and Materialize.

A *system* is read statement by statement into drafts; when all were read, they are written in our canonical spelling
and checked as a project. What couldn't be carried over stands in the text as a comment that says why and what to
write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.convert.drafts import Conversion, Remark
from headwater.convert.finish import finish
from headwater.convert.queries import spelled_reason
from headwater.convert.statement import read_statements
from headwater.convert.system import System
from headwater.convert.systems.flink import FLINK
from headwater.convert.systems.ksqldb import KSQLDB
from headwater.convert.systems.materialize import MATERIALIZE
from headwater.convert.systems.risingwave import RISINGWAVE
from headwater.convert.systems.spark import SPARK
from headwater.convert.write import write
from headwater.errors import Finding, HeadwaterError
from headwater.findings import SyntaxRefused

SYSTEMS: Mapping[str, System] = {system.name: system for system in (FLINK, RISINGWAVE, KSQLDB, SPARK, MATERIALIZE)}
"""The systems that can be converted from, by name."""


@dataclass(frozen=True)
class Converted:
    """Our text, the notes in it by declaration, and what `headwater check` finds in it."""

    text: str
    notes: tuple[tuple[str, str], ...]
    findings: tuple[Finding | SyntaxRefused, ...]

    @property
    def errors(self) -> tuple[Finding | SyntaxRefused, ...]:
        """The findings for which it doesn't run."""
        return tuple(one for one in self.findings if getattr(one, "severity", "error") == "error")


def convert(texts: Sequence[str], system: System, file: str = "converted.sql") -> Converted:
    """The declarations of files of another system as one file of ours.

    >>> print(convert(["CREATE VIEW big AS SELECT * FROM orders WHERE amount > 100;"], SYSTEMS["flink"]).text)
    CREATE VIEW big AS
    SELECT
      *
    FROM orders
    WHERE
      amount > 100;
    <BLANKLINE>
    """
    conversion = Conversion(system.name)
    for text in texts:
        for statement in read_statements(text, system.dialect()):
            try:
                system.read(statement, statement.reader(), conversion)
            except HeadwaterError as problem:
                conversion.drafts.append(Remark(statement.text, statement.comment, [spelled_reason(problem)]))
    finish(conversion)
    written, findings = write(conversion, file)
    notes = tuple((draft.name, note) for draft in conversion.drafts for note in draft.notes)
    return Converted(written, notes, findings)


__all__ = ["SYSTEMS", "Converted", "System", "convert"]
