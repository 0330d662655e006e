"""Computing a view over 5M bids at once, as `verify` and replays do, against plain Spark batch on the same files.

Both sides end with the whole answer in Arrow. The first answers are compared row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

import headwater as hw
from bench.duel import Attempt, Duel, run
from bench.nexmark import QUESTIONS, SCHEMA, Data, Question
from headwater.engine.batch import batch_rows


@dataclass(frozen=True)
class Sides:
    """Both ways to the answer to a question."""

    spark: Any
    data: Data
    question: Question

    @cached_property
    def project(self) -> hw.Project:
        """A project with the question as a view."""
        return self.data.project(f"CREATE MATERIALIZED VIEW v AS {self.question.sql};")

    def ours(self) -> pa.Table:
        """The view's rows over the whole log."""
        log = self.project._logs.of("bids")
        return batch_rows(self.spark, self.project.plan().view("v"), {"bids": log}, {"bids": log.head})

    def peer(self) -> pa.Table:
        """The same as anyone would write it."""
        return self.question.plain(self.spark.read.schema(SCHEMA).parquet(str(self.data.files))).toArrow()

    def compare(self) -> None:
        """Fail unless both give the same rows."""
        ours = self.ours()
        peer = self.peer().rename_columns(ours.column_names).cast(ours.schema)
        order = [(name, "ascending") for name in ours.column_names]
        if not ours.sort_by(order).equals(peer.sort_by(order)):
            raise SystemExit(f"{self.question.name}: Headwater and plain Spark gave different rows")


def attempt(answer: Callable[[], pa.Table]) -> Attempt:
    """An attempt that keeps the rows until they are counted."""
    found: list[pa.Table] = []
    return Attempt(lambda: found.append(answer()), lambda: int(found[0].num_rows))


def duels(data: Data, spark: Any) -> list[Duel]:
    """Every question."""
    asked = [Sides(spark, data, question) for question in QUESTIONS]
    for sides in asked:
        sides.compare()
    return [
        Duel(
            sides.question.name,
            sides.question.about,
            lambda sides=sides: attempt(sides.ours),
            lambda sides=sides: attempt(sides.peer),
        )
        for sides in asked
    ]


if __name__ == "__main__":
    run("replay", duels)
