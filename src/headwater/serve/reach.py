"""Reading one's own write: waiting until a view has come to where an append has put its rows.

A view that reads the topic itself is there when its store is. One that reads it through another view is there when the
other one is, and it has read what the other had published by then.
"""

from __future__ import annotations

import time
from datetime import timedelta

from headwater.errors import ArgumentRefused, NotReached
from headwater.project import Project
from headwater.serve.token import Place

POLL = timedelta(milliseconds=20)


class Way:
    """The way of an append's rows to a view. What has been reached stays reached, so that it is asked for once."""

    def __init__(self, project: Project, view: str, place: Place) -> None:
        self._project = project
        self._view = view
        self._place = place
        self._published: dict[str, int] = {}
        plan = project.plan()
        if place.topic not in plan.graph.upstream(plan.view(view).name):
            raise ArgumentRefused(
                f'view "{view}" doesn\'t read "{place.topic}"',
                detail="The position names a commit of that topic, which the view never comes to.",
                hint="Leave `after` out, or ask a view that reads it.",
            )

    def wait(self, longest: timedelta) -> None:
        """Return once the view is there; `NotReached` if it isn't in time."""
        deadline = time.monotonic() + longest.total_seconds()
        while not self._is_there(self._view):
            if time.monotonic() >= deadline:
                raise NotReached(
                    f'view "{self._view}" had not come to commit {self._place.commit} of "{self._place.topic}" '
                    f"after {longest.total_seconds():g} s",
                    detail="The rows are in the log. The view is behind, or doesn't run.",
                    hint="Repeat the request, with a longer timeout if need be; GET /status tells how far the view is.",
                    view=self._view,
                )
            time.sleep(POLL.total_seconds())

    def _is_there(self, view: str) -> bool:
        served = self._project.served(view)
        commits = dict(served.position.commits) if served and served.position else {}
        reads = self._project.plan().view(view).scans
        return all(self._has(scan.relation, scan.kind, commits) for scan in reads)

    def _has(self, name: str, kind: str, commits: dict[str, int]) -> bool:
        """Whether commits are far enough in what is read under a name."""
        if kind != "view":
            return name != self._place.topic or commits.get(name, -1) >= self._place.commit
        if name not in self._published:
            upstream = self._project.plan().graph.upstream(name)
            if self._place.topic in upstream and not self._is_there(name):
                return False
            self._published[name] = self._project.published(name) if self._place.topic in upstream else -1
        return commits.get(name, -1) >= self._published[name]
