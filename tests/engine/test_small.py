"""What a small step of a settled view reads: rows from memory, of the keys that its slice has; nothing if too many."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from headwater import model, sql
from headwater.engine import small
from headwater.engine.small import Reach, SmallSlices
from headwater.log import TopicLog, open_storage
from headwater.log.columns import KeptColumns
from headwater.log.maintenance import compact
from headwater.plan import Plan, check

START = datetime(2026, 1, 1, tzinfo=UTC)
RECENT = """
SELECT id, sum(n) OVER (PARTITION BY {} ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s,
  at FROM sales
"""
Row = tuple[str, str | None, float]
"""The id, the shop and the minute of a sale."""


def plan(query: str, options: str = "key = 'shop'") -> Plan:
    text = f"""
    CREATE STREAM sales (id STRING, shop STRING, price FLOAT, n INT, at TIMESTAMP NOT NULL,
      WATERMARK FOR at AS at - INTERVAL '1' SECOND) WITH ({options});
    CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS {query};
    """
    project = model.Project(name="shop", declarations=sql.parse_declarations(text, "views.sql").declarations)
    return check(project).checked()


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


@dataclass
class Sales:
    """A view of sales, and the log that it reads."""

    plan: Plan
    log: TopicLog
    kept: KeptColumns

    def append(self, *rows: Row) -> None:
        values = [{"id": name, "shop": shop, "price": 1.5, "n": 1, "at": at(minute)} for name, shop, minute in rows]
        table = pa.Table.from_pylist(values, schema=self.log.topic.schema)
        self.log.append(table.append_column("_id", table["id"]) if self.plan.view("v").scans[0].unique else table)

    def read(self, *, after: int, last: int, since: float, near: float) -> list[str] | None:
        """The ids of the rows that a slice reads."""
        view = self.plan.view("v")
        slices = SmallSlices(view, {"sales": self.log}, self.kept)
        found = slices.read({"sales": Reach(after, last, at(since), at(near))})
        return None if found is None else found[view.scans[0]]["id"].to_pylist()


def sales(*commits: Sequence[Row], query: str = RECENT.format("shop"), options: str = "key = 'shop'") -> Sales:
    planned = plan(query, options)
    storage = open_storage(f"memory://{uuid.uuid4()}")
    found = Sales(planned, TopicLog(planned.topics["sales"], storage, now=lambda: START), KeptColumns())
    for rows in commits:
        found.append(*rows)
    return found


def test_a_slice_has_what_is_new_and_what_is_not_too_far_back() -> None:
    found = sales([("1", "a", 0), ("2", "b", 30)], [("3", "a", 61)], [("4", "c", 5), ("5", "a", 62)], [("6", "a", 63)])
    assert found.read(after=2, last=3, since=10, near=60) == ["2", "3", "4", "5"]


def test_rows_that_a_slice_only_looks_back_on_are_those_of_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "FEW", 4)
    history = [("1", "a", 1), ("2", "b", 2), ("3", None, 3), ("4", "c", 4), ("5", "a", 5)]
    found = sales(history, [("6", "a", 61), ("7", None, 61)])
    assert found.read(after=1, last=2, since=0, near=60) is None  # 1, 3, 5, 6, 7
    monkeypatch.setattr(small, "FEW", 5)
    assert found.read(after=1, last=2, since=0, near=60) == ["1", "3", "5", "6", "7"]


def test_a_copy_of_an_event_is_read_whatever_its_key_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "FEW", 4)
    history = [("1", "a", 1), ("2", "b", 2), ("3", "c", 3), ("4", "d", 61)]
    found = sales(history, [("4", "a", 61)], options="unique = 'id'")
    assert found.read(after=1, last=2, since=0, near=60) is None  # the files that are near have five rows
    monkeypatch.setattr(small, "FEW", 5)
    assert found.read(after=1, last=2, since=0, near=60) == ["1", "2", "3", "4", "4"]
    found.append(("5", "a", 62))
    assert found.read(after=2, last=3, since=0, near=61.5) == ["1", "4", "4", "5"]


def test_what_was_compacted_meanwhile_is_read_where_it_is_now() -> None:
    found = sales([("1", "a", 1)], [("2", "b", 2)], [("3", "a", 3)])
    other = TopicLog(found.log.topic, found.log.storage, now=lambda: START + timedelta(days=30))
    before = found.log.snapshot().files
    assert compact(other) == 3
    for path in before:
        found.log.storage.delete(path)
    assert sorted(found.read(after=2, last=3, since=0, near=2) or []) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (RECENT.format("shop"), (("shop",),)),
        (RECENT.format("shop, n"), (("shop", "n"),)),
        (RECENT.format("lower(shop)"), ()),
        (RECENT.format("price"), ()),  # -0.0 is 0.0
        (RECENT.format("p").replace("FROM sales", "FROM (SELECT *, shop AS p FROM sales WHERE n > 0)"), (("shop",),)),
        (RECENT.replace("PARTITION BY {} ", ""), ()),
        (
            "SELECT window_end, id, p FROM (SELECT window_end, id, row_number() OVER"
            " (PARTITION BY window_end ORDER BY n) AS p FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE))"
            " WHERE p < 3",
            (),
        ),
    ],
)  # fmt: skip
def test_rows_matter_to_each_other_by_columns_that_the_log_has(query: str, keys: tuple[tuple[str, ...], ...]) -> None:
    step = plan(query).view("v").physical.step
    assert (step.keys if step else ()) == keys
