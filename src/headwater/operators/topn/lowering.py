"""TopN, lowered: rows are ranked in their partition, every tie decided, and the first are kept."""

from __future__ import annotations

from pyspark.sql import functions as F

from headwater.operators import Deduplicate, TopN
from headwater.operators.lowering.columns import RANK, columns_of, partition_by
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import FINAL, MARK, POSITION
from headwater.operators.lowering.trace import behind
from headwater.operators.lowering.walk import Lowering, lowered


@lowered.register
def _(stage: TopN, lowering: Lowering) -> Rows:
    return first_rows(stage, lowering)


def first_rows(stage: TopN | Deduplicate, lowering: Lowering) -> Rows:
    """The first rows of each partition."""
    rows = lowering.keyed(stage.input, stage.group_keys)
    rank = stage.rank or RANK
    if lowering.needed is not None and stage.ends:
        rows = rows.then(lowering.needed.of(stage).cut(rows.frame))
    frame = rows.frame.withColumn(rank, F.expr(_ranked(stage))).where(F.col(f"`{rank}`") <= stage.limit)
    return Rows(frame.select(*columns_of(stage), POSITION, F.col(MARK).alias(FINAL), *behind(frame)))


def _ranked(stage: TopN | Deduplicate) -> str:
    """The rank of a row in its partition, in Spark SQL."""
    order = [str(term) for term in stage.order]
    order += [POSITION] if stage.ranking == "row_number" else []
    return f"{stage.ranking}() OVER ({partition_by(stage.group_keys)}ORDER BY {', '.join(order)})"
