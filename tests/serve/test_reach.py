"""Waiting for a position: a view that reads through another one is there when it has what the other published."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, NotReached
from headwater.operate.derive import Derived
from headwater.project import Project
from headwater.serve.reach import Positions, Way
from headwater.serve.token import LogPosition
from headwater.store import Batch, Position, Target

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SQL = """
CREATE STREAM sales (shop STRING NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE STREAM other (shop STRING NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW counts WITH (emit = 'final') AS SELECT shop, window_end, count(*) AS n
  FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW best WITH (emit = 'final') AS SELECT window_end AS until, max(n) AS most
  FROM TUMBLE(TABLE counts, DESCRIPTOR(window_end), INTERVAL '1' MINUTE) GROUP BY window_end;
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SQL)
    with hw.open(tmp_path) as opened:
        yield opened


def write(project: Project, view: str, batch: int, commits: dict[str, int], rows: list[dict[str, object]]) -> None:
    planned, store = project.plan().view(view), project.views.opened().ask.store(view)
    target = Target(view, 1, planned.columns, planned.identity, planned.emit)
    epoch = store.open(target, planned.fingerprint)
    upserts = pa.Table.from_pylist(rows, schema=target.schema)
    deletes = target.schema.empty_table().select(list(target.key))
    store.apply(target, epoch, Batch(upserts, deletes, Position(batch, tuple(commits.items()), NOON)))
    store.promote(view, 1)


def is_there(project: Project, view: str, place: LogPosition) -> bool:
    async def wait() -> bool:
        try:
            await Way(project, Positions(project), view, place).wait(timedelta(milliseconds=50))
        except NotReached:
            return False
        return True

    return asyncio.run(wait())


def test_a_view_on_a_view_is_there_once_it_has_read_what_the_other_published(project: Project) -> None:
    place = LogPosition("sales", 5)
    counts = project.plan().view("counts")
    derived = Derived(counts, project._logs.derived(counts), project.views.opened().ask.store("counts"), 1)
    derived.log.create()
    assert not is_there(project, "best", place), "nothing has been written"
    write(project, "best", 0, {"counts": 0}, [])
    write(project, "counts", 0, {"sales": 4}, [])
    assert not is_there(project, "best", place), "the other has not read the rows"
    write(project, "counts", 1, {"sales": 5}, [{"shop": "a", "window_end": NOON, "n": 3}])
    assert is_there(project, "counts", place)
    assert not is_there(project, "best", place), "the other has not published them"
    derived.begin()
    derived.publish(NOON)
    assert derived.log.head > 0
    assert not is_there(project, "best", place), "they were not read yet"
    write(project, "best", 1, {"counts": derived.log.head}, [])
    assert is_there(project, "best", place)


def test_a_topic_that_a_view_does_not_read_is_never_reached(project: Project) -> None:
    with pytest.raises(ArgumentRefused):
        Way(project, Positions(project), "best", LogPosition("other", 1))
