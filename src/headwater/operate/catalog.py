"""The catalog of a project's views: what each is planned as, what it reads, where it is kept, what computes it."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from headwater.engine.session import Spark
from headwater.log import TopicLog
from headwater.operate.halt import Halt
from headwater.operate.hold import Holds
from headwater.operate.lock import LEASE
from headwater.operate.policy import Policy
from headwater.operate.promotion import is_read
from headwater.operate.speed import Speeds
from headwater.operate.stores import Stores
from headwater.operate.versions import Versions
from headwater.operate.wish import Wishes
from headwater.operators import Scan
from headwater.plan import Plan, PlannedView
from headwater.store import OpenStore, Version, open_store
from headwater.store.sound import SoundStore
from headwater.waiting import wait_for

KeptView = Callable[[str, str], "tuple[Plan, PlannedView] | None"]
"""Gives a view by its name and the fingerprint of a plan that it had, with the plan of the project then."""
_LOOK = timedelta(milliseconds=20)


class Catalog:
    """The views of a project that has no findings, by name; another plan may take the place of theirs.

    `home` is the folder of what runs, below that of the project. Spark starts when it is needed, or was begun before.
    `keep` has the declarations kept that a view is run by or, of None, the project; `kept` gives the plan of a view and
    of its project that had some fingerprint, if that was kept. `policy` says what has to hold before another version of
    a view is served.
    """

    def __init__(
        self,
        plan: Plan,
        log_of: Callable[[str], TopicLog],
        derived_log_of: Callable[[PlannedView], TopicLog],
        home: Path,
        spark: Spark,
        *,
        lease: timedelta = LEASE,
        open_store: OpenStore = open_store,
        keep: Callable[[PlannedView | None], None] = lambda _: None,
        kept: KeptView = lambda _, __: None,
        policy: Policy = Policy(),  # noqa: B008  # it is frozen
    ) -> None:
        self.plan = plan
        self.keep = keep
        self.kept = kept
        self.policy = policy
        self.holds = Holds(home)
        self.speeds = Speeds(home)
        self.log_of = log_of
        self.derived_log_of = derived_log_of
        self.home = home
        self.wishes = Wishes(home)
        self.stores = Stores(lambda: self.plan, home.parent, open_store)
        self._spark = spark
        self._registered: Plan | None = None
        self._guard = threading.Lock()
        self._lease = lease

    def declared(self) -> list[PlannedView]:
        """The views in the order of declaration."""
        order = [view.name for view in self.plan.project.views]
        return sorted(self.plan.views.values(), key=lambda planned: order.index(planned.name))

    def materialized(self, names: Iterable[str] | None = None) -> list[PlannedView]:
        """Those of the named views, and of the views that they read, that have rows; of all if none is named."""
        return [planned for planned in self._chosen(names) if planned.view.materialized]

    def store(self, planned: PlannedView) -> SoundStore:
        """The store that a view is served from."""
        return self.stores.of(planned)

    def versions(self, planned: PlannedView) -> Versions:
        """The versions of a view."""
        store = self.store(planned)
        beside = partial(self.holds.beside, planned.name)
        return Versions(planned, store, self.home / "state", self.logs(planned), self._lease, beside)

    def served(self, planned: PlannedView) -> Version | None:
        """The version that is served, if there is one yet."""
        versions = self.store(planned).versions(planned.name)
        return next((version for version in versions if version.promoted), None)

    def logs(self, planned: PlannedView) -> dict[str, TopicLog]:
        """The logs that a view reads, by name: of topics, and the derived ones of other views."""
        return {scan.relation: self._log(scan) for scan in planned.reading}

    def views_read(self, planned: PlannedView) -> dict[str, PlannedView]:
        """The views that a view reads itself, by name."""
        return {scan.relation: self.plan.view(scan.relation) for scan in planned.scans if scan.kind == "view"}

    def is_read(self, planned: PlannedView) -> bool:
        """Tells whether other views read a view, so that its final rows are published."""
        return is_read(self.plan, planned.name)

    def built_by(self, planned: PlannedView, version: Version) -> PlannedView | None:
        """The plan that a version of a view was built by; None if it wasn't kept."""
        if version.fingerprint == planned.fingerprint:
            return planned
        kept = self.kept(planned.name, version.fingerprint)
        return None if kept is None else kept[1]

    def take_over(self, plan: Plan) -> None:
        """Let another plan take the place of this one."""
        self.plan = plan

    def by(self, plan: Plan) -> Catalog:
        """The same with another plan, beside this one."""
        other = copy.copy(self)
        other.plan, other._registered = plan, None
        return other

    def wait_for_spark(self, halt: Halt) -> None:
        """Wait until Spark has started, or has failed to, unless the work is to end before that."""
        self._spark.begin()
        wait_for(self._spark.is_there, every=_LOOK, halt=halt)
        if not self._spark.is_there():
            self._spark.close()
        else:
            assert self.spark  # if it failed, here is why

    def end_spark(self) -> None:
        """Make an end of a Spark that was begun and is not there yet."""
        self._spark.close()

    def keep_classes(self) -> None:
        """Let the next start of Spark be faster by what was loaded in this one."""
        self._spark.keep_classes()

    @property
    def spark(self) -> Any:
        """The project's session of Spark, which starts when it is first needed, with the functions of the plan."""
        from headwater.engine.function import register

        session = self._spark.session()
        with self._guard:
            if self._registered is not self.plan:
                register(session, self.plan.functions)
                self._registered = self.plan
        return session

    @property
    def cores(self) -> int:
        """The cores that Spark has."""
        return max(1, int(self.spark.sparkContext.defaultParallelism))

    def _chosen(self, names: Iterable[str] | None) -> list[PlannedView]:
        """The named views as they are named, behind those that they read; all, as declared, if none is named."""
        if not names:
            return self.declared()
        named = list({planned.name: planned for planned in map(self.plan.view, names)}.values())
        upstream = {name for planned in named for name in self.plan.graph.upstream(planned.name)}
        read = [planned for planned in self.declared() if planned.name in upstream and planned not in named]
        return [*read, *named]

    def _log(self, scan: Scan) -> TopicLog:
        if scan.kind == "view":
            return self.derived_log_of(self.plan.view(scan.relation))
        return self.log_of(scan.relation)
