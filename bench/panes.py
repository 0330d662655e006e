"""Windows that overlap: HOP views caught up from the start of the log, against plain Spark Structured Streaming.

Both sides are those of `bench.live`. Of a HOP of a minute by seconds each bid is in 60 windows: plain Spark copies it
into all of them, Headwater aggregates bids by second and combines windows of that. A window of many panes should cost
little more than one of few: the same question is asked with windows of 5, 60 and 1,440 seconds (a day has 1,440
minutes).
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from bench.duel import Duel, prepared_bench
from bench.effort import Effort, effort_of, median
from bench.live import catch_up, stream
from bench.nexmark import QUESTIONS, Data, Question

BIDS = 1_000_000
SIZES = (5, 60, 1440)
ROUNDS = 4
"""How often each size is asked for; the first time warms up and isn't counted."""


def hop(size: int) -> Question:
    """Every second: bids, their sum and the highest one of each of 97 shelves of auctions in the last seconds."""
    window = f"HOP(TABLE bids, DESCRIPTOR(at), INTERVAL '1' SECOND, INTERVAL '{size}' SECOND)"
    keys = "auction % 97 AS shelf, window_start, window_end"
    values = "count(*) AS n, sum(price) AS total, max(price) AS highest"
    return Question(
        f"{size}/1",
        f"every second: bids of each of 97 shelves in the last {size} s",
        f"SELECT {keys}, {values} FROM {window} GROUP BY auction % 97, window_start, window_end",
        lambda bids: (
            bids.groupBy(F.expr("auction % 97 AS shelf"), F.window("at", f"{size} seconds", "1 second"))
            .agg(F.count("*").alias("n"), F.sum("price").alias("total"), F.max("price").alias("highest"))
            .select("shelf", "window.start", "window.end", "n", "total", "highest")
        ),
    )


def duels(data: Data, spark: Any) -> list[Duel]:
    """Windows that overlap 60 times, and 5 times."""
    few = next(question for question in QUESTIONS if question.name == "q5")
    return [
        Duel(
            question.name,
            question.about,
            lambda question=question: catch_up(data, question, "final"),
            lambda question=question: stream(spark, data, question, "final"),
        )
        for question in (hop(60), few)
    ]


def main() -> None:
    """Run both and print Markdown."""
    with prepared_bench(BIDS) as bench:
        bench.tell("panes", duels(bench.data, bench.spark))
        costs: dict[int, Effort] = {}
        for size, done in bench.each("sizes", SIZES):
            spent = [effort_of(catch_up(bench.data, hop(size), "final").work) for _ in range(ROUNDS)]
            costs[size] = median(spent[1:])
            done()
        print("\n| panes in a window | Headwater, events/s | cost to that of 5 |")
        print("|---|---|---|")
        for size, effort in costs.items():
            print(f"| {size:,} | {bench.data.rows / effort.clock:,.0f} | {effort.clock / costs[SIZES[0]].clock:.2f}× |")


if __name__ == "__main__":
    main()
