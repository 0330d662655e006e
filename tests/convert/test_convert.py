"""Declarations of other systems: each file becomes the one beside it, and is checked.

`CONVERT_ANEW=1 pytest tests/convert` writes what comes out now; read what has changed.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from headwater import sql
from headwater.convert import SYSTEMS, Converted, convert

HERE = Path(__file__).parent
FILES = sorted(file for file in HERE.glob("*/*.sql") if not file.name.endswith(".ours.sql"))


def shown(converted: Converted) -> str:
    """The text, and behind it what the check says of it."""
    findings = [f"-- {finding.code()} {finding.origin}: {finding.summary}" for finding in converted.findings]
    verdict = "has errors" if converted.errors else "ok"
    return converted.text + "\n".join(["", f"-- headwater check: {verdict}", *findings, ""])


def test_there_are_ten_files_of_each_system() -> None:
    assert set(SYSTEMS) == {file.parent.name for file in FILES}
    assert min(Counter(file.parent.name for file in FILES).values()) >= 10


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_file_of_another_system_becomes_ours(file: Path) -> None:
    converted = convert([file.read_text(encoding="utf-8")], SYSTEMS[file.parent.name], "ours.sql")
    expected = file.with_suffix(".ours.sql")
    if os.environ.get("CONVERT_ANEW"):
        expected.write_text(shown(converted), encoding="utf-8")
    assert shown(converted) == expected.read_text(encoding="utf-8")
    declared = sql.parse_declarations(converted.text, "ours.sql").declarations
    assert all(sql.render(replace(one, comment=None)) in converted.text for one in declared)  # the canonical spelling


def test_no_secret_is_written_anywhere() -> None:
    texts = [file.with_suffix(".ours.sql").read_text(encoding="utf-8") for file in FILES]
    assert not [text for text in texts if "hunter2" in text or "geheim" in text]


def test_several_files_are_one_project() -> None:
    topic = "CREATE TABLE pings (host STRING) WITH ('connector' = 'kafka', 'topic' = 'pings');"
    view = "CREATE VIEW hosts AS SELECT host FROM pings;"
    assert not convert([topic, view], SYSTEMS["flink"]).errors
    assert [one.code() for one in convert([view], SYSTEMS["flink"]).errors] == ["unknown-name"]
