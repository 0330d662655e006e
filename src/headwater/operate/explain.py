"""Explanation: how a view is executed and why, what state it keeps and for how long, which version is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwater.engine.failure import failures_of
from headwater.log import TopicLog
from headwater.operate.versions import Versions
from headwater.plan import PlannedView, view_as_dict
from headwater.plan.describe import describe_view
from headwater.plan.physical.description import facts
from headwater.store import Version


@dataclass(frozen=True)
class State:
    """The state of the served version: bytes of its checkpoint on disk and, where Spark was asked, rows by operator."""

    bytes: int
    rows: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Explained:
    """Everything there is to say about a view. As text it is for people; `as_dict` is for programs."""

    planned: PlannedView
    versions: tuple[Version, ...]
    state: State | None = None
    spark_plan: str | None = None

    def __str__(self) -> str:
        told = [f"  {name:<10} {what}" for name, what in facts(self.planned.physical)]
        parts = [describe_view(self.planned), *told, *self._state(), *(_line(version) for version in self.versions)]
        if self.spark_plan is not None:
            parts += ["  spark", *(f"    {line}" for line in self.spark_plan.splitlines())]
        return "\n".join(parts)

    def _state(self) -> list[str]:
        keeps = self.planned.physical.keeps
        lines = ["  state", *(f"    {kept}" for kept in keeps)] if keeps else ["  state      nothing"]
        if self.state is not None and keeps:
            rows = self.state.rows
            counted = ", ".join(f"{name} {number:,} rows" for name, number in rows.items()) if rows else ""
            lines.append(f"    now {_spell_bytes(self.state.bytes)} on disk{': ' if counted else ''}{counted}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return view_as_dict(self.planned) | {
            "state_bytes": self.state.bytes if self.state else None,
            "state_rows": dict(self.state.rows) if self.state and self.state.rows is not None else None,
            "versions": [_record(version) for version in self.versions],
            "spark_plan": self.spark_plan,
        }


def explain(planned: PlannedView, versions: Versions, logs: Mapping[str, TopicLog], spark: Any | None) -> Explained:
    """Explain a view. With a Spark session, Spark's own plan is shown and the rows in state are counted."""
    kept = versions.store.versions(planned.name)
    served = next((version.target.version for version in kept if version.promoted), None)
    runs = planned.execution.kind != "inline"
    state = _measure(versions, served, spark) if planned.execution.kind == "live" and served is not None else None
    return Explained(planned, kept, state, _spark_plan(planned, logs, spark) if runs and spark else None)


def _measure(versions: Versions, served: int, spark: Any | None) -> State:
    folder = versions.checkpoint(served).folder / "state"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    if spark is None or not folder.is_dir():
        return State(size)
    from headwater.engine.keeping import rows_in_state

    with failures_of(versions.planned.name):
        return State(size, rows_in_state(spark, folder.parent))


def _spark_plan(planned: PlannedView, logs: Mapping[str, TopicLog], spark: Any) -> str:
    from headwater.engine.keeping import physical_plan

    return physical_plan(spark, planned, logs)


def _line(version: Version) -> str:
    record = _record(version)
    at = ", ".join(f"{topic} {commit}" for topic, commit in record["commits"].items()) or "nothing"
    served = "served" if version.promoted else "kept"
    return f"  version    {record['version']} {served}, plan {record['plan']}, read up to {at}"


def _record(version: Version) -> dict[str, Any]:
    position = version.position
    return {
        "version": version.target.version,
        "served": version.promoted,
        "plan": version.fingerprint,
        "commits": dict(position.commits) if position else {},
        "watermark": position.watermark if position else None,
    }


def _spell_bytes(size: int) -> str:
    """A size as people read it.

    >>> _spell_bytes(512), _spell_bytes(4_300_000)
    ('512 bytes', '4.3 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = min(len(units), (len(str(size)) - 1) // 3)
    return f"{size / 1000**power:.1f} {units[power - 1]}"
