"""A plan whose type is wrong is noticed before anything is delivered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.engine.batch import BatchView
from headwater.engine.checkpoint import Checkpoint
from headwater.engine.live import Changes, LiveView
from headwater.engine.settle import SettleView
from headwater.engine.typed import typed
from headwater.errors import PlannedTypeDiffers
from headwater.plan import PlannedView

DECLARED = """
CREATE STREAM sales (id STRING, pieces INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW live WITH (execution = 'live') AS SELECT id, pieces + 1 AS more, at FROM sales;
CREATE MATERIALIZED VIEW settled WITH (emit = 'final') AS
SELECT id, at, count(*) OVER (
  PARTITION BY id ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW
) AS more FROM sales;
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[hw.Project]:
    """A project with a sale."""
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    (tmp_path / "sales.sql").write_text(DECLARED)
    with hw.open(tmp_path) as opened:
        opened.append("sales", {"id": "a", "pieces": 1, "at": datetime(2026, 1, 1, tzinfo=UTC)})
        yield opened


def wrong(project: hw.Project, view: str) -> PlannedView:
    """The plan of a view in which the column `more` is a text."""
    planned = project.plan().view(view)
    columns = [replace(field, type=pa.string()) if field.name == "more" else field for field in planned.root.columns]
    return replace(planned, root=replace(planned.root, columns=tuple(columns)))


def check_told(refused: pytest.ExceptionInfo[PlannedTypeDiffers], view: str, kind: str) -> None:
    """See that the error names the view, the column and both types."""
    fields = refused.value.fields
    assert (fields["view"], fields["column"], fields["planned"], fields["given"]) == (view, "more", "string", kind)
    detail = f"It was planned as STRING, and Spark gives {kind.upper()}. Nothing was delivered."
    assert refused.value.detail == detail


def test_a_live_view_does_not_start(spark: SparkSession, project: hw.Project, tmp_path: Path) -> None:
    planned, changes = wrong(project, "live"), list[Changes]()
    checkpoint = Checkpoint.of(planned, tmp_path / "checkpoint")
    logs = {"sales": project._logs.of("sales")}
    with pytest.raises(PlannedTypeDiffers) as refused:
        LiveView(planned, (), logs, checkpoint, changes.append, lambda _: None).catch_up(spark, {})
    check_told(refused, "live", "int")
    assert not changes
    assert checkpoint.last_begun() is None


def test_a_settled_view_delivers_nothing(spark: SparkSession, project: hw.Project, tmp_path: Path) -> None:
    changes = list[Changes]()
    settled = SettleView(
        wrong(project, "settled"), (), {"sales": project._logs.of("sales")}, tmp_path / "state", changes.append
    )
    with pytest.raises(PlannedTypeDiffers) as refused:
        settled.catch_up(spark, {}, None)
    check_told(refused, "settled", "bigint")
    assert not changes


def test_a_batch_gives_no_rows(spark: SparkSession, project: hw.Project) -> None:
    log = project._logs.of("sales")
    with pytest.raises(PlannedTypeDiffers) as refused:
        BatchView(wrong(project, "live"), {"sales": log}, {"sales": log.head}).rows(spark)
    check_told(refused, "live", "int")


def test_what_only_arrow_tells_apart_is_no_difference(project: hw.Project) -> None:
    instants = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": ["a"], "more": pa.array([2], pa.int32()), "at": instants})
    assert rows.schema.field("at").nullable
    assert not typed(project.plan().view("live"), rows).schema.field("at").nullable


def test_how_texts_are_compared_is_no_difference(spark: SparkSession, tmp_path: Path) -> None:
    """Live, settled and in batch, alone and inside of other types."""
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    text, rows = "id COLLATE UTF8_LCASE", "TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' HOUR)"
    (tmp_path / "sales.sql").write_text(f"""
CREATE STREAM sales (id STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW live WITH (execution = 'live') AS
SELECT {text} AS id, struct({text} AS s) AS one, at FROM sales;
CREATE MATERIALIZED VIEW settled AS
SELECT window_end, first({text}) AS id, collect_list({text}) AS some, listagg({text}, ',') AS joined
FROM {rows} GROUP BY window_start, window_end;
""")
    with hw.open(tmp_path) as project:
        times = [datetime(2026, 1, 1, 0, minute, tzinfo=UTC) for minute in range(2)]
        project.append("sales", [{"id": name, "at": at} for name, at in zip(("a", "A"), times, strict=True)])
        project.catch_up()
        live, settled = (project.query(f"SELECT * FROM {view}").to_pylist() for view in ("live", "settled"))
        assert sorted((row["id"], row["one"]["s"]) for row in live) == [("A", "A"), ("a", "a")]
        assert [(row["id"], row["some"], row["joined"]) for row in settled] == [("a", ["a", "A"], "a,A")]
        assert all(project.verify(view).identical for view in ("live", "settled"))
