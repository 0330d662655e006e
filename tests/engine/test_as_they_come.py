"""Rows that are written as they come: which views have such, when each is written, and moves to such steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from headwater import model
from headwater.engine import settle, small
from headwater.engine.prepared import Prepared
from headwater.engine.slice import Slice
from headwater.plan import PlannedView
from headwater.testing import Scenario, scenario
from tests.plan.planning import view

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
NEAR = "r.k = l.k AND r.at BETWEEN l.at - INTERVAL '5' SECOND AND l.at + INTERVAL '5' SECOND"
STREAMS = """
CREATE STREAM a (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '3' SECOND);
CREATE STREAM b (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '3' SECOND);
"""
VIEWS = {
    "rows": "SELECT id, v * 2 AS twice FROM a WHERE v > 0",
    "pairs": f"SELECT l.id AS one, r.id AS other FROM a l JOIN b r ON {NEAR}",
    "partnered": f"SELECT id FROM a l WHERE EXISTS (SELECT 1 FROM b r WHERE {NEAR})",
    "seen": "SELECT DISTINCT k, at FROM a",
    "again": f"SELECT l.id AS one, r.id AS other FROM a l JOIN a r ON {NEAR} AND r.id > l.id",
}
PROJECT = STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};\n" for name, query in VIEWS.items())
JOIN = "orders o JOIN payments p ON p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '{}' MINUTE"


@pytest.mark.parametrize(
    ("query", "back", "keys"),
    [
        ("SELECT id FROM orders WHERE amount > 3", "nothing", ()),
        ("SELECT explode(array(id, customer)) AS word FROM orders", "nothing", ()),
        ("SELECT id FROM orders UNION ALL SELECT id FROM orders", "nothing", ()),
        ("SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)", "nothing", ()),
        ("SELECT id, at FROM payments", "events", (("_id",),)),
        (f"SELECT o.id FROM {JOIN.format(10)}", "reach", (("id",), ("order_id",))),
        ("SELECT DISTINCT customer, at FROM orders", "reach", (("customer", "at"),)),
        ("SELECT DISTINCT customer, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)",
         "reach", (("customer",),)),
    ],
)  # fmt: skip
def test_what_is_there_for_good_is_written_as_it_comes(
    query: str, back: str, keys: tuple[tuple[str, ...], ...]
) -> None:
    found = view(query)
    step = found.physical.step
    assert step is not None
    assert (step.as_they_come, step.looks_back, step.keys, step.prepared) == (True, back, keys, True)
    assert found.physical.written_once


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT o.id, p.paid FROM {JOIN.format(5).replace('JOIN', 'LEFT JOIN', 1)}",
        f"SELECT o.id FROM {JOIN.format(5).replace('JOIN', 'LEFT ANTI JOIN', 1)}",
        "SELECT id, order_id, at FROM payments QUALIFY row_number() OVER (PARTITION BY order_id, at ORDER BY paid) = 1",
    ],
)
def test_what_may_be_taken_back_is_not(query: str) -> None:
    step = view(query).physical.step
    assert step is None or not step.as_they_come


def test_rows_that_are_far_apart_are_left_to_spark_unless_the_view_says_so() -> None:
    far = f"SELECT o.id FROM {JOIN.format(11)}"
    found = view(far).execution
    assert found.kind == "live"
    assert found.why == "its rows look 11 minutes back, farther than those of small steps do"
    settled = view(far, "WITH (execution = 'settle')").physical.step
    assert settled is not None and settled.as_they_come


@pytest.fixture
def world() -> Iterator[Scenario]:
    with scenario(PROJECT) as opened:
        yield opened


def append(world: Scenario, topic: str, *rows: tuple[str, str | None, float]) -> None:
    """Rows of an id, a key and a second."""
    values = [
        {"id": name, "k": key, "v": 1, "at": (START + timedelta(seconds=at)).isoformat()} for name, key, at in rows
    ]
    world.append(topic, values)


def held(world: Scenario, name: str) -> list[Any]:
    return sorted(tuple(row.values()) for row in world.rows(name).to_pylist())


def test_a_pair_is_written_with_its_later_row_and_a_row_with_its_first_partner(world: Scenario) -> None:
    append(world, "a", ("a1", "x", 0), ("a2", "y", 0), ("a3", None, 0))
    append(world, "b", ("b0", None, 0))
    world.run()
    assert (held(world, "pairs"), held(world, "partnered")) == ([], [])
    append(world, "b", ("b1", "x", 2))
    world.run()
    assert (held(world, "pairs"), held(world, "partnered")) == ([("a1", "b1")], [("a1",)])
    append(world, "b", ("b2", "x", 3))
    append(world, "a", ("a4", "x", 4))
    world.run()
    pairs = [("a1", "b1"), ("a1", "b2"), ("a4", "b1"), ("a4", "b2")]
    assert (held(world, "pairs"), held(world, "partnered")) == (pairs, [("a1",), ("a4",)])
    for name in VIEWS:
        assert world.project.verify(name).identical
        assert world.project.views.ledger(name).remainder == 0


def test_equal_rows_are_written_once_whenever_they_come(world: Scenario) -> None:
    for number in range(3):
        append(world, "a", (f"a{number}", "x", 1), (f"b{number}", None, 2), (f"c{number}", "y", number))
        world.run("seen")
    shown = [row["k"] for row in world.rows("seen").to_pylist()]
    assert sorted(map(str, shown)) == ["None", "x", "y", "y", "y"]


@pytest.mark.parametrize("few", [4, small.FEW])
@pytest.mark.parametrize("compiled", [0, settle.COMPILED])
def test_steps_are_computed_by_prepared_plans_from_the_rows_with_their_keys(
    world: Scenario, few: int, compiled: int
) -> None:
    """With a `few` of four rows, those with other keys must be left out for a step to be small."""
    append(world, "a", ("a0", "x", 0), ("a1", "y", 0), ("a2", "z", 0))
    append(world, "b", ("b0", "y", 0), ("b1", "z", 0), ("b2", "w", 0))
    world.run()
    ran: list[int] = []
    run = Prepared.run

    def counted(own: Prepared, tables: dict[str, pa.Table], instants: Any) -> Any:
        ran.append(sum(table.num_rows for table in tables.values()))
        return run(own, tables, instants)

    append(world, "b", ("b3", "x", 1))
    limits = patch.object(small, "FEW", few), patch.object(settle, "COMPILED", compiled)
    with limits[0], limits[1], patch.object(Prepared, "run", counted):
        world.run("pairs")
    assert ran == ([2] if few == 4 else [7])
    assert ("a0", "b3") in held(world, "pairs")
    assert world.project.verify("pairs").identical


def test_a_stream_that_is_joined_with_itself_is_given_to_a_prepared_plan_once(world: Scenario) -> None:
    append(world, "a", ("a0", "x", 0), ("a1", "y", 0))
    world.run("again")
    append(world, "a", ("a2", "x", 1))
    with patch.object(Slice, "computed", lambda _: pytest.fail("a step was planned anew")):
        world.run("again")
    assert held(world, "again") == [("a0", "a2")]
    assert world.project.verify("again").identical


def declared(execution: model.ViewExecution) -> Any:
    def change(planned: PlannedView) -> model.View:
        return replace(planned.view, execution=execution)

    return change


def test_a_version_that_was_live_goes_on_in_small_steps_and_is_rebuilt_on_the_way_back(world: Scenario) -> None:
    append(world, "a", ("a1", "x", 0), ("a2", "y", 1))
    with world.declared_with(declared("live")):
        world.run()
        append(world, "b", ("b1", "x", 2))
        world.run()
    append(world, "a", ("a3", "x", 3), ("a4", "y", 1))
    append(world, "b", ("b2", "x", 4))
    assert {(done.version, done.rebuilt) for done in world.run()} == {(1, None)}
    pairs = [("a1", "b1"), ("a1", "b2"), ("a3", "b1"), ("a3", "b2")]
    assert (held(world, "pairs"), held(world, "partnered")) == (pairs, [("a1",), ("a3",)])
    for name in VIEWS:
        assert world.project.verify(name).identical
        assert world.project.views.ledger(name).remainder == 0
    with world.declared_with(declared("live")):
        assert {done.rebuilt for done in world.run()} == {"its store is ahead of its checkpoint"}
        assert held(world, "pairs") == pairs
