"""Plans as plain data with stable names: dictionaries, lists, texts and numbers, for JSON and for a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.operators import Ancestor, Scan, Stage
from headwater.operators.as_known_join.stage import looked_up_by
from headwater.operators.join.stage import is_joined_by_what_changes
from headwater.operators.scan.stage import scans_of
from headwater.plan.execution import executions
from headwater.plan.physical.key import Key
from headwater.plan.physical.view import Physical
from headwater.plan.planned import Plan, PlannedOutlet, PlannedView
from headwater.plan.state import is_by_time_behind_a_join


def fingerprint(view: model.View, root: Stage, key: Key, physical: Physical, project: model.Project) -> str:
    """A hash of everything that decides which rows a view has, which state it keeps and how its rows are shown.

    Formatting, comments, names of inputs within the query, the order of declarations and the store don't enter it. What
    columns are in rows that were written without them does: it is read from the declaration. Of the physical plan those
    decisions enter it that Spark's state and derived topics have been made by: another pace lets other rows in, another
    lag has published other rows. What is kept beside and is made again from the log if it doesn't fit doesn't.
    """
    execution = physical.execution
    kept = {
        "root": data_of(root, lineage=False),
        "key": data_of(key),
        "execution": [_kept_as(view, root, physical), execution.emit.value, data_of(execution.horizon)],
        "lateness": data_of((view.grace, view.horizon, view.retention)),
        "pace": data_of(physical.pace),
        "publishes": data_of(physical.publishes),
    }
    if any(is_by_time_behind_a_join(stage) for stage in root.walk()):
        kept["groups"] = "by their time"  # they were several once, by the times of their partners
    if any(is_joined_by_what_changes(stage) for stage in root.walk()):
        kept["joins"] = "when both sides are there"  # rows were left out once, or shown before they were final
    if view.every is not None:
        kept["every"] = data_of(view.every)
    if view.serving.layout is not None:
        kept["layout"] = data_of((view.serving.layout, view.serving.score, view.serving.group))
    if filled := filled_in(root, project):
        kept["filled"] = filled
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def _kept_as(view: model.View, root: Stage, physical: Physical) -> str:
    """The execution whose position in the store says all that is known of a view.

    Rows that are written as they come, and groups in parts that are written as they change, are at a commit as Spark's
    streaming has them there: a version that was live is gone on with.
    """
    step = physical.step
    if step is None:
        return physical.execution.kind
    in_parts = step.adds == "parts" and physical.execution.emit is model.Emit.CHANGES
    is_as_live = (step.as_they_come or in_parts) and "live" in executions(view, root)
    return "live" if is_as_live else physical.execution.kind


def filled_in(root: Stage, project: model.Project) -> dict[str, Any]:
    """The values and names, by topic and column, by which rows are read that were written without a column."""
    scans = [*scans_of(root), *(join.table for join in looked_up_by(root))]
    return {scan.relation: columns for scan in scans if (columns := _filled(scan, project))}


def _filled(scan: Scan, project: model.Project) -> dict[str, Any]:
    """The default and the former names of each column that a scan reads and that has any."""
    topic = None if scan.kind == "view" else project.find(scan.relation)
    if not isinstance(topic, model.Topic):
        return {}
    read = {*(column.name for column in scan.columns), scan.time, *scan.unique, *scan.key}
    columns = (column for column in topic.columns if column.name in read)
    return {
        column.name: [column.default, *column.aliases]
        for column in columns
        if column.default is not None or column.aliases
    }


def as_dict(plan: Plan) -> dict[str, Any]:
    """The plan with stable field names."""
    return {
        "project": plan.project.name,
        "findings": [finding.as_dict() | {"severity": finding.severity} for finding in plan.findings],
        "relations": dict(plan.graph.relations),
        "edges": [{"source": edge.source, "reader": edge.reader} for edge in plan.graph.edges],
        "views": [view_as_dict(view) for view in plan.views.values()],
        "outlets": [outlet_as_dict(outlet) for outlet in plan.outlets.values()],
    }


def outlet_as_dict(planned: PlannedOutlet) -> dict[str, Any]:
    """One outlet with stable field names."""
    outlet = planned.outlet
    return {
        "outlet": outlet.name,
        "view": planned.view.name,
        "to": outlet.to,
        "envelope": outlet.envelope,
        "format": outlet.format,
        "accumulation": outlet.accumulation,
        "start": outlet.start,
        "key": list(planned.key),
    }


def view_as_dict(planned: PlannedView) -> dict[str, Any]:
    """One view with stable field names; stages are numbered, inputs first."""
    execution = planned.execution
    return {
        "view": planned.name,
        "fingerprint": planned.fingerprint,
        "execution": execution.kind,
        "why": execution.why,
        "emit": execution.emit.value,
        "emit_why": execution.emit_why,
        "every": data_of(planned.view.every),
        "horizon": data_of(execution.horizon),
        "retention": data_of(planned.view.retention),
        "grace": data_of(planned.view.grace),
        "store": planned.view.store,
        "key": {"columns": list(planned.key.columns), "kind": planned.key.kind},
        "columns": [_column(column) for column in planned.columns],
        "inputs": list(planned.inputs),
        "stages": _stages(planned.root),
        "physical": _physical(planned),
        "state": [
            {"operator": kept.operator, "keeps": kept.what, "until": kept.until} for kept in planned.physical.keeps
        ],
        "lineage": {name: [str(column) for column in sorted(every)] for name, every in planned.lineage.items()},
        "reads": [str(column) for column in sorted(planned.reads)],
    }


def _column(column: model.Column) -> dict[str, Any]:
    return {"name": column.name, "type": model.spell_type(column.type), "nullable": column.nullable}


def _stages(root: Stage) -> list[dict[str, Any]]:
    stages: list[dict[str, Any]] = []

    def add(stage: Stage) -> int:
        inputs = [add(below) for below in stage.inputs]
        stages.append({"number": len(stages) + 1, "stage": _name(stage), "inputs": inputs, **_own(stage)})
        return len(stages)

    add(root)
    return stages


def _physical(planned: PlannedView) -> dict[str, Any]:
    """The physical plan of the view; a stage is its number, and so is the one over panes that stands for it."""
    physical = planned.physical
    ways = list(enumerate(physical.operators, start=1))
    numbers = {id(stage): number for number, way in ways for stage in (way.stage, way.panes) if stage is not None}
    parts = {part.name: getattr(physical, part.name) for part in fields(physical)}
    told = {name: value for name, value in parts.items() if name not in ("execution", "operators", "keeps")}
    return {
        "operators": [{"stage": number, "way": way.way.value} for number, way in ways],
        **{name: _numbered(value, numbers) for name, value in told.items()},
    }


def _numbered(value: Any, numbers: Mapping[int, int]) -> Any:
    """A part of a physical plan with numbers instead of stages."""
    if not is_dataclass(value) or isinstance(value, type):
        return data_of(value)
    parts = {part.name: getattr(value, part.name) for part in fields(value)}
    return {name: numbers.get(id(part)) if isinstance(part, Stage) else data_of(part) for name, part in parts.items()}


def _own(stage: Stage) -> dict[str, Any]:
    """The fields of a stage without the stages that it reads."""
    parts = {part.name: getattr(stage, part.name) for part in fields(stage) if part.compare}
    plain = {name: value for name, value in parts.items() if not _holds_stages(value)}
    return {name: data_of(value) for name, value in plain.items()}


def _holds_stages(value: object) -> bool:
    return isinstance(value, Stage) or (isinstance(value, tuple) and any(isinstance(part, Stage) for part in value))


def _name(stage: Stage) -> str:
    """The name of a stage in data: its class in lower case."""
    return type(stage).__name__.lower()


def data_of(value: Any, lineage: bool = True) -> Any:
    """A value of a plan as plain data; `lineage` has what its columns derive from as well."""
    match value:
        case Ancestor():
            return str(value)
        case Enum():
            return value.value
        case timedelta():
            return model.spell_duration(value)
        case pa.DataType():
            return model.spell_type(value)
        case frozenset():
            return sorted(str(part) for part in value)
        case tuple():
            return [data_of(part, lineage) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value) if part.compare}
        kept = {name: part for name, part in parts.items() if lineage or name != "ancestors"}
        kind = {"stage": _name(value)} if isinstance(value, Stage) else {"kind": type(value).__name__.lower()}
        return kind | {name: data_of(part, lineage) for name, part in kept.items()}
    return value
