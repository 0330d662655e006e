"""Patterns over a log, in every execution, against the rows of an independent matcher (`tests.operators.matcher`).

Some cases are a project together, which is executed in one of the ways; with FLOWS=all in all of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path as File
from typing import Any

import pytest

import headwater as hw
from headwater.sql.pattern import parse_step
from headwater.testing import EXECUTIONS, compare, executions, read_script
from headwater.testing.script import Script
from tests.flows.test_flows import misdeed
from tests.operators.matcher import Path, matches
from tests.operators.test_matching import plain
from tests.patterns.cases import CASES, OF_ROWS, START, STREAM, Case, Event, Events, events, of, total

TOGETHER = 7
GROUPS = [CASES[number : number + TOGETHER] for number in range(0, len(CASES), TOGETHER)]


def written(case: Case) -> str:
    measures = {name: (text, lambda *_: None) for name, text in OF_ROWS.items()}
    names = set(re.findall(r"\w+", case.pattern))
    define = {name: defined for name, defined in case.define.items() if name in names}
    return Case(**{**vars(case), "measures": case.measures or measures, "define": define}).sql


def known(log: list[Events]) -> Events:
    """The events that come in time, in the order of the log."""
    rows = [row for commit in log for row in commit if not row["id"].startswith("late")]
    return [{**row, "price": Decimal(row["price"])} for row in rows]


def partitions(case: Case, log: list[Events]) -> Iterator[tuple[Any, int | None, Events]]:
    """The rows of each partition in order, with its key."""
    rows = sorted(known(log), key=lambda row: row["at"])  # which leaves those of an instant in the order of the log
    for card in ("x", "y", "z", None):
        own = [row for row in rows if row["card"] == card]
        if case.window is None:
            yield card, None, own
            continue
        for number in sorted({row["at"] // case.window for row in own}):
            yield card, (number + 1) * case.window, [row for row in own if row["at"] // case.window == number]


def searched(case: Case, rows: Events) -> Iterator[tuple[int, Path | None]]:
    def is_one(name: str, path: Path, row: int) -> bool:
        return name not in case.define or case.define[name][1](rows, path, row) is True

    to = {"PAST": "past last row", "NEXT": "next row", "FIRST": "first", "LAST": "last"}
    words = case.skip.replace("TO ", "").split(" ")
    skip = to[words[0]], frozenset(words[1:])
    yield from matches(plain(parse_step(case.pattern)), [row["at"] for row in rows], case.within, skip, is_one)


def instant(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def expected(case: Case, log: list[Events] | None = None) -> list[dict[str, Any]]:
    """The rows that a view must have, when all is final."""
    out: list[dict[str, Any]] = []
    for card, end, rows in partitions(case, log or events()):
        key = {"card": card} if end is None else {"card": card, "window_end": instant(end)}
        number = 0
        covered = -1
        for begin, path in searched(case, rows):
            number += path is not None
            if case.rows != "ONE ROW PER MATCH":
                out += list(rows_of(case, rows, begin, path, covered))
                covered = max([covered, *of(path or ())])
            elif path is not None:
                measured = {name: compute(rows, path) for name, (_, compute) in case.measures.items()}
                measured |= {"number": number} if "number" in measured else {}
                times = {name: instant(measured[name]) for name in ("started_at",) if measured.get(name) is not None}
                out.append({**key, **measured, **times})
    return out


def rows_of(case: Case, rows: Events, begin: int, path: Path | None, covered: int) -> Iterator[dict[str, Any]]:
    """The rows that one search shows."""

    def shown(row: Event, **measures: Any) -> dict[str, Any]:
        blank: dict[str, Any] = dict.fromkeys(OF_ROWS)
        return {**row, "price": str(row["price"]), "at": instant(row["at"]), **blank, **measures}

    if path is None:
        if case.rows.endswith("UNMATCHED ROWS") and begin > covered:
            yield shown(rows[begin], in_all=0)
    elif not path and not case.rows.endswith("OMIT EMPTY MATCHES"):
        yield shown(rows[begin], in_all=0)
    for place, (row, name, hidden) in enumerate(path or ()):
        if not hidden:
            assert path is not None
            so_far = total([rows[one]["amount"] for one, _, _ in path[: place + 1]])
            ends = {"first_id": rows[path[0][0]]["id"], "last_id": rows[path[-1][0]]["id"]}
            yield shown(rows[row], took=name.upper(), so_far=so_far, in_all=len(path), **ends)


def script(folder: File, log: list[Events] | None = None) -> Script:
    """The log as a script: the commits, and a tick that ends all."""
    lines = [
        [json.dumps({"events": {**row, "at": instant(row["at"])}}) for row in commit] for commit in log or events()
    ]
    commits = ["\n".join(commit) for commit in lines]
    ends = f'{{"tick": "events", "to": "{instant(3600)}"}}'
    (folder / "input.jsonl").write_text("\n\n".join([*commits, ends]) + "\n")
    return read_script(folder / "input.jsonl")


def chosen() -> list[tuple[int, str]]:
    if os.environ.get("FLOWS") == "all":
        return [(number, execution) for number in range(len(GROUPS)) for execution in EXECUTIONS]
    return [(number, EXECUTIONS[number % len(EXECUTIONS)]) for number in range(len(GROUPS))]


def test_there_are_as_many_as_were_promised() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(expected(case) for case in CASES), [case.name for case in CASES if not expected(case)]


@pytest.mark.parametrize(("number", "execution"), chosen())
def test_patterns_give_their_rows(number: int, execution: str, tmp_path: File, spark: Any) -> None:
    group = GROUPS[number]
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "project.sql").write_text(STREAM + "\n".join(written(case) for case in group))
    wrong = {}
    for done in executions(folder, script(tmp_path), [execution]):
        for case in group:
            rows = done.rows(case.name)
            if difference := compare(rows, expected(case)):
                wrong[case.name] = f"{difference}\n{re.sub(' +', ' ', case.sql)}\n{rows.num_rows} rows"
            elif said := misdeed(done, case.name):
                wrong[case.name] = said
    assert not wrong, "\n\n".join(f"{name}, {execution}: {said}" for name, said in wrong.items())


def test_why_shows_the_events_of_a_match(tmp_path: File, spark: Any) -> None:
    """Of patterns where each match depends on the one before, too: no span of the log tells them."""
    cases = [case for case in CASES if case.name in ("kinds_0", "kinds_1", "up_to_ten")]
    (tmp_path / "headwater.toml").write_text('name = "cards"\n')
    (tmp_path / "project.sql").write_text(STREAM + "\n".join(written(case) for case in cases))
    with hw.open(tmp_path) as project:
        for commit in events():
            project.append("events", [{**row, "at": instant(row["at"])} for row in commit])
        project.append("events", {"id": "end", "at": instant(3600)})
        project.catch_up()
        for case in cases:
            row = expected(case)[-1]
            why = project.why(case.name, {name: row[name] for name in ("card", "ids")})
            assert sorted(why.shown["events"]["id"].to_pylist()) == sorted(row["ids"].split(","))
