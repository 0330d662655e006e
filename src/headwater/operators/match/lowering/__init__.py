"""Match, lowered: Spark computes the columns that conditions read, the machine finds matches, Spark their measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from headwater.model.pattern import RowsPerMatch
from headwater.operators import Match, Ordering
from headwater.operators.lowering.columns import columns_of, named_column, partition_by
from headwater.operators.lowering.ledger import Rows, observed
from headwater.operators.lowering.stamp import BEHIND, MARK, POSITION
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.operators.match.automaton import Going
from headwater.operators.match.lowering.measures import measured
from headwater.operators.match.matching import (
    COME_TO,
    DECIDED,
    EXCLUDED,
    FIRST,
    NUMBER,
    PLACE,
    VARIABLE,
    Matching,
    consumed_in,
)
from headwater.operators.match.program import program_of
from headwater.operators.match.stage import Neighbour

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


@lowered.register
def _(stage: Match, lowering: Lowering) -> Rows:
    rows = _with_columns(stage, lowering.entered(stage.input).frame)
    matching = matching_of(stage)
    upto = _micros(lowering.settled_at)
    if lowering.searched is None:
        frame = _searching(stage, rows, lambda batches, schema: matching.stream(batches, schema, upto))
        return Rows(measured(stage, frame))
    return Rows(measured(stage, _searched(stage, rows, matching, lowering)))


def matching_of(stage: Match) -> Matching:
    """The pattern of a stage over rows with its columns."""
    numbers = {name: number for number, name in enumerate(stage.variables)}
    columns = {condition.variable: condition.column for condition in stage.conditions}
    return Matching(
        keys=tuple(key.reads[0] for key in stage.partition),
        time=stage.order[0].expression.reads[0],
        mark=MARK,
        position=POSITION,
        program=program_of(stage.step, stage.variables),
        truths=tuple(columns.get(name) for name in stage.variables),
        within=stage.within // _MICROSECOND if stage.within is not None else None,
        ahead=stage.ahead // _MICROSECOND,
        going=Going(stage.skip.to, frozenset(numbers[name] for name in stage.skip_to), stage.skip.variable or ""),
        conditions={numbers[each.variable]: each.so_far for each in stage.conditions if each.so_far is not None},
        with_unmatched=stage.rows is RowsPerMatch.ALL_WITH_UNMATCHED,
        ending=stage.ends,
        chained=stage.is_chained,
    )


def _with_columns(stage: Match, frame: DataFrame) -> DataFrame:
    """The rows with what conditions and measures read of each."""
    beside = [F.expr(_beside(stage, each)).alias(each.name) for each in stage.neighbours]
    behind = [BEHIND] if BEHIND in frame.columns else []
    rows = frame.select(*columns_of(stage.input), POSITION, MARK, *behind, *beside)
    return rows.select("*", *(named_column(named) for named in stage.computed)) if stage.computed else rows


def _beside(stage: Match, each: Neighbour) -> str:
    """The value of a neighbour, in Spark SQL; in a partition without an end of one that is near."""
    function = f"{'lag' if each.offset < 0 else 'lead'}({{}}, {abs(each.offset)})"
    order = ", ".join([*map(str, stage.order), POSITION])
    over = f" OVER ({partition_by(stage.partition)}ORDER BY {order})"
    value = function.format(each.expression.sql) + over
    if stage.ends:
        return value
    time = stage.order[0].expression.sql
    distance = f"abs(unix_micros({function.format(time)}{over}) - unix_micros({time}))"
    return f"CASE WHEN {distance} < {stage.span // _MICROSECOND} THEN {value} END"


Search = Callable[[Iterator[pa.RecordBatch], pa.Schema], Iterator[pa.RecordBatch]]


def _searching(stage: Match, rows: DataFrame, search: Search) -> DataFrame:
    """The rows that come out of the search, by all cores."""
    keys = [F.expr(key.sql) for key in stage.partition]
    parted = rows.repartition(*keys) if keys else rows.repartition(1)
    kinds = _kinds(rows)
    schema = to_arrow_schema(kinds, timezone="UTC")

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return search(batches, schema)

    return _sorted(stage, parted).mapInArrow(over, kinds)


def _searched(stage: Match, rows: DataFrame, matching: Matching, lowering: Lowering) -> DataFrame:
    """The rows that come out of the search of a slice, which goes on from where the one before has come to."""
    assert lowering.searched is not None
    searched = lowering.searched(stage)
    upto, since = _micros(lowering.settled_at), _micros(lowering.began_at)
    before = searched.before() if stage.is_chained else None
    consumed = consumed_in(before, matching.keys, matching.time) if before is not None else None
    if searched.is_small:
        query = _sorted(stage, rows)
        searched_rows = matching.matched(query.toArrow(), upto, since, consumed)
    else:
        query = _searching(stage, rows, lambda batches, schema: matching.stream(batches, schema, upto, since, consumed))
        searched_rows = query.toArrow()
    if lowering.tally is not None:
        lowering.tally.known |= observed(query._jdf.queryExecution())
    come_to = pc.equal(searched_rows[PLACE], COME_TO)
    if stage.is_chained:
        kept = searched_rows.filter(come_to).select(list(dict.fromkeys([*matching.keys, matching.time, FIRST, NUMBER])))
        searched.keep(_with_carried(kept, before, matching, upto))
    matches = searched_rows.filter(pc.invert(come_to)).combine_chunks()
    return rows.sparkSession.createDataFrame(matches if matches.num_rows else [], _kinds(rows))


def _with_carried(kept: pa.Table, before: pa.Table | None, matching: Matching, upto: int | None) -> pa.Table:
    """The places that the search has come to; where no row of a partition was looked at, that is as it was."""
    kept = kept.replace_schema_metadata(None)
    if before is None or not before.num_rows or upto is None:
        return kept
    before = before.cast(kept.schema)
    now = consumed_in(kept, matching.keys, matching.time)
    then = consumed_in(before, matching.keys, matching.time)
    open_since = upto - matching.sought
    rest = [key not in now and each.time > open_since for key, each in then.items()]
    return pa.concat_tables([kept, before.filter(pa.array(rest, pa.bool_()))])


def _sorted(stage: Match, rows: DataFrame) -> DataFrame:
    keys = [F.expr(key.sql) for key in stage.partition]
    return rows.sortWithinPartitions(*keys, *map(_term, stage.order), POSITION)


def _term(term: Ordering) -> Column:
    column = F.expr(term.expression.sql)
    if term.descending:
        return column.desc_nulls_first() if term.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if term.nulls_first else column.asc_nulls_last()


def _kinds(rows: DataFrame) -> StructType:
    """The columns of the rows that come out."""
    own = [StructField(each.name, each.dataType) for each in rows.schema.fields]
    position = rows.schema[POSITION].dataType
    added = [
        StructField(FIRST, position),
        StructField(PLACE, IntegerType()),
        StructField(VARIABLE, StringType()),
        StructField(EXCLUDED, BooleanType()),
        StructField(NUMBER, LongType()),
        StructField(DECIDED, TimestampType()),
    ]
    return StructType([*own, *added])


def _micros(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MICROSECOND
