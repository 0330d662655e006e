"""Once per id within a span: three senders deliver the same events, each with times and an order of its own.

Ours is a view of a stream with `unique = 'id', within = '24 hours'`, caught up from the first commit to the head, which
shows each event once: the one that came first in the log. The peer is Spark's `dropDuplicatesWithinWatermark` over the
same Parquet files, ending in Arrow; which of the copies it takes depends on its batches. Both end with as many rows.

    python -m bench.within [EVENTS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import headwater as hw
from bench.duel import ROUNDS, Attempt
from bench.effort import Effort, effort_of, median
from headwater.engine.session import open_session

EVENTS, SENDERS, COMMIT = 1_000_000, 3, 100_000
SECOND = 1_000_000
START = 1_767_225_600 * SECOND  # 2026-01-01
DECLARED = """
CREATE STREAM events (id STRING, sender INT, amount BIGINT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '30' SECOND) WITH (unique = 'id', within = '24 hours');
"""
VIEW = "CREATE MATERIALIZED VIEW taken WITH (emit = 'final') AS SELECT id, sender, amount, at FROM events;"


def deliver(folder: Path, events: int) -> None:
    """Append what the senders deliver, mixed; a copy comes within twenty seconds of its event."""
    chosen = np.random.default_rng(7)
    ids = np.repeat(np.arange(events), SENDERS)
    at = START + ids * 100 + chosen.integers(0, 20 * SECOND, len(ids))
    order = np.argsort(at, kind="stable")
    ids, at, senders = ids[order], at[order], np.tile(np.arange(SENDERS), events)[order]
    with project_of(folder, "") as project:
        for first in range(0, len(ids), COMMIT):
            part = slice(first, first + COMMIT)
            names = pa.array(ids[part]).cast(pa.string())
            rows = {"id": names, "sender": pa.array(senders[part]).cast(pa.int32()), "amount": ids[part] % 977}
            project.append("events", pa.table({**rows, "at": pa.array(at[part]).cast(pa.timestamp("us", "UTC"))}))


def project_of(folder: Path, view: str) -> hw.Project:
    """A new project that reads the events, with one view or none."""
    home = Path(tempfile.mkdtemp(prefix="project-", dir=folder))
    (home / "headwater.toml").write_text(f'name = "bench"\ndata = "{folder / "data"}"\n')
    (home / "events.sql").write_text(DECLARED + view)
    return hw.open(home)


def ours(folder: Path) -> Attempt:
    """The view, from the first commit to the head."""
    project = project_of(folder, VIEW)
    return Attempt(project.catch_up, lambda: int(project.query("SELECT count(*) AS n FROM taken")["n"][0].as_py()))


def peer(folder: Path, spark: Any) -> Attempt:
    """Spark's own operator, in one stream that ends."""
    taken: list[pa.Table] = []
    schema = "id STRING, sender INT, amount BIGINT, at TIMESTAMP"
    rows = spark.readStream.name("events").schema(schema).parquet(str(folder / "data" / "log" / "events"))
    once = rows.withWatermark("at", "24 hours").dropDuplicatesWithinWatermark(["id"])
    place = tempfile.mkdtemp(prefix="checkpoint-", dir=folder)

    def work() -> None:
        query = once.writeStream.option("checkpointLocation", place).trigger(availableNow=True)
        query.foreachBatch(lambda found, _: taken.append(found.toArrow())).start().awaitTermination()

    return Attempt(work, lambda: sum(found.num_rows for found in taken))


def fought(folder: Path, spark: Any, events: int) -> tuple[Effort, Effort]:
    """What it costs each side, in turns."""
    spent = []
    for _ in range(ROUNDS):
        sides = ours(folder), peer(folder, spark)
        spent.append([effort_of(side.work) for side in sides])
        for side in sides:
            if (found := side.rows()) != events:
                raise SystemExit(f"{found:,} rows in place of {events:,}")
    mine, theirs = zip(*spent[1:], strict=True)
    return median(mine), median(theirs)


def main() -> None:
    """Deliver, and print Markdown."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        deliver(folder, events)
        spark = open_session("bench", {}, folder / "spark")
        mine, theirs = fought(folder, spark, events)
    rows = SENDERS * events
    print(f"{SENDERS} senders of {events:,} ids, medians of {ROUNDS - 1} runs of each side in turns.\n")
    print("| | Headwater, events/s | dropDuplicatesWithinWatermark, events/s | ratio | ratio by processor time |")
    print("|---|---|---|---|---|")
    ratios = f"{theirs.clock / mine.clock:.0%} | {theirs.worked / mine.worked:.0%}"
    print(f"| once per id within 24 hours | {rows / mine.clock:,.0f} | {rows / theirs.clock:,.0f} | {ratios} |")


if __name__ == "__main__":
    main()
