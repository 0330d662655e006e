"""Random patterns over random events, in one of the executions: they give the rows of the independent matcher."""

from __future__ import annotations

import tempfile
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.model.pattern import spell_step
from headwater.testing import EXECUTIONS, compare, executions
from tests.operators.test_matching import trees
from tests.patterns.cases import ABC, STREAM, WHOLE, Case, Event, kind, less, of, prev, value
from tests.patterns.test_patterns import expected, script

RISES = ("price > PREV(price)", lambda rows, _, at: less(prev(rows, at, "price", near=None), rows[at]["price"]))
MORE = (
    "amount > LAST(a.amount)",
    lambda rows, path, at: less(value(rows, of(path, "a"), "amount"), rows[at]["amount"]),
)
DEFINED = [kind("b"), MORE, ("amount > 3", lambda rows, _, at: less(3, rows[at]["amount"]))]


@st.composite
def cases(draw: st.DrawFn) -> list[Case]:
    """Some views, each of a pattern of its own, either within a time or in windows."""
    made = []
    for number in range(3):
        window = draw(st.sampled_from([None, None, 15]))
        pattern = spell_step(draw(trees(anchored=window is not None)))
        define = {"a": ABC["a"], "b": draw(st.sampled_from([*DEFINED, RISES] if window else DEFINED)), "c": ABC["c"]}
        named = {name: defined for name, defined in define.items() if name in pattern.replace("PERMUTE", "")}
        named = (
            named if "a" in pattern.replace("PERMUTE", "") else {**named, **({"b": ABC["b"]} if "b" in named else {})}
        )
        skip = draw(st.sampled_from(["PAST LAST ROW", "TO NEXT ROW"]))
        within = None if window else draw(st.sampled_from([3, 9, 30]))
        made.append(Case(f"v{number}", pattern, within, skip, named, measures=WHOLE, window=window))
    return made


@st.composite
def logs(draw: st.DrawFn) -> list[list[Event]]:
    """Some commits, in which events are up to three seconds out of order."""
    commits, now, number = [], 4, 0
    for _ in range(draw(st.integers(2, 4))):
        rows = []
        for _ in range(draw(st.integers(1, 7))):
            now, number = now + draw(st.integers(0, 4)), number + 1
            rows.append(
                {
                    "id": f"e{number}", "card": draw(st.sampled_from(["x", "y", None])),
                    "kind": draw(st.sampled_from(["a", "b", "c"])), "amount": draw(st.sampled_from([None, 1, 4, 7])),
                    "price": draw(st.sampled_from(["1.00", "2.50"])), "weight": None,
                    "at": now - draw(st.sampled_from([0, 0, 3])),
                }
            )  # fmt: skip
        commits.append(rows)
    return commits


@pytest.fixture(scope="module")
def begun(spark: Any) -> Any:
    return spark


@given(views=cases(), log=logs(), execution=st.sampled_from(EXECUTIONS))
@settings(
    deadline=None, max_examples=max(2, settings().max_examples // 50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
def test_random_patterns_give_the_rows_of_the_standard(
    begun: Any, views: list[Case], log: list[list[Event]], execution: str
) -> None:
    assert begun
    with tempfile.TemporaryDirectory() as place:
        folder = File(place) / "project"
        folder.mkdir()
        (folder / "project.sql").write_text(STREAM + "\n".join(view.sql for view in views))
        (done,) = executions(folder, script(File(place), log), [execution])
        for view in views:
            difference = compare(done.rows(view.name), expected(view, log))
            assert not difference, f"{execution}: {difference}\n{view.sql}"
