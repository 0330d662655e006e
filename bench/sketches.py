"""Sketches: how far their estimates are from the truth, and from each other when the rows are cut differently.

    python bench/sketches.py [GROUPS]     a row of the table in docs/reference/sketches.md for each aggregate

Groups have 10, 30, 100, … distinct values, each of them three times. Every aggregate is computed twice: over one
partition, and over sixteen in another order, whose parts are merged. Errors are the greatest over all groups.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.engine.session import open_session

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
LEAST = 10_000
"""How many values a group must have for its ranks to be measured."""


@dataclass(frozen=True)
class Sketch:
    """An aggregate over `v`: its estimate in SQL, its bytes, the truth, and what its error is measured in."""

    name: str
    estimate: str
    truth: str
    bound: str
    unit: str = "of the value"
    bytes: str | None = None


def quantiles(value: str) -> str:
    """The quantiles that an expression gives, as shares of the values: these are 0 … n − 1, equally often."""
    asked = f"array({', '.join(map(str, QUANTILES))})"
    return f"transform({value.format(asked)}, found -> found / max(n))"


EXACT = quantiles("percentile(v, {})")
SKETCHES = (
    Sketch("approx_count_distinct(v)", "approx_count_distinct(v)", "max(n)", "5% (one σ)"),
    Sketch("approx_count_distinct(v, 0.01)", "approx_count_distinct(v, 0.01)", "max(n)", "1% (one σ)"),
    Sketch(
        "hll_sketch_agg(v)",
        "hll_sketch_estimate(hll_sketch_agg(v))",
        "max(n)",
        "4.9% (three σ)",
        bytes="length(hll_sketch_agg(v))",
    ),
    Sketch(
        "hll_sketch_agg(v, 16)",
        "hll_sketch_estimate(hll_sketch_agg(v, 16))",
        "max(n)",
        "1.2% (three σ)",
        bytes="length(hll_sketch_agg(v, 16))",
    ),
    Sketch(
        "theta_sketch_agg(v)",
        "theta_sketch_estimate(theta_sketch_agg(v))",
        "max(n)",
        "4.7% (three σ)",
        bytes="length(theta_sketch_agg(v))",
    ),
    Sketch(
        "theta_sketch_agg(v, 16)",
        "theta_sketch_estimate(theta_sketch_agg(v, 16))",
        "max(n)",
        "1.2% (three σ)",
        bytes="length(theta_sketch_agg(v, 16))",
    ),
    Sketch(
        "kll_sketch_agg_bigint(v)",
        quantiles("kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(v), {})"),
        EXACT,
        "1.65% (99%)",
        "of the rank",
        "length(kll_sketch_agg_bigint(v))",
    ),
    Sketch("approx_percentile(v, …)", quantiles("approx_percentile(v, {})"), EXACT, "0.01% or a value", "of the rank"),
    Sketch("percentile(v, …)", EXACT, EXACT, "exact", ""),
)


def rows(spark: SparkSession, groups: int) -> DataFrame:
    """Groups of 10, 30, 100, … distinct values, each of them three times."""
    sizes = [int(10 * 10 ** (number / 2)) for number in range(groups)]
    per_size = [
        spark.range(3 * size).selectExpr(f"{number} AS g", f"id % {size} AS v", f"{size} AS n")
        for number, size in enumerate(sizes)
    ]
    whole = per_size[0]
    for part in per_size[1:]:
        whole = whole.unionAll(part)
    return whole


def computed(frame: DataFrame, sketch: Sketch) -> dict[int, Row]:
    length = sketch.bytes or "CAST(NULL AS INT)"
    found = frame.groupBy("g").agg(
        F.expr(sketch.estimate).alias("estimate"),
        F.expr(sketch.truth).alias("truth"),
        F.expr(length).alias("bytes"),
        F.max("n").alias("n"),
    )
    return {row.g: row for row in found.collect()}


def distance(one: object, other: object, relative: bool) -> float:
    """How far two values, or two lists of values, are apart."""
    if isinstance(one, list) and isinstance(other, list):
        return max(distance(first, second, relative) for first, second in zip(one, other, strict=True))
    first, second = float(str(one)), float(str(other))
    return abs(first - second) / (max(abs(second), 1e-300) if relative else 1.0)


def measured(whole: DataFrame, sketch: Sketch) -> str:
    once = computed(whole.coalesce(1), sketch)
    again = computed(whole.repartition(16, F.hash("v", "g")).sortWithinPartitions(F.desc("v")), sketch)
    relative = sketch.unit == "of the value"
    known = [row for row in once.values() if relative or row.n >= LEAST]  # of few values each has a great share
    error = max(distance(row.estimate, row.truth, relative) for row in known)
    apart = max(distance(row.estimate, again[row.g].estimate, relative) for row in known)
    size = max((row.bytes for row in once.values() if row.bytes), default=None)
    told = "nothing" if apart == 0 else f"{100 * apart:.2g}%"
    held = f"{size:,}" if size else "–"
    bound = f"{sketch.bound} {sketch.unit}".strip()
    return f"| `{sketch.name}` | {bound} | {100 * error:.2g}% | {told} | {held} |"


def main() -> None:
    groups = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as home:
        spark = open_session("sketches", {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "4"}, Path(home))
        whole = rows(spark, groups).cache()
        print("| aggregate | bound | greatest error | two executions differ by | bytes |")
        print("|---|---|---|---|---|")
        for sketch in SKETCHES:
            print(measured(whole, sketch), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
