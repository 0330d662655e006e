"""Catching up with 5M bids: a view, in SQLite at the end, against plain Spark Structured Streaming on the same files.

Ours is the whole way: `project.catch_up()` from the first commit to the head, rows, ledger, changelog and position
written in one transaction for each micro-batch. Plain Spark has the same session, the same rows in a micro-batch, its
own watermark on the event time, and hands each batch to Python as Arrow, where it is counted and forgotten. Where a
view emits its final rows, Spark appends; where it emits changes, Spark updates.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bench.duel import Attempt, Duel, run
from bench.nexmark import COMMIT, QUESTIONS, SCHEMA, Data, Question

COMMITS = 10
"""Commits, and so files, in a micro-batch."""
_CLOSING = "spark.sql.streaming.noDataMicroBatches.enabled"
LIMITS: Mapping[str, str] = {"max_rows": str(COMMITS * COMMIT)}


def catch_up(data: Data, question: Question, emit: str, options: Mapping[str, str] = LIMITS) -> Attempt:
    """Build the view from the start of the log."""
    clause = f" WITH (emit = '{emit}')" if question.windowed else ""
    project = data.project(f"CREATE MATERIALIZED VIEW v{clause} AS {question.sql};")

    def work() -> None:
        (done,) = project.catch_up(options=options)
        if done.error:
            raise done.error

    def rows() -> int:
        with project:
            return int(project.query("SELECT count(*) AS n FROM v")["n"][0].as_py())

    return Attempt(work, rows)


def stream(spark: Any, data: Data, question: Question, emit: str) -> Attempt:
    """The same as anyone would write it."""
    source = spark.readStream.name("bids").schema(SCHEMA).option("maxFilesPerTrigger", COMMITS)
    answer = question.plain(source.parquet(str(data.files)).withWatermark("at", "5 seconds"))
    batches: list[pa.Table] = []

    def work() -> None:
        spark.conf.set(_CLOSING, "true")  # without ticks nothing else closes the last windows
        query = (
            answer.writeStream.outputMode("append" if emit == "final" else "update")
            .option("checkpointLocation", tempfile.mkdtemp(prefix="checkpoint-", dir=data.folder))
            .trigger(availableNow=True)
            .foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
            .start()
        )
        query.awaitTermination()
        spark.conf.set(_CLOSING, "false")

    def rows() -> int:
        found = pa.concat_tables(batches)
        keys = [name for name in found.column_names if name in ("auction", "bidder", "start", "end")]
        return int(found.num_rows if emit == "final" else found.group_by(keys).aggregate([]).num_rows)

    return Attempt(work, rows)


def duels(data: Data, spark: Any) -> list[Duel]:
    """Every question with final rows, and two of them with changes."""
    asked = [(question, "final") for question in QUESTIONS]
    asked += [(question, "changes") for question in QUESTIONS if question.name in ("q7", "q12")]
    return [
        Duel(
            f"{question.name}{', changes' if emit == 'changes' else ''}",
            question.about,
            lambda question=question, emit=emit: catch_up(data, question, emit),
            lambda question=question, emit=emit: stream(spark, data, question, emit),
        )
        for question, emit in asked
    ]


if __name__ == "__main__":
    run("live", duels)
