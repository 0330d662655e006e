"""Administration: what an operator wants of the views and intakes of a project, in whichever process they run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headwater import model
from headwater.errors import ArgumentRefused
from headwater.operate.audit import Audit
from headwater.operate.wish import Paused, Subject, Wishes
from headwater.plan import PlannedView
from headwater.project.declarations import Declarations


class Administration:
    """Writes down what is wanted, of what a project declares."""

    def __init__(self, declarations: Declarations, wishes: Wishes, audit: Audit) -> None:
        self._declarations = declarations
        self._wishes = wishes
        self._audit = audit

    def pause(self, name: str, reason: str | None) -> Paused:
        """Let a view, or the intake of a topic, rest."""
        kind, subject = self._administered(name)
        self._audit.note(f"pause {kind}", subject, reason=reason)
        return self._wishes.pause(kind, subject, reason)

    def resume(self, name: str) -> None:
        """Let it go on."""
        kind, subject = self._administered(name)
        self._audit.note(f"resume {kind}", subject)
        self._wishes.resume(kind, subject)

    def ask_replay(self, view: str) -> None:
        """Let a view be built anew by who runs it."""
        name = self._materialized(view).name
        self._audit.note("replay view", name)
        self._wishes.ask_replay(name)

    def ask_promotion(self, only_tell: bool, wait: timedelta) -> dict[str, Any] | None:
        """Let the run of the project take changed declarations over; what became of it."""
        if not only_tell:
            self._audit.note("ask for promotion")
        return self._wishes.promoted(self._wishes.ask_promotion(only_tell=only_tell), wait)

    def _administered(self, name: str) -> tuple[Subject, str]:
        """What can be paused under a name: a view, or the intake of a topic."""
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
