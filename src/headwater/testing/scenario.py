"""Scenarios: a project in a temporary folder, what happens to it, and what its views show.

A scenario has one *process* at a time, an opened project. A crash drops it in the middle of a run; the next one knows
nothing but what is on the disk. Spark itself goes on: one session serves all scenarios of a Python process.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.config import FILE, load_settings
from headwater.errors import ArgumentRefused
from headwater.log import LOCAL_SOURCE, folder_of, wall_clock
from headwater.operate import CaughtUp
from headwater.plan import Plan, PlannedView
from headwater.project import DERIVED, Project
from headwater.sql import parse_declarations, render
from headwater.store import Store, open_store
from headwater.testing.compare import compare
from headwater.testing.crash import Crash, Crashed, Fuse, doomed
from headwater.testing.script import CRASH, Append, Now, Script, Step, Tick, steps_of

SPARK: Mapping[str, str] = {"spark.master": "local[2]"}
"""The settings of Spark in a scenario, if none are given and no session runs yet."""


@contextmanager
def scenario(
    sql: str | Path, *, spark: Mapping[str, str] = SPARK, stores: Mapping[str, str] | None = None
) -> Iterator[Scenario]:
    """A project of these declarations in a folder of its own, which is removed at the end.

    `sql` is text, or the path of a file or a folder with declarations. `stores` are the URLs of its stores by name;
    without them it has one, `main`, in SQLite.
    """
    with tempfile.TemporaryDirectory(prefix="headwater-") as name:
        folder = Path(name)
        _write(folder, sql, spark, stores or {})
        opened = Scenario(folder)
        try:
            yield opened
        finally:
            opened.close()


class Scenario:
    """A project to which things happen. Make one with `scenario`.

    `project` is the process that is alive: the project as `headwater.open` gives it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._now: datetime | None = None
        self._fuse = Fuse()
        self.project = self._start()

    # What arrives

    def append(
        self,
        topic: str,
        rows: Iterable[Mapping[str, Any]],
        *,
        commits: Sequence[int] | None = None,
        source: str = LOCAL_SOURCE,
    ) -> None:
        """Append rows as one commit, or cut into commits of these sizes, which must add up."""
        listed = list(rows)
        sizes = [len(listed)] if commits is None else commits
        if sum(sizes) != len(listed):
            raise ArgumentRefused(
                f"commits of {', '.join(map(str, sizes))} rows don't make up {len(listed)} rows", topic=topic
            )
        for size in sizes:
            self.project.append(topic, listed[:size], source=source)
            listed = listed[size:]

    def tick(self, topic: str, to: datetime | None = None) -> None:
        """Move a topic's watermark without rows: to an instant, or as far as the silence of its sources allows."""
        self.project.log.tick(topic, to)

    def set_now(self, at: datetime) -> None:
        """Let the wall clock of the project stand at an instant: rows arrive then, until it is set again."""
        self._now = at

    def feed(self, script: Script) -> None:
        """Let a script happen: rows, commits, ticks, the clock, and crashes. Views run only where it says `CRASH`."""
        for step in steps_of(script):
            self._do(step)

    def _do(self, step: Step) -> None:
        match step:
            case Append(topic, source, rows):
                self.append(topic, rows, source=source)
            case Tick(topic, to):
                self.tick(topic, to)
            case Now(at):
                self.set_now(at)
            case Crash():
                self.crash(at=step)

    # Running

    def run(self, *views: str, per_batch: int | None = None) -> list[CaughtUp]:
        """Bring views, by default all, to the head; raises what stopped one of them.

        `per_batch` is how many commits a micro-batch takes at most; by default all that are there.
        """
        done = self._catch_up(views, per_batch)
        for view in done:
            if view.error is not None:
                raise view.error
        return done

    def crash(self, *views: str, at: Crash = CRASH, per_batch: int | None = None) -> None:
        """Run views until the process dies at a crash point, and start another process.

        AssertionError if the run ended before it came there.
        """
        self._fuse.arm(at)
        errors = [view.error for view in self._catch_up(views, per_batch) if view.error is not None]
        struck = self._fuse.is_blown
        self.restart()
        for error in errors:
            if not isinstance(error, Crashed):
                raise error
        if not struck:
            raise AssertionError(f'the run ended before it came to "{at.point}" for the time {at.time}')

    def restart(self) -> None:
        """Drop the process and start another one: what is not on the disk is gone."""
        self.project.close()
        self._fuse = Fuse()
        self.project = self._start()

    def rebuild(self, *views: str, per_batch: int | None = None) -> list[CaughtUp]:
        """Throw away the state of views, by default all, and build each from the start of the log as a new version."""
        self.forget(*views)
        return self.run(*views, per_batch=per_batch)

    def forget(self, *views: str) -> None:
        """Throw away the state that Spark keeps of views, by default of all: their next run begins a new version.

        What they have published for other views is gone too, and is published again.
        """
        self.restart()
        for below in (self.folder / ".headwater" / "state", self.folder / self.project.settings.data / DERIVED):
            for view in views or self.views:
                shutil.rmtree(below / folder_of(view), ignore_errors=True)

    @contextmanager
    def declared_with(self, change: Callable[[PlannedView], model.View]) -> Iterator[None]:
        """Let each materialized view that is declared in SQL be declared otherwise for a while, over the same log."""
        plan = self.project.plan()
        before = {path: path.read_text(encoding="utf-8") for path in self.folder.rglob("*.sql")}
        for path, text in before.items():
            path.write_text(_changed(text, path, plan, change), encoding="utf-8")
        self.restart()
        try:
            yield
        finally:
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")
            self.restart()

    def close(self) -> None:
        """End the process that is alive."""
        self.project.close()

    # What views show

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the materialized views, in the order of declaration."""
        return tuple(view.name for view in self.project.plan().project.views if view.materialized)

    def rows(self, view: str) -> pa.Table:
        """The rows of a view in its store, with its declared types."""
        return self.project.rows(view)

    def batch(self, view: str) -> pa.Table:
        """The rows of a view computed from the whole log at once; the store has no part in it."""
        return self.project.views.batch(view)

    def expect(self, view: str, rows: pa.Table | Iterable[Mapping[str, Any]]) -> None:
        """AssertionError with the difference, unless the store has exactly these rows of a view, in any order."""
        difference = compare(self.rows(view), rows)
        if difference:
            raise AssertionError(f'view "{view}": {difference}')

    # Within

    def _start(self) -> Project:
        fuse = self._fuse

        def open_doomed(declared: model.Store, folder: Path) -> Store:
            return doomed(open_store(declared, folder), fuse)

        settings = load_settings(self.folder)
        return Project(self.folder, settings, lambda: self._now or wall_clock(), open_doomed)

    def _catch_up(self, views: Sequence[str], per_batch: int | None) -> list[CaughtUp]:
        options = {} if per_batch is None else {"max_commits": str(per_batch)}
        return self.project.catch_up(*views, options=options)


def _changed(text: str, path: Path, plan: Plan, change: Callable[[PlannedView], model.View]) -> str:
    declared = parse_declarations(text, str(path)).declarations
    wanted = [
        change(plan.view(each.name)) if isinstance(each, model.View) and each.materialized else each
        for each in declared
    ]
    return ";\n".join(render(each) for each in wanted)


def _write(folder: Path, sql: str | Path, spark: Mapping[str, str], stores: Mapping[str, str]) -> None:
    settings = "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in spark.items())
    declared = "".join(f"[stores.{json.dumps(name)}]\nurl = {json.dumps(url)}\n" for name, url in stores.items())
    (folder / FILE).write_text(f'name = "scenario"\n{declared}[spark]\n{settings}', encoding="utf-8")
    if isinstance(sql, str):
        (folder / "declarations.sql").write_text(sql, encoding="utf-8")
        return
    for path in [sql] if sql.is_file() else [path for path in sql.rglob("*") if path.suffix in (".sql", ".py")]:
        copied = folder / (path.name if sql.is_file() else path.relative_to(sql))
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
