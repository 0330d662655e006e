"""Executions: one input, executed in every way, for the promise that all give the same rows.

    killed and resumed          half of the log is there; the process dies when the store has a batch that Spark doesn't
                                know of; the rest arrives; the next process dies when neither has its batch; a third
                                one comes to the end. Each life takes other batches
    straight, all at once       one run over the whole log, in one micro-batch
    one commit per micro-batch  one run over the whole log
    rebuilt                     the state is thrown away, and a new version is built from zero beside the one that is
                                served
    in another execution        declared otherwise where that is legal: what is kept by streaming is settled, what is
                                settled is kept by it, or by queries over the whole log
    batch                       from the whole log at once, without a store

All of them read one log, which is fed once. Each but the last builds a version of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.plan import PlannedView
from headwater.plan.execution import executions as executions_of
from headwater.testing.compare import compare
from headwater.testing.crash import Crash
from headwater.testing.scenario import Scenario, scenario
from headwater.testing.script import COMMIT, Script


@dataclass(frozen=True)
class Execution:
    """The outcome of one execution: the rows of each materialized view, or the error that stopped it.

    `scenario` is as the execution left it, until the next one begins.
    """

    name: str
    scenario: Scenario
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    error: Exception | None = None

    def rows(self, view: str) -> pa.Table:
        """The rows of a view; raises the error if there was one."""
        if self.error is not None:
            raise self.error
        return self.tables[view]

    def expect(self, view: str, rows: pa.Table | Iterable[Mapping[str, Any]]) -> None:
        """AssertionError that names the execution and the difference, unless the view has exactly these rows."""
        difference = compare(self.rows(view), rows)
        if difference:
            raise AssertionError(f'view "{view}", {self.name}: {difference}')


def executions(sql: str | Path, script: Script, names: Iterable[str] | None = None) -> Iterator[Execution]:
    """Execute the views over a script in each way, or in those named; one that fails doesn't keep the next from it.

    Crashes that the script holds happen while it is fed, before the first execution has read it all.
    """
    with scenario(sql) as opened:
        course = _Course(opened, script)
        for name in EXECUTIONS if names is None else names:
            yield _execute(name, course)


def _execute(name: str, course: _Course) -> Execution:
    try:
        return Execution(name, course.scenario, _WAYS[name](course))
    except Exception as error:
        return Execution(name, course.scenario, error=error)


class _Course:
    """A scenario and how much of the script it has been fed."""

    def __init__(self, scenario: Scenario, script: Script) -> None:
        self.scenario = scenario
        self._left = list(script)

    def feed(self) -> None:
        """Feed what is left of the script."""
        self._feed(len(self._left))

    def feed_half(self) -> None:
        """Feed the script up to the commit that is about in its middle."""
        ends = [index for index, item in enumerate(self._left) if item == COMMIT]
        self._feed(min(ends, key=lambda index: abs(index - len(self._left) / 2), default=0))

    def _feed(self, count: int) -> None:
        self.scenario.feed(self._left[:count])
        self._left = self._left[count:]

    def afresh(self) -> Scenario:
        """The scenario with the whole log and without the state of earlier runs."""
        self.feed()
        self.scenario.forget()
        return self.scenario

    def kill(self, at: Crash, per_batch: int) -> None:
        """Let the process die while it runs each of the views.

        A view that keeps state always comes so far. Any other one that has nothing to write comes to its end instead.
        """
        for view in self.scenario.views:
            planned = self.scenario.project.plan().view(view)
            stateful = planned.execution.kind == "live" and not planned.root.is_stateless
            with nullcontext() if stateful else suppress(AssertionError):
                self.scenario.crash(view, at=replace(at, view=view), per_batch=per_batch)

    def held(self) -> dict[str, pa.Table]:
        """The rows that the stores have."""
        return {view: self.scenario.rows(view) for view in self.scenario.views}


def _killed(course: _Course) -> dict[str, pa.Table]:
    course.scenario.forget()
    course.feed_half()
    course.kill(Crash("after apply"), per_batch=1)
    course.feed()
    course.kill(Crash("before apply", 2), per_batch=2)  # the first is the batch that was not finished
    course.scenario.run()
    return course.held()


def _straight(course: _Course) -> dict[str, pa.Table]:
    course.afresh().run()
    return course.held()


def _one_by_one(course: _Course) -> dict[str, pa.Table]:
    course.afresh().run(per_batch=1)
    return course.held()


def _rebuilt(course: _Course) -> dict[str, pa.Table]:
    if any(done.version == 1 for done in course.afresh().run()):  # there was nothing to be rebuilt
        course.scenario.rebuild()
    return course.held()


def _otherwise(course: _Course) -> dict[str, pa.Table]:
    course.afresh()
    with course.scenario.declared_with(_another_execution):
        course.scenario.run(per_batch=2)
        return course.held()


def _another_execution(planned: PlannedView) -> model.View:
    view = replace(planned.view, emit=planned.emit)
    others = [kind for kind in executions_of(view, planned.root) if kind != planned.execution.kind]
    return replace(view, execution=others[0]) if others else planned.view


def _batch(course: _Course) -> dict[str, pa.Table]:
    course.feed()
    return {view: course.scenario.batch(view) for view in course.scenario.views}


_WAYS: Mapping[str, Callable[[_Course], dict[str, pa.Table]]] = {
    "killed and resumed": _killed,
    "straight, all at once": _straight,
    "one commit per micro-batch": _one_by_one,
    "rebuilt": _rebuilt,
    "in another execution": _otherwise,
    "batch": _batch,
}
EXECUTIONS = tuple(_WAYS)
"""The names of all executions, in the order in which they are done: what needs half of the log comes first."""
