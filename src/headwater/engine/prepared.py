"""Prepared plans: a physical plan of Spark that is made once, and executed again over other rows and at other instants.

To parse, analyze, optimize and plan a query takes far longer than to compute a few thousand rows. Of two steps of a
view two things differ: the rows that are given, and the instants between which the step lies. In a kept plan both are
exchanged: the node that holds given rows for one that holds others, and a literal for another. Then it is computed
where it is, as a task would compute it: Spark's operators over one partition, without a job, which would cost more than
the rows. Some Java does both (`kept_plan.java`), compiled by Spark's own compiler; it is used on the driver alone.

That is sound as long as the optimizer has looked at neither. The rules that compute given rows while a query is planned
are switched off. The instants that a plan is made with are *marks*, which stand for nothing; the plan is made once more
with other marks, in the opposite order, and is kept only if the two differ in nothing but their marks. A plan of which
that isn't true, that holds another plan inside an expression, or that is more than one task (it moves rows, or asks
Python), can't be prepared, and is made anew for each step.

`tests/engine/test_prepared.py` fails if a Spark release changes what this rests on.
"""

from __future__ import annotations

import io
import re
import struct
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.resources import files
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StructField, StructType

from headwater.engine.small import small_session
from headwater.operators.lowering.ledger import Count

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
_SETTINGS = {
    # given rows are a node of the plan, and nothing is computed of them while it is made
    "spark.sql.execution.arrow.localRelationThreshold": str(1 << 40),
    "spark.sql.optimizer.excludedRules": ",".join(
        f"{_OPTIMIZER}.{rule}"
        for rule in ("ConvertToLocalRelation", "PropagateEmptyRelation", "OptimizeOneRowRelationSubquery")
    ),
    "spark.sql.debug.maxToStringFields": str(1 << 20),  # plans are compared as they are printed
    # there is one attempt, of which the scheduler is not told
    "spark.sql.legacy.observeMetricsAggregateAllAttempts": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # to send rows around takes a job
}
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_ELSEWHERE = (".execution.exchange.", ".execution.python.")
"""The packages of operators that move rows between tasks, or out of the JVM."""
_SOME = 1000
_CLASSES = "_headwater_classes"
_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)
_NUMBERED = re.compile(r"#\d+L?|plan_id=\d+")

Instants = Mapping[str, datetime]


class PreparingSession:
    """A session in which plans are prepared, which knows what another one knows, and what is needed of its JVM.

    What is to be computed is interpreted, or `compiled`: a place for an instant is no part of the code.
    """

    def __init__(self, spark: SparkSession, *, compiled: bool = False) -> None:
        self.session = small_session(spark)
        for name, value in {**_SETTINGS, **(_COMPILED if compiled else {})}.items():
            self.session.conf.set(name, value)
        self._gateway, self._jvm = spark.sparkContext._gateway, spark._jvm
        self._classes = _compiled(self._gateway)
        methods = self._class("KeptPlan").getDeclaredMethods()
        self._gathered = next(method for method in methods if method.getName() == "gathered")
        mode = getattr(self._jvm.org.apache.spark.sql.execution, "CommandExecutionMode$")
        self._mode = getattr(mode, "MODULE$").ALL()
        self._settings = self._jvm.java.util.Properties()
        settings = self.session._jsparkSession.sessionState().conf().getAllConfs().iterator()
        while settings.hasNext():
            setting = settings.next()
            self._settings.setProperty(setting._1(), setting._2())

    def exchange(self, by: Mapping[int, int]) -> Any:
        """A rule that puts these instants into a plan, in the places of others."""
        return self._new("Exchange", self._jvm.java.util.HashMap(dict(by)))

    def kept(self, plan: Any, inputs: Sequence[Input], marks: Sequence[int]) -> Any:
        """A plan that is computed over rows, and at instants, that it is given."""
        kinds = [self._jvm.org.apache.spark.sql.types.DataType.fromJson(given.named.json()) for given in inputs]
        lists = [self._jvm.java.util.ArrayList(each) for each in ([given.name for given in inputs], kinds, marks)]
        return self._new("KeptPlan", self.session._jsparkSession, plan, *lists, self._settings)

    def _new(self, name: str, *arguments: Any) -> Any:
        return self._class(name).getConstructors()[0].newInstance(self._array(*arguments))

    def _array(self, *values: Any) -> Any:
        array = self._gateway.new_array(self._jvm.java.lang.Object, len(values))
        for number, value in enumerate(values):
            array[number] = value
        return array

    def _class(self, name: str) -> Any:
        return self._classes.loadClass(f"headwater.{name}")

    def planned(self, logical: Any) -> Any:
        """A physical plan of an analyzed query, with its rows in one partition as far as they can be."""
        plan = self.session._jsparkSession.sessionState().executePlan(logical, self._mode).executedPlan()
        return self._gathered.invoke(None, self._array(self.session._jsparkSession, plan))


_compiling = threading.Lock()


def _compiled(gateway: Any) -> Any:
    """The classes of `kept_plan.java`, compiled once for a JVM."""
    with _compiling:
        if _CLASSES not in vars(gateway):  # what it doesn't have it would ask the JVM for
            compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
            compiler.cook(files("headwater.engine").joinpath("kept_plan.java").read_text(encoding="utf-8"))
            setattr(gateway, _CLASSES, compiler.getClassLoader())
        return vars(gateway)[_CLASSES]


@dataclass(frozen=True)
class Input:
    """Rows that a plan is given: their name, which no column has, and their columns as Arrow and Spark have them.

    In a plan they are known by the name of their first column, in which nothing is.
    """

    name: str
    columns: pa.Schema
    kinds: StructType

    @cached_property
    def named(self) -> StructType:
        """The columns, behind the one that has the name."""
        return StructType([StructField(self.name, BooleanType()), *self.kinds])

    @cached_property
    def _as_sent(self) -> pa.Schema:
        return to_arrow_schema(self.named, timezone="UTC")

    def _filled(self, rows: pa.Table) -> pa.Table:
        nothing = pa.nulls(rows.num_rows, pa.bool_())
        return rows.add_column(0, pa.field(self.name, pa.bool_()), nothing).cast(self._as_sent)

    def frame(self, own: PreparingSession) -> DataFrame:
        """Rows that stand for others while a plan is made: some, so that the optimizer takes them for rows."""
        rows = pa.table([pa.nulls(_SOME, field.type) for field in self.columns], names=self.columns.names)
        return own.session.createDataFrame(self._filled(rows), self.named)

    def sent(self, rows: pa.Table) -> bytes:
        """Rows as one Arrow batch."""
        batches = self._filled(rows).combine_chunks().to_batches()
        batch = batches[0] if batches else pa.RecordBatch.from_pylist([], self._as_sent)
        return bytes(batch.serialize())


class Frames(dict[str, DataFrame]):
    """Rows that stand for others while a plan is made, by their names; more can be added to them."""

    def __init__(self, own: PreparingSession, inputs: Sequence[Input]) -> None:
        super().__init__()
        self._own = own
        self.inputs: list[Input] = []
        for given in inputs:
            self.add(given)

    def add(self, given: Input) -> DataFrame:
        """Let the plan be given these rows too."""
        self.inputs.append(given)
        self[given.name] = given.frame(self._own)
        return self[given.name]


Make = Callable[[Frames, Instants], DataFrame]
"""Makes a query of given rows and of instants, each by its name."""


@dataclass(frozen=True)
class Prepared:
    """A kept plan: what it is given, by names, and the columns that it gives."""

    inputs: Sequence[Input]
    instants: Sequence[str]
    schema: pa.Schema
    _kept: Any

    def run(self, tables: Mapping[str, pa.Table], instants: Instants) -> tuple[pa.Table, dict[str, Count]]:
        """The rows that the plan gives for these rows and instants, and what the counts in it saw."""
        given = [struct.pack(">q", _micros(instants[name])) for name in self.instants]
        for batch in (each.sent(tables[each.name]) for each in self.inputs):
            given += [struct.pack(">i", len(batch)), batch]
        told = io.BytesIO(b64decode(self._kept.run(b"".join(given))))
        counts = dict(_count(told) for _ in range(_number(told)))
        stream = pa.ipc.open_stream(pa.py_buffer(bytes(self.schema.serialize()) + told.read()))
        return stream.read_all().combine_chunks(), counts


def _number(told: io.BytesIO) -> int:
    return int.from_bytes(told.read(4))


def _count(told: io.BytesIO) -> tuple[str, Count]:
    """The name of a count, and what it saw."""
    name = told.read(int.from_bytes(told.read(2))).decode()
    numbers = [int.from_bytes(told.read(8)) for _ in range(_number(told))]
    return name, Count(numbers[0], numbers[-1])


class _Mark(datetime):
    """An instant of which nothing can be computed: what follows from it would not be exchanged with it."""

    def _refuse(self, _: object) -> Any:
        raise _NotExchangeable

    __add__ = __radd__ = __sub__ = __rsub__ = _refuse


_FIRST_MARK = _Mark(2222, 2, 22, 2, 2, 22, 222_222, tzinfo=UTC)


class _NotExchangeable(Exception):
    """Something was computed of an instant before it was put into a query."""


def prepare(own: PreparingSession, inputs: Sequence[Input], instants: Sequence[str], make: Make) -> Prepared | None:
    """Make a plan and keep it; None if it depends on more than the rows and the instants that are exchanged in it."""
    frames = Frames(own, inputs)
    first = [_FIRST_MARK.replace(year=_FIRST_MARK.year + number) for number in range(len(instants))]
    last = [mark.replace(microsecond=333_333) for mark in reversed(first)]
    marks, others = dict(zip(instants, first, strict=True)), dict(zip(instants, last, strict=True))
    try:
        frame = make(frames, marks)
    except _NotExchangeable:
        return None
    analyzed = frame._jdf.queryExecution().analyzed()
    plan = own.planned(analyzed)
    if not plan.subqueriesAll().isEmpty() or not _holds(plan, set(frames)) or not _is_task(plan):
        return None
    rule = own.exchange({_micros(marks[name]): _micros(others[name]) for name in instants})
    again = own.planned(analyzed.transformAllExpressions(rule))
    if _text(plan.transformAllExpressions(rule)) != _text(again):
        return None
    kept = own.kept(plan, frames.inputs, [_micros(marks[name]) for name in instants])
    return Prepared(frames.inputs, instants, to_arrow_schema(frame.schema, timezone="UTC"), kept)


def _holds(plan: Any, names: set[str]) -> bool:
    """Tells whether the leaves of a plan are the given rows, all of them, and nothing else."""
    leaves, held = plan.collectLeaves(), set()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.nodeName() != "LocalTableScan":
            return False
        held.add(leaf.output().head().name())
    return held == names


def _is_task(plan: Any) -> bool:
    """Tells whether a plan is computed by one task, in the JVM."""
    classes, waiting = [], [plan]
    while waiting:
        node = waiting.pop()
        classes.append(node.getClass().getName())
        children = node.children()
        waiting += [children.apply(number) for number in range(children.size())]
    return not any(room in name for name in classes for room in _ELSEWHERE)


def _text(plan: Any) -> str:
    return _NUMBERED.sub("", plan.treeString())


def _micros(at: datetime) -> int:
    return datetime.__sub__(at, _EPOCH) // _MICROSECOND
