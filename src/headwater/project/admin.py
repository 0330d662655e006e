"""Administration: what an operator does to the views, the intakes and the log of a project, and what is written down.

What is wanted of a view or an intake is obeyed in whichever process it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from headwater import model
from headwater.errors import ArgumentRefused
from headwater.log.compaction import Compacted, compact_table
from headwater.log.maintenance import trim
from headwater.operate import CaughtUp, Reading
from headwater.operate.audit import Act, Audit
from headwater.operate.change import Change, Outlook
from headwater.operate.policy import Policy
from headwater.operate.promotion import Promotion
from headwater.operate.wish import Paused, Subject, Wishes
from headwater.plan import PlannedView
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes
from headwater.project.logs import Logs, Since
from headwater.project.views import ProjectViews


class Administration:
    """Lets a project be administered: `project.admin`. Each act is in the audit."""

    def __init__(
        self,
        declarations: Declarations,
        logs: Logs,
        intakes: Intakes,
        views: ProjectViews,
        wishes: Wishes,
        audit: Audit,
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._intakes = intakes
        self._views = views
        self._wishes = wishes
        self._audit = audit

    def pause(self, name: str, *, reason: str | None = None) -> Paused:
        """Let a view, or the intake of a stream or table, rest until it is resumed, in whichever process it runs.

        A batch that is being written is finished. A pause outlives every process, and is no failure. What a view has is
        served, and the log takes events; what is paused is brought up to date by nothing.
        """
        kind, subject = self._administered(name)
        self._audit.note(f"pause {kind}", subject, reason=reason)
        return self._wishes.pause(kind, subject, reason)

    def resume(self, name: str) -> None:
        """Let a view or an intake that is paused go on from where it was; a view that has stopped begins again."""
        kind, subject = self._administered(name)
        self._audit.note(f"resume {kind}", subject)
        self._wishes.resume(kind, subject)

    def replay(
        self,
        *views: str,
        hold: bool = False,
        options: Mapping[str, str] | None = None,
        progress: Callable[[Reading], None] = lambda _: None,
    ) -> list[CaughtUp]:
        """Build views, by default all, anew from the start of the log; otherwise like `Project.catch_up`.

        Each becomes a new version, which takes the place of the served one when it has caught up. Whatever became of
        the old one, the log has the same rows. One that another run works on is `left_to` that run, which builds it
        anew and goes on; one that is paused is built anew once it is resumed. With `hold` what is served stays so,
        and is fed, until the new version is promoted.
        """
        self._audit.note("replay", ", ".join(views) or None)
        if hold:
            self._hold([planned.name for planned in self._views.opened().catalog.materialized(views or None)])
        return self._views.opened().run.replay(views or None, options, progress)

    def ask_replay(self, view: str, *, hold: bool = False) -> None:
        """Let the run that works on a view, now or next, build it anew from the log; it is not waited for."""
        name = self._materialized(view).name
        if hold:
            self._hold([name])
        self._audit.note("replay view", name)
        self._wishes.ask_replay(name)

    def _hold(self, views: Iterable[str]) -> None:
        for view in views:
            self._audit.note("hold view", view)
            self._views.opened().catalog.holds.hold(view)

    def _hold_changed(self) -> None:
        """Hold the views that would be built anew by what is declared in the folder."""
        self._hold(step.view for step in self.change().views if step.served is not None and step.way != "end")

    def promote(self, *, only_tell: bool = False, hold: bool = False, may: bool = False) -> Promotion:
        """Let the declarations that are in the folder now take the place of those that were opened; tell what changes.

        Views that run in this process follow: a view that has changed is built as its next version beside the one that
        is served, a new one begins, one that is gone ends, and the others go on undisturbed. `CheckFailed` if the
        declarations have errors, `PromotionRefused` if a run can't take them over; nothing is changed then. With
        `only_tell`, nothing is changed either way. Settings stay as they were opened. With `hold`, what is served of
        views that have changed stays so, and is fed, until their new version is promoted (`Project.versions`); so it is
        if the project's policy says so. Whoever asks is held against the policy, unless it is known that they `may`.
        """
        if not only_tell:
            if not may:
                self._policy.check_actor()
            if hold or self._policy.holds:
                self._declarations.exchange(only_tell=True)  # what is refused holds nothing
                self._hold_changed()
            self._audit.note("promote", self._declarations.declared.name)
        return self._declarations.exchange(only_tell=only_tell)

    @property
    def _policy(self) -> Policy:
        return self._views.opened().catalog.policy

    def change(self, *views: str) -> Change:
        """Tell what the declarations that are in the folder now would change, of some views or of everything.

        They are compared in meaning with those that the versions in the stores were built by. Events and bytes are
        those that the log has, the time is told by how fast views were built before. Nothing is changed.
        """
        declared, catalog = self._declarations.waiting(), self._views.opened().catalog
        taken = self._declarations.kept.taken()
        outlook = Outlook(
            declared,
            None if taken is None else self._declarations.plan_kept(taken),
            self._declarations.view_kept,
            catalog.store,
            self._logs.of,
            self._logs.derived,
            catalog.speeds,
        )
        change = outlook.change()
        names = {declared.view(view).name for view in views}
        return change.of(names) if names else change

    def ask_promotion(self, *, only_tell: bool, wait: timedelta, hold: bool = False) -> dict[str, Any] | None:
        """Let the run of the project take changed declarations over; what became of it, None if none did in time."""
        if not only_tell:
            self._policy.check_actor()
            self._audit.note("ask for promotion", hold=hold)
            if hold or self._policy.holds:
                self._hold_changed()
        return self._wishes.promoted(self._wishes.ask_promotion(only_tell=only_tell), wait)

    def trim(self, topic: str, before: Since) -> int:
        """Let go of rows from before a commit, an instant of arrival or a time ago; returns how many rows went."""
        log = self._logs.of(topic)
        if isinstance(log.topic, model.Table):
            raise ArgumentRefused(
                f'the changes of table "{log.topic.name}" can\'t be trimmed',
                detail="Its rows are the newest changes of their keys, however old these are.",
                hint=f"Let go of those that were replaced: `headwater compact {log.topic.name} --keep 30d`.",
                topic=log.topic.name,
            )
        self._audit.note("trim", log.topic.name, before=before)
        return trim(log, self._logs.first(log, before))

    def compact(self, table: str, keep: timedelta) -> Compacted:
        """Let go of the changes of a table that newer ones had replaced so long ago: they can't be replayed any more.

        From then on the table can be asked for as of every instant, and is what it was.
        """
        log = self._logs.of(table)
        if not isinstance(log.topic, model.Table):
            raise ArgumentRefused(
                f'stream "{log.topic.name}" can\'t be compacted',
                detail="Its events don't replace each other.",
                hint=f"Let go of old ones: `headwater trim {log.topic.name} --before 90d`.",
                topic=log.topic.name,
            )
        self._audit.note("compact", log.topic.name, keep=keep)
        return compact_table(log, log.now() - keep)

    def drop_slot(self, name: str) -> Sequence[str]:
        """Drop a slot of PostgreSQL and its publication, for tables that are to be taken in no more."""
        self._audit.note("drop slot", name)
        return self._intakes.drop_slot(name)

    def readers_of(self, topic: str) -> list[str]:
        """The views that read a topic themselves."""
        views = self._declarations.plan().views.values()
        return [view.name for view in views if any(scan.relation == topic for scan in view.reading)]

    def audit(self, last: int | None = None) -> list[Act]:
        """The acts that were done to the project, by whom and when, oldest first; the `last` so many."""
        return self._audit.read(last)

    def _administered(self, name: str) -> tuple[Subject, str]:
        """The kind and name of what can be paused under a name: a view, or the intake of a topic."""
        topic = self._declarations.declared.find(name)
        if not isinstance(topic, model.Topic):
            return "view", self._materialized(name).name
        if topic.intake is None:
            raise ArgumentRefused(
                f'"{topic.name}" declares no intake',
                detail="Its events are appended by calls, and nothing fetches them.",
                hint="Pause the views that read it.",
                topic=topic.name,
            )
        return "intake", topic.name

    def _materialized(self, name: str) -> PlannedView:
        planned = self._declarations.plan().view(name)
        if not planned.view.materialized:
            raise ArgumentRefused(
                f'view "{planned.name}" has no rows of its own',
                detail="It is a name for a query, put in place wherever it is read.",
                hint="Name the views that read it.",
                view=planned.name,
            )
        return planned
