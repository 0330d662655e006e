"""Python views and functions over random logs, cut and crashed at random: what they hold is what batch says."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.testing import scenario
from tests.engine.test_random_logs import STREAMS, TEN, Life, lives

PYTHON = '''
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F

import headwater as hw

GRACE = "{grace} seconds"
BOUNDS = {{"k": "STRING", "window_end": "TIMESTAMP", "n": "BIGINT"}}


@hw.function(parameters={{"v": "INT", "k": "STRING"}}, returns="BIGINT", deterministic=True)
def weight(v, k):
    """Three times the value, and ten if there is a key."""
    known = pc.if_else(pc.is_valid(k), pa.scalar(10, pa.int64()), pa.scalar(0, pa.int64()))
    return pc.add(pc.multiply(v.cast(pa.int64()), 3), known)


@hw.view(columns={{"id": "STRING", "at": "TIMESTAMP", "s": "BIGINT"}}, grace=GRACE, horizon="5 seconds")
def recent(u):
    last = Window.partitionBy("k").orderBy(F.unix_micros("at")).rangeBetween(-5_000_000, 0)
    return u.select("id", "at", F.sum("v").over(last).alias("s"))


@hw.view(columns=BOUNDS, time="window_end", key=["k", "window_end"], grace=GRACE, horizon="10 seconds", emit="changes")
def hopping(a):
    windows = hw.hop(a, size="10 seconds", slide="5 seconds").where("v <> 2")
    return windows.groupBy("k", "window_end").agg(F.count(F.lit(1)).alias("n"))


@hw.view(columns=BOUNDS, time="window_end", grace=GRACE, horizon="10 minutes")
def sessions(u):
    return hw.session(u, gap="4 seconds", by="k").groupBy("k", "window_end").agg(F.count(F.lit(1)).alias("n"))


@hw.view(
    columns={{"id": "STRING", "until": "TIMESTAMP", "n": "BIGINT"}}, time="until", grace=GRACE, horizon="3 seconds"
)
def partners(a, b):
    until = a.select("id", "k", "at", (F.col("at") + F.expr("INTERVAL 3 SECONDS")).alias("until"))
    other = b.select(F.col("k").alias("other"), F.col("at").alias("then"))
    near = (F.col("k") == F.col("other")) & F.col("then").between(F.col("at"), F.col("until"))
    return until.join(other, near, "left").groupBy("id", "until").agg(F.count("then").alias("n"))
'''
SQL = f"""{STREAMS}
CREATE MATERIALIZED VIEW weighed AS SELECT id, weight(v, k) AS w FROM u WHERE weight(v, k) > 5;
CREATE MATERIALIZED VIEW weights WITH (grace = '{{grace}} seconds') AS
SELECT weight(v, k) AS w, window_end, sum(weight(v, 'x')) AS s FROM {TEN.format("a")} GROUP BY weight(v, k), window_end;
"""


VIEWS = ("recent", "hopping", "sessions", "partners", "weighed", "weights")


@settings(max_examples=max(2, settings.default.max_examples // 50), suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(st.sampled_from(VIEWS), min_size=2, max_size=2, unique=True),
    grace=st.sampled_from([0, 2, 7]),
    lives=lives(),
)
def test_any_batching_and_any_crash_give_the_rows_of_batch(
    spark: object, names: list[str], grace: int, lives: list[Life]
) -> None:
    assert spark
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "project.sql").write_text(SQL.format(grace=grace), encoding="utf-8")
        (folder / "views.py").write_text(PYTHON.format(grace=grace), encoding="utf-8")
        with scenario(folder) as found:
            for life in lives:
                found.feed(life.script)
                if life.crash is not None:
                    with suppress(AssertionError):  # the run may be over before
                        found.crash(*names, at=life.crash, per_batch=life.per_batch)
                found.run(*names, per_batch=life.per_batch)
            for name in names:
                verified = found.project.verify(name)
                assert verified.identical, verified
