"""The suite that every target of an outlet passes, with nothing but the methods of `headwater.outlets.Target`.

A target of your own runs it with pytest: derive a class whose name starts with `Test`, and give it two fixtures:
`again` opens the same target as another process would, for an outlet that `planned_outlet` makes; `seen` tells the ids
of the changes that are there, in order. Both are fresh for each test.

    class TestMine(TargetConformance):
        @pytest.fixture
        def again(self, tmp_path):
            return lambda: MyTarget(planned_outlet("mine://somewhere"), tmp_path)

        @pytest.fixture
        def seen(self, tmp_path):
            return lambda: my_ids(tmp_path)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa

from headwater import model, sql
from headwater.errors import Fenced
from headwater.outlets import Delivery, Place, Refused, Target
from headwater.plan import PlannedOutlet, check
from headwater.store import Target as Written
from headwater.store import changes_schema
from headwater.testing.conformance.expect import refuses

TEXT = """
CREATE STREAM payments (card STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW spend WITH (retention = '1 day') AS
  SELECT card, sum(amount) AS spent FROM payments GROUP BY card;
CREATE OUTLET {name} FROM spend TO '{to}';
"""
OpenAgain = Callable[[], Target]
Seen = Callable[[], list[str]]


def planned_outlet(to: str, name: str = "spend_out") -> PlannedOutlet:
    """An outlet that sends changes of a small view to a URL."""
    parsed = sql.parse_declarations(TEXT.format(to=to, name=name), "suite.sql")
    stores = (model.Store(name="main", url="sqlite:"),)
    project = model.Project(name="suite", declarations=parsed.declarations, stores=stores)
    return check(project).checked().outlet(name)


def delivery(batch: int, *changes: tuple[str, int | None, int | None], first: int = 0, more: bool = False) -> Delivery:
    """A delivery of (card, spent before, spent after); with `more`, its batch goes on behind it."""
    view = planned_outlet("delta://suite").view
    schema = changes_schema(Written("spend", 1, view.columns, view.identity, view.emit))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "op": "insert" if before is None else "delete" if after is None else "update",
            "before": None if before is None else {"card": card, "spent": before},
            "after": None if after is None else {"card": card, "spent": after},
            "batch": batch,
            "commit": [("payments", batch + 1)],
            "at": at,
            "watermark": at,
        }
        for card, before, after in changes
    ]
    table = pa.Table.from_pylist(rows, schema).append_column("timing", pa.array(["early"] * len(rows), pa.string()))
    return Delivery(table, Place(1, batch, first + len(rows) if more else None), first)


def none_refused(refused: Sequence[Refused]) -> None:
    """Buries nothing: for a test where nothing may be refused."""
    raise AssertionError(f"it refuses {refused}")


class TargetConformance:
    """The duties of every target."""

    def test_a_new_target_has_no_place(self, again: OpenAgain, seen: Seen) -> None:
        """Nothing was delivered yet, and opening delivers nothing."""
        with closing(again()) as target:
            assert target.open() is None
        assert seen() == []

    def test_what_is_delivered_is_there_and_so_is_the_place_behind_it(self, again: OpenAgain, seen: Seen) -> None:
        """A delivery is whole, and the next process learns where to go on."""
        with closing(again()) as target:
            target.open()
            target.deliver(delivery(0, ("a", None, 1), ("b", None, 1)), none_refused)
            target.deliver(delivery(3, ("a", 1, 2), ("b", 1, None)), none_refused)
        with closing(again()) as target:
            assert target.open() == Place(1, 3)
        assert seen() == ["1.0.0", "1.0.1", "1.3.0", "1.3.1"]

    def test_a_place_may_be_within_a_batch(self, again: OpenAgain, seen: Seen) -> None:
        """A large batch is delivered in parts."""
        with closing(again()) as target:
            target.open()
            target.deliver(delivery(0, ("a", None, 1), more=True), none_refused)
        with closing(again()) as target:
            assert target.open() == Place(1, 0, 1)
            target.deliver(delivery(0, ("b", None, 1), first=1), none_refused)
        with closing(again()) as target:
            assert target.open() == Place(1, 0)
        assert seen() == ["1.0.0", "1.0.1"]

    def test_a_delivery_without_changes_moves_the_place(self, again: OpenAgain, seen: Seen) -> None:
        """An outlet that starts with the latest keeps where it started."""
        with closing(again()) as target:
            target.open()
            target.deliver(delivery(7), none_refused)
        with closing(again()) as target:
            assert target.open() == Place(1, 7)
        assert seen() == []

    def test_who_was_overtaken_is_fenced(self, again: OpenAgain, seen: Seen) -> None:
        """Nothing that an older run sends is there, and it is told so."""
        with closing(again()) as older, closing(again()) as newer:
            older.open()
            older.deliver(delivery(0, ("a", None, 1)), none_refused)
            assert newer.open() == Place(1, 0)
            with refuses(Fenced):
                older.deliver(delivery(1, ("a", 1, 2)), none_refused)
            newer.deliver(delivery(1, ("a", 1, 2)), none_refused)
        assert seen() == ["1.0.0", "1.1.0"]
