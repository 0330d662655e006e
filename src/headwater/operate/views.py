"""Views as a whole: which version of each is kept, bringing it to the head of its topics, asking it, verifying it.

A version belongs to one plan: a declaration that changes what rows mean has another fingerprint and is built from the
log into a version of its own, beside the one that is served, and takes its place when it has caught up.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.errors import HeadwaterError, NotSupportedYet, UnknownStore, UnknownView
from headwater.log import TopicLog, folder_of
from headwater.operate.verify import Verified, differences
from headwater.plan import Plan, PlannedView, describe
from headwater.store import Batch, Position, Store, Target, Version, open_store

DEFAULT_STORE = "main"


@dataclass(frozen=True)
class CaughtUp:
    """What became of one view. `rebuilt` says why it was built from the start of the log; `error` why it stopped."""

    view: str
    version: int
    position: Position | None = None
    rebuilt: str | None = None
    error: HeadwaterError | None = None


class Views:
    """The views of a project that has no findings. Spark starts when the first one runs."""

    def __init__(self, plan: Plan, log_of: Callable[[str], TopicLog], home: Path, spark: Mapping[str, str]) -> None:
        self._plan = plan
        self._log_of = log_of
        self._home = home
        self._settings = spark
        self._stores: dict[str, Store] = {}

    def catch_up(self, names: Iterable[str] | None = None, options: Mapping[str, str] | None = None) -> list[CaughtUp]:
        """Bring views to the head of their topics; one that fails stops alone. `options` go to the source."""
        chosen = [self._plan.view(name) for name in names] if names else list(self._plan.views.values())
        kept = [planned for planned in chosen if planned.view.materialized]
        if any(planned.execution.kind == "live" for planned in kept):
            _ = self._spark  # without it none of them can run: one error, not one for each
        return [self._catch_up(planned, options or {}) for planned in kept]

    def query(self, sql: str, store: str = DEFAULT_STORE, limit: int | None = None) -> pa.Table:
        """Answer a statement in the store's own SQL; it can't write."""
        return self._store(store).query(sql, limit)

    def late(self, name: str) -> pa.Table:
        """The rows that came too late for a view, once per window, with how late they were."""
        from headwater.engine.batch import late_rows

        planned = self._plan.view(name)
        return late_rows(self._spark, planned, self._logs(planned), self._heads(planned))

    def verify(self, name: str) -> Verified:
        """Recompute a view in batch, up to where its store is, and compare."""
        from headwater.engine.batch import batch_rows

        planned = self._plan.view(name)
        store = self._store_of(planned)
        version = self._promoted(planned)
        commits = dict(version.position.commits) if version.position else dict.fromkeys(planned.inputs, 0)
        held = store.read(planned.name, version.target.version)
        expected = batch_rows(self._spark, planned, self._logs(planned), commits)
        missing, extra = differences(held, expected)
        return Verified(planned.name, version.target.version, commits, expected.num_rows, missing, extra)

    def explain(self, name: str) -> str:
        """How a view is executed and why, its stages, and the version that is served."""
        planned = self._plan.view(name)
        lines = [describe(self._plan, name)]
        for version in self._store_of(planned).versions(planned.name):
            at = (
                ", ".join(f"{topic} {commit}" for topic, commit in version.position.commits)
                if version.position
                else "-"
            )
            served = "served" if version.promoted else "kept"
            lines.append(f"  version    {version.target.version} {served}, plan {version.fingerprint}, read up to {at}")
        return "\n".join(lines)

    def close(self) -> None:
        """Let go of the stores."""
        for store in self._stores.values():
            store.close()

    def _catch_up(self, planned: PlannedView, options: Mapping[str, str]) -> CaughtUp:
        number = 0
        try:
            read = next((scan for scan in planned.scans if scan.kind != "stream"), None)
            if read is not None:
                raise NotSupportedYet(
                    f'view "{planned.name}" can\'t be executed in this version',
                    detail=f'It reads the {read.kind} "{read.relation}"; only streams can be read yet.',
                    origin=planned.view.origin,
                )
            if planned.execution.kind != "live":
                raise NotSupportedYet(
                    f'view "{planned.name}" can\'t be executed in this version',
                    detail=f"It needs to be settled: {planned.execution.why}.",
                    origin=planned.view.origin,
                )
            store = self._store_of(planned)
            number, rebuilt = self._version(planned, store)
            self._run(planned, store, number, options)
            store.promote(planned.name, number)
            return CaughtUp(planned.name, number, store.position(planned.name, number), rebuilt)
        except HeadwaterError as error:
            return CaughtUp(planned.name, number, error=error)

    def _run(self, planned: PlannedView, store: Store, number: int, options: Mapping[str, str]) -> None:
        from headwater.engine.live import Changes, LiveView

        key = planned.key.columns if planned.key.kind != "row" else ()
        target = Target(planned.name, number, planned.columns, key, planned.emit)
        epoch = store.open(target, planned.fingerprint)

        def deliver(changes: Changes) -> None:
            position = Position(changes.number, tuple(sorted(changes.commits.items())), changes.watermark)
            store.apply(target, epoch, Batch(changes.upserts, changes.deletes, position))

        LiveView(planned, key, self._logs(planned), self._checkpoint(planned, number), deliver).catch_up(
            self._spark, options
        )

    def _version(self, planned: PlannedView, store: Store) -> tuple[int, str | None]:
        """Which version to go on with, and why it starts from scratch if it does."""
        versions = store.versions(planned.name)
        if not versions:
            return self._without_checkpoint(planned, 1), None
        newest = versions[-1]
        number = newest.target.version
        reason = None
        if newest.fingerprint != planned.fingerprint:
            reason = "its declaration has changed"
        elif newest.position is not None:
            reason = self._disagreement(self._checkpoint(planned, number), newest.position)
        else:
            self._without_checkpoint(planned, number)
        return (number, None) if reason is None else (self._without_checkpoint(planned, number + 1), reason)

    def _disagreement(self, checkpoint: Path, position: Position) -> str | None:
        """Why a checkpoint can't go on from where the store is. The store is written first: it may be ahead by one."""
        from headwater.engine.live import last_finished

        finished = last_finished(checkpoint)
        if not (checkpoint / "offsets").is_dir():
            return "its checkpoint is gone"
        return "its store is behind its checkpoint" if finished is not None and finished > position.batch else None

    def _without_checkpoint(self, planned: PlannedView, number: int) -> int:
        """The version, with no checkpoint left over from rows that are no longer there."""
        shutil.rmtree(self._checkpoint(planned, number), ignore_errors=True)
        return number

    def _promoted(self, planned: PlannedView) -> Version:
        for version in self._store_of(planned).versions(planned.name):
            if version.promoted:
                return version
        raise UnknownView(
            f'view "{planned.name}" has no rows yet',
            hint="Run `headwater catch-up` first.",
            view=planned.name,
        )

    def _checkpoint(self, planned: PlannedView, number: int) -> Path:
        return self._home / "state" / folder_of(planned.name) / f"v{number}"

    def _logs(self, planned: PlannedView) -> dict[str, TopicLog]:
        return {name: self._log_of(name) for name in planned.inputs}

    def _heads(self, planned: PlannedView) -> dict[str, int]:
        return {name: max(log.head, 0) for name, log in self._logs(planned).items()}

    def _store_of(self, planned: PlannedView) -> Store:
        return self._store(planned.view.store or DEFAULT_STORE)

    def _store(self, name: str) -> Store:
        if name not in self._stores:
            self._stores[name] = open_store(self._declared_store(name), self._home.parent)
        return self._stores[name]

    def _declared_store(self, name: str) -> model.Store:
        for declared in self._plan.project.stores:
            if declared.name == name:
                return declared
        raise UnknownStore(f'the project has no store "{name}"', hint="Declare it in headwater.toml.", store=name)

    @cached_property
    def _spark(self) -> Any:
        from headwater.engine.session import open_session

        return open_session(self._plan.project.name, self._settings, self._home)
