"""The declarations of a project: read from its folder, checked, and exchanged for others while it is open.

Those that were *taken* are what the project goes by. Its folder may change meanwhile: a promotion takes what it holds
then.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from headwater import declare, model
from headwater.config import Settings
from headwater.errors import CheckFailed, Finding, Origin, UnknownTopic
from headwater.operate.declared import KeptDeclarations
from headwater.operate.promotion import Promotion, compare
from headwater.plan import Plan, PlannedView, check
from headwater.project.described import DescribedTables, Redescribed

_NOWHERE = Origin("")


@dataclass(frozen=True)
class _Read:
    """The declarations of a folder, and what is wrong with its files."""

    declared: model.Project
    findings: tuple[Finding, ...]
    refused: frozenset[str]
    left_alone: tuple[declare.LeftAlone, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    def checked(self) -> Plan:
        """The plan, with the findings of the files as well."""
        plan = check(self.declared, self.refused)
        findings = sorted((*self.findings, *plan.findings), key=lambda finding: finding.origin or _NOWHERE)
        return replace(plan, findings=tuple(findings))


class Declarations:
    """The declarations of a folder, and their plan, which is made when it is first asked for. Thread-safe.

    `guard` is held while they are planned or exchanged; so does who opens something that follows an exchange. Each of
    the `followers` is called with the plan that takes the place of another, and what changes.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._described = DescribedTables(folder)
        self._taken = self._read(self._folder)
        self._plan: Plan | None = None
        self.kept = KeptDeclarations(folder / ".headwater")
        self._plans_kept: dict[str, Plan | None] = {}
        self.followers: list[Callable[[Plan, Promotion], None]] = []
        self.guard = threading.RLock()

    @property
    def declared(self) -> model.Project:
        """The declarations; names may still clash until they are checked."""
        return self._taken.declared

    @property
    def are_whole(self) -> bool:
        """Tells whether every file could be read."""
        return not self._taken.findings

    @property
    def left_alone(self) -> tuple[declare.LeftAlone, ...]:
        """The files in Python that were not run, because they declare nothing."""
        return self._taken.left_alone

    def check(self) -> Plan:
        """The plan with every finding: of the files, and of what they declare. It raises nothing."""
        with self.guard:
            if self._plan is None:
                self._plan = self._taken.checked()
            return self._plan

    def plan(self) -> Plan:
        """The plan of what has no errors; `CheckFailed` with every finding of what has."""
        return self.check().checked()

    def exchange(self, *, only_tell: bool = False) -> Promotion:
        """Take what is in the folder now, and let who follows take it over; tell what changes.

        `CheckFailed` if it has errors, `PromotionRefused` if a run can't take it over; nothing is changed then. With
        `only_tell`, nothing is changed either way.
        """
        with self.guard:
            before, read = self.plan(), self._read(self._folder)
            after = read.checked().checked()
            promotion = compare(before, after)
            if not only_tell:
                self._taken, self._plan = read, after
                for take_over in self.followers:
                    take_over(after, promotion)
            return promotion

    def waiting(self) -> Plan:
        """The plan of what is in the folder now, which nothing goes by yet; `CheckFailed` if it has errors."""
        with self.guard:
            return self._read(self._folder).checked().checked()

    def edited(self, texts: Mapping[str, str]) -> tuple[Plan, Plan]:
        """The plan of what is in the folder now, and the one with these files as these texts; with every finding.

        Nothing is written and nothing taken over.
        """
        with self.guard, tempfile.TemporaryDirectory() as aside:
            read = self._read(self._folder)
            for name, content in {**read.files, **{name: text.encode() for name, text in texts.items()}}.items():
                file = Path(aside) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            return read.checked(), self._read(Path(aside)).checked()

    def keep(self, planned: PlannedView | None = None) -> None:
        """Keep what was taken: for a version of a view that is built by it or, without a view, as what is run by."""
        with self.guard:
            if planned is None:
                self.kept.take(self.kept.keep(self._taken.files))
                return
            known = self.plan().views.get(planned.name)
            if known is None or known.fingerprint != planned.fingerprint:  # it was exchanged meanwhile
                return
            if self.kept.of(planned.name, planned.fingerprint) is None:
                self.kept.note(planned.name, planned.fingerprint, self.kept.keep(self._taken.files))

    def plan_kept(self, name: str) -> Plan | None:
        """The plan of declarations that were kept; None if they can't be read any more."""
        with self.guard:
            if name not in self._plans_kept:
                folder = self.kept.files(name)
                plan = None if folder is None else self._read(folder).checked()
                self._plans_kept[name] = None if plan is None or plan.errors else plan
            return self._plans_kept[name]

    def view_kept(self, view: str, fingerprint: str) -> tuple[Plan, PlannedView] | None:
        """A plan of a view that had this fingerprint, with the project that it was declared in; None if it is lost."""
        name = self.kept.of(view, fingerprint)
        plan = None if name is None else self.plan_kept(name)
        planned = None if plan is None else plan.views.get(view)
        if plan is None or planned is None or planned.fingerprint != fingerprint:
            return None
        return plan, planned

    def describe(self, *tables: str) -> list[Redescribed]:
        """Ask databases again for the columns of tables that leave them out, by default of all, and keep what they say.

        What is open goes on with the columns that it has; they are taken over by a promotion, or the next start.
        """
        names = tables or self._described.names
        return [self._described.again(topic.name, topic.intake) for topic in map(self.topic, names)]

    def topic(self, name: str) -> model.Topic:
        """The declared stream or table of that name."""
        declared = self.declared.find(name)
        if isinstance(declared, model.Topic):
            if declared.personal:
                self.plan()
            return declared
        if not self.are_whole:
            raise CheckFailed(self._taken.findings)
        known = ", ".join(sorted(topic.name for topic in self.declared.topics)) or "none"
        raise UnknownTopic(
            f'the project has no stream or table "{name}"',
            detail=f"It declares: {known}.",
            hint="Declare it with CREATE STREAM, or check the spelling.",
            topic=name,
        )

    def _read(self, folder: Path) -> _Read:
        describe = self._described.describe
        loaded = declare.load_folder(folder, self._settings.data, self._settings.declarations, describe)
        parsed = loaded.parsed
        declared = model.Project(
            name=self._settings.name,
            declarations=model.assembled(parsed.declarations),
            stores=self._settings.declared_stores(),
        )
        return _Read(declared, parsed.findings, parsed.refused, loaded.left_alone, loaded.files)
