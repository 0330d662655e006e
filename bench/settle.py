"""Settled views caught up from the start of the log, against plain Spark batch over the whole history in one query.

Ours is the whole way: `project.catch_up()` from the first commit to the head, with rows, position, ledger and changelog
in SQLite. Plain Spark has everything at once and ends with the answer in Arrow. Both show what is final at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.duel import Duel, prepared_bench
from bench.live import catch_up
from bench.nexmark import SCHEMA, Data, Question
from bench.replay import attempt
from headwater.log.read import watermark_at

BIDS = 5_000_000


def _ranked(name: str, about: str, seconds: int, keys: str, order: str, limit: int) -> Question:
    """The first rows by an order, of each key in each window."""
    columns = "auction, bidder, price, at, window_end"
    partition = ", ".join(part for part in (keys, "window_end") if part)
    place = f"row_number() OVER (PARTITION BY {partition} ORDER BY {order}) AS place"
    window = f"TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '{seconds}' SECOND)"
    return Question(
        name,
        about,
        f"SELECT {columns}, place FROM (SELECT {columns}, {place} FROM {window}) WHERE place <= {limit}",
        lambda bids: (
            bids.withColumn("window_end", F.window("at", f"{seconds} seconds").getField("end"))
            .selectExpr(*columns.split(", "), place)
            .where(f"place <= {limit}")
        ),
    )


_FRAME = "OVER (PARTITION BY auction ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)"
QUESTIONS = (
    _ranked("top 3", "the three highest bids of every 10 s", 10, "", "price DESC, at, auction, bidder", 3),
    Question(
        "OVER",
        "each bid with the sum of the last hour's on its auction",
        f"SELECT auction, bidder, at, sum(price) {_FRAME} AS total FROM bids",
        lambda bids: bids.selectExpr("auction", "bidder", "at", f"sum(price) {_FRAME} AS total"),
    ),
    _ranked("q18", "the last bid of each bidder on each auction, by the minute", 60, "bidder, auction", "at DESC", 1),
    _ranked("q19", "the ten highest bids on each auction, by the minute", 60, "auction", "price DESC, at, bidder", 10),
)


def duels(data: Data, spark: Any) -> list[Duel]:
    """Every question."""
    log = data.project()._logs.of("bids")
    settled_at = watermark_at(log, log.head)

    def plain(question: Question) -> Callable[[], Any]:
        return lambda: _final(question, spark.read.schema(SCHEMA).parquet(str(data.files)), settled_at).toArrow()

    return [
        Duel(
            question.name,
            question.about,
            lambda question=question: catch_up(data, question, "final", {}),
            lambda question=question: attempt(plain(question)),
        )
        for question in QUESTIONS
    ]


def _final(question: Question, bids: DataFrame, settled_at: datetime) -> DataFrame:
    """The rows that are final at an instant."""
    rows = question.plain(bids)
    return rows.where(F.col("window_end" if "window_end" in rows.columns else "at") <= F.lit(settled_at))


if __name__ == "__main__":
    with prepared_bench(BIDS) as bench:
        bench.tell("settle", duels(bench.data, bench.spark))
