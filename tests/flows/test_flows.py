"""Flows: a project, its input and the rows that must come out, in every execution.

Each folder here is a flow (README.md says how they are made). Flows run side by side in the background, each through
all executions that are asked for; a test waits for its own and says what was wrong with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from headwater import testing
from headwater.testing import EXECUTIONS, Execution, compare, executions, read_script
from tests.flows.oracle import FLOWS, expected_rows, spelled_lines

NAMES = sorted(found.parent.name for found in FLOWS.glob("*/input.jsonl"))
AT_ONCE = 3
"""Two cores, and one flow that waits for a disk or a lock."""

Faults = dict[str, str]
"""What was wrong with each execution; an empty text if nothing was."""


def run(flow: Path, names: list[str]) -> Faults:
    """Execute a flow in these ways."""
    expected = [json.loads(line) for line in (flow / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    done = executions(flow, read_script(flow / "input.jsonl"), names)
    return {execution.name: fault(execution, expected) for execution in done}


def fault(execution: Execution, expected: list[dict[str, object]]) -> str:
    """What differs from the expected rows, or is not accounted for."""
    if execution.error is not None:
        return f"{execution.error}"
    if difference := compare([*execution.tables.values()][-1], expected):
        return str(difference)
    return next((found for view in execution.tables if (found := misdeed(execution, view))), "")


def misdeed(execution: Execution, view: str) -> str:
    """What is wrong with the books of one view."""
    if execution.name == "killed and resumed":  # a batch that was attempted twice must not be counted twice
        verified = execution.scenario.project.verify(view)
        return "" if verified.identical else f"verify disagrees: {verified}"
    if execution.name != "batch" and (ledger := execution.scenario.project.views.ledger(view)).remainder:
        return f"the ledger has a remainder: {ledger}"
    return ""


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, spark: object) -> Iterator[dict[str, Future[Faults]]]:
    """The faults of every flow that is to be tested, as they become known."""
    assert spark
    wanted: dict[str, list[str]] = {}
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if {"flow", "execution"} <= parameters.keys():
            wanted.setdefault(parameters["flow"], []).append(parameters["execution"])
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="flow")
    yield {flow: pool.submit(run, FLOWS / flow, names) for flow, names in wanted.items()}
    pool.shutdown(cancel_futures=True)


def chosen() -> list[tuple[str, str]]:
    """What is executed: with FLOWS=all everything; else every sixth flow with a crash, the rest in other ways in turn.

    After the crash `verify` compares with batch.
    """
    if os.environ.get("FLOWS") == "all":
        return [(flow, execution) for flow in NAMES for execution in EXECUTIONS]
    crashed, *others = EXECUTIONS
    return [(flow, others[number % len(others)] if number % 6 else crashed) for number, flow in enumerate(NAMES)]


@pytest.mark.parametrize(("flow", "execution"), chosen())
def test_a_flow_gives_its_rows(flow: str, execution: str, runs: dict[str, Future[Faults]]) -> None:
    found = runs[flow].result()[execution]
    assert not found, f"{flow}, {execution}: {found}"


@pytest.mark.parametrize("flow", sorted(found.parent.name for found in FLOWS.glob("*/expected.duckdb")))
def test_the_expected_rows_are_what_duckdb_says(flow: str) -> None:
    written = (FLOWS / flow / "expected.jsonl").read_text(encoding="utf-8")
    assert sorted(spelled_lines(expected_rows(FLOWS / flow)).splitlines()) == sorted(written.splitlines())


def test_every_flow_has_its_files_and_a_view() -> None:
    for name in NAMES:
        files = {path.name for path in (FLOWS / name).iterdir()}
        assert {"project.sql", "input.jsonl", "expected.jsonl"} <= files, name
        with testing.scenario(FLOWS / name) as found:
            assert found.views, name
