"""Work that needs Spark, given to whoever has it: to the run of the project, if this process has none of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headwater.engine.session import Spark
from headwater.operate.desk import Declined, Desk, Request, ask, desk_of
from headwater.project.declarations import Declarations


class Delegate:
    """Does what it was told how to do, `by` name and for a view: here, or by a run that has the same declarations."""

    def __init__(self, declarations: Declarations, home: Path, spark: Spark) -> None:
        self._declarations = declarations
        self._desk = desk_of(home)
        self._spark = spark
        self.by: dict[str, Callable[..., Any]] = {}

    def do(self, what: str, view: str, **arguments: Any) -> Any:
        """Do it, and return what comes of it, or raise what is raised."""
        if not self._spark.is_begun:
            answer = ask(self._desk, Request(what, view, arguments, self._fingerprints(view)))
            if answer is not None and answer.error is not None:
                raise answer.error
            if answer is not None:
                return answer.value
        return self.by[what](view, **arguments)

    def desk(self) -> Desk:
        """The desk of this process, where others can ask for the same; to be entered."""
        return Desk(self._desk, self._do_asked)

    def _do_asked(self, request: Request) -> Any:
        if request.what not in self.by or self._fingerprints(request.view) != request.fingerprints:
            raise Declined
        return self.by[request.what](request.view, **request.arguments)

    def _fingerprints(self, view: str) -> Mapping[str, str]:
        """The fingerprints of a view and of those that it reads; `UnknownView` if there is none of that name."""
        plan = self._declarations.plan()
        name = plan.view(view).name
        return {one: plan.views[one].fingerprint for one in {name, *plan.graph.upstream(name)} if one in plan.views}
