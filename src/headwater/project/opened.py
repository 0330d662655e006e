"""An opened project as a whole: each of its calls is answered by one of the parts that it is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from headwater import model
from headwater.config import Settings, load_settings
from headwater.declare import LeftAlone
from headwater.errors import HeadwaterError
from headwater.intake import Format
from headwater.intake.place import open_codec
from headwater.intake.protocol import Taken
from headwater.intake.redrive import Redriven
from headwater.intake.run import Intake
from headwater.intake.schema.registry import SchemaRegistry
from headwater.log import LOCAL_SOURCE, wall_clock
from headwater.log import read as reading
from headwater.log.backup import BackedUp
from headwater.log.journal import Now
from headwater.log.loss import Lost, lost_of
from headwater.log.maintenance import trim
from headwater.log.reader import Delivery, Reader
from headwater.log.repair import Repaired
from headwater.log.scrub import Scrubbed
from headwater.operate import (
    Alert,
    Alerts,
    CaughtUp,
    Explained,
    Ledger,
    Patience,
    Reading,
    Status,
    Verified,
    Views,
    Why,
)
from headwater.operate.audit import Act, Audit
from headwater.operate.cut import ViewAt
from headwater.operate.outlet import Sent
from headwater.operate.promotion import Promotion
from headwater.operate.why import MOST
from headwater.operate.wish import Paused, Wishes
from headwater.outlets import OpenTarget, open_target
from headwater.plan import Plan
from headwater.project.administration import Administration
from headwater.project.append import Appender, Load, Progress, Receipt
from headwater.project.dead import Letters
from headwater.project.declarations import Declarations
from headwater.project.intake import Intakes, Waits
from headwater.project.integrity import Integrities
from headwater.project.logs import Logs, Since
from headwater.project.outlet import Outlets
from headwater.project.run import Listeners, Runner
from headwater.project.status import Overview
from headwater.store import OpenStore, Position, Selection, Served, Version, open_store

WATCH_POLL = timedelta(milliseconds=100)
CUT_WAIT = timedelta(seconds=5)
"""How long a cut of several views is waited for."""


class Project:
    """A project's declarations and its log. Open one with `headwater.open`; close it, or use it in a `with` block.

    Safe to use from several threads; several processes may have the same project open.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        now: Now = wall_clock,
        open_store: OpenStore = open_store,
        open_target: OpenTarget = open_target,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.wishes = Wishes(folder / ".headwater")
        self._audit = Audit(folder / ".headwater")
        self._open_store = open_store
        self._patience = Patience(
            settings.catch_up.attempts,
            settings.catch_up.backoff,
            settings.catch_up.longest_backoff,
            settings.catch_up.give_up_after,
            settings.catch_up.lease,
        )
        self._views: Views | None = None
        self._declarations = Declarations(folder, settings)
        self._administration = Administration(self._declarations, self.wishes, self._audit)
        self._logs = Logs(self._declarations, folder, settings, now)
        self._appender = Appender(self._logs, now)
        self._letters = Letters(self._declarations, self._logs)
        self._intakes = Intakes(self._declarations, self._logs, self.wishes, folder, settings)
        self._outlets = Outlets(
            self._declarations, self._logs, self._intakes, self._opened_views, folder, settings, self._patience, now,
            open_target,
        )  # fmt: skip
        self._integrities = Integrities(self._logs, folder, settings, self._audit, now)
        self._overview = Overview(
            self._declarations, self._intakes, self._opened_views, self._outlets, folder, settings, now
        )
        self._runner = Runner(
            self._declarations, self._logs, self.wishes, self._intakes, self._opened_views, self._outlets,
            self._overview, self.promote, self._integrities.scrub_share,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for maintenance that is under way, and let go of the log and the stores."""
        self._logs.close()
        if self._views is not None:
            self._views.close()

    # Declarations

    @property
    def name(self) -> str:
        """The project's name."""
        return self.settings.name

    @property
    def declared(self) -> model.Project:
        """What is declared, in the order in which it was read; names may still clash until it is checked."""
        return self._declarations.declared

    @property
    def left_alone(self) -> tuple[LeftAlone, ...]:
        """The files in Python below the project's folder that were not run, because they declare nothing."""
        return self._declarations.left_alone

    def topic(self, name: str) -> model.Topic:
        """The declared stream or table of that name."""
        return self._declarations.topic(name)

    def check(self) -> Plan:
        """The plan with every finding: of the files, and of what they declare. It raises nothing."""
        return self._declarations.check()

    def plan(self) -> Plan:
        """The plan of a project that has no errors; `CheckFailed` with every finding of one that has."""
        return self._declarations.plan()

    def promote(self, *, only_tell: bool = False) -> Promotion:
        """Let the declarations that are in the folder now take the place of those that were opened; tell what changes.

        Views that run in this process follow: a view that has changed is built as its next version beside the one that
        is served, a new one begins, one that is gone ends, and the others go on undisturbed. `CheckFailed` if the
        declarations have errors, `PromotionRefused` if a run can't take them over; nothing is changed then. With
        `only_tell`, nothing is changed either way. Settings stay as they were opened.
        """
        if not only_tell:
            self._audit.note("promote", self.name)
        return self._declarations.promote(self._take_over, only_tell=only_tell)

    def _take_over(self, plan: Plan, promotion: Promotion) -> None:
        """Let what runs in this process follow other declarations."""
        if self._views is not None:
            self._views.take_over(plan, promotion)
        self._runner.take_over(plan, promotion)

    # Appending

    def append(
        self,
        topic: str,
        rows: Any,
        *,
        source: str = LOCAL_SOURCE,
        sequence: tuple[str, int] | None = None,
        history: bool = False,
        strict: bool = False,
        version: int | None = None,
    ) -> Receipt:
        """Append rows as one commit: dicts, Arrow, pandas, Polars, dataclasses, or JSON lines as text.

        What can't be read becomes a dead letter and the rest is appended; `strict` appends nothing instead. `sequence`
        is (producer, number): the same one again appends nothing and returns the first commit. `version` is that of
        the rows if it is an earlier one: they are upcast.
        """
        return self._appender.append(
            topic, rows, source=source, sequence=sequence, history=history, strict=strict, version=version
        )

    def append_file(
        self,
        topic: str,
        file: str | Path | Any,
        *,
        format: Format | None = None,  # noqa: A002
        batch: int = 100_000,
        source: str = LOCAL_SOURCE,
        history: bool = False,
        strict: bool = False,
        unsorted: bool = False,
        version: int | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Receipt:
        """Append a file (JSON lines, CSV, Parquet) or a binary stream, one commit per `batch` rows.

        A `history` load is one commit, stamped as a whole: nothing in it is late for itself. Without it, a load most
        of which would be late only because it isn't sorted by time is refused before it is committed, unless
        `unsorted` says that this is meant. A `strict` load is decoded to its end before its first row is appended.
        `version` is that of the rows if it is an earlier one: they are upcast.
        """
        load = Load(topic, file, format, batch, source, unsorted, version)
        return self._appender.load(load, progress, history=history, strict=strict)

    def take_in(self, *topics: str, bulk_above: int | None = None) -> list[Taken]:
        """Fetch the events of topics, by default of all that declare an intake, up to where their sources end now.

        Each event is taken in exactly once, however often and wherever this is called; one that fails raises when the
        others have ended. One that is paused is left out. If a topic of Kafka has more than `bulk_above` messages that
        are not taken in, tasks of Spark read them, and they are one history commit.
        """
        return self._intakes.take_in(topics, bulk_above, lambda: self._opened_views().spark)

    def intakes(self, *topics: str, waits: Waits = lambda _, __: None) -> list[Intake]:
        """The intakes of topics, by default of all that declare one, to be run by the caller.

        `waits` is told by a run what it waits for, and (None) when it goes on.
        """
        return self._intakes.open(topics, waits)

    @property
    def schemas(self) -> SchemaRegistry:
        """The project's own schema registry, kept in its log."""
        return self._intakes.schemas

    def tick(self, topic: str, to: datetime | None = None) -> Receipt:
        """Move the watermark without rows: to an instant, or as far as the silence of the sources allows."""
        return Receipt.of(self._logs.of(topic).tick(to))

    # Reading

    def watermark(self, topic: str) -> datetime:
        """The watermark after the newest commit of a topic."""
        return self._logs.of(topic).watermark

    def head(self, topic: str) -> int:
        """The number of a topic's newest commit; -1 if nothing was ever appended."""
        return self._logs.of(topic).head

    def identity(self, topic: str) -> str | None:
        """What tells a topic's log from another one that was made in its place; None while there is no log."""
        return self._logs.of(topic).identity

    def log(self, topic: str, last: int = 20) -> list[reading.Commit]:
        """The last commits of a topic, oldest first."""
        log = self._logs.of(topic)
        return list(reading.commits(log, max(0, log.head - last + 1)))

    def read(
        self, topic: str, *, since: Since = None, until: Since = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of a topic in log order: from a commit, an instant of arrival or a time ago, up to another.

        `since` is included; `until` is included if it is a commit, and not if it is an instant.
        """
        log = self._logs.of(topic)
        return reading.read(log, self._logs.first(log, since), self._logs.last(log, until), columns)

    def scan(self, topic: str, *, since: Since = None, columns: Sequence[str] | None = None) -> Iterator[reading.Batch]:
        """The rows of a topic batch by batch, up to the end of the log, in constant memory."""
        log = self._logs.of(topic)
        return reading.scan(log, self._logs.first(log, since), columns=columns)

    def follow(
        self,
        topic: str,
        *,
        since: Since = None,
        columns: Sequence[str] | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[reading.Batch]:
        """The same, and then each new commit as it comes, until `stop` is set."""
        log = self._logs.of(topic)
        return reading.follow(log, self._logs.first(log, since), columns, stop=stop)

    def dead(self, topic: str, *, since: Since = None, error: str | None = None) -> pa.Table:
        """The dead letters of a topic: bytes, reason, error, source, position, when they were seen, and how often.

        `error` chooses those of one class, such as `wrong-type`. Those that a redrive has brought back are not among
        them. Of an outlet: the changes that it could not deliver.
        """
        return self._letters.read(topic, since, error)

    def redrive(self, topic: str, *, since: Since = None, error: str | None = None) -> Redriven:
        """Decode dead letters again with today's declaration, and append what can be read now, each letter once.

        `error` chooses those of one class, such as `wrong-type`. Each row has the source and the event time of its
        letter, and the watermark as it stands: what is late by now is late.
        """
        codec = open_codec(self.topic(topic), self.settings.kafka, self.schemas)
        self._audit.note("redrive", self.topic(topic).name, since=since, error=error)
        return self._letters.redrive(topic, since, error, self._appender.decoder(topic), codec)

    def reader(
        self, topic: str, name: str, *, delivery: Delivery = "at-least-once", member: int = 0, members: int = 1
    ) -> Reader:
        """A reader that remembers under its name how far it has come; members of one name share the keys."""
        positions = self._logs.storage("readers")
        return Reader(self._logs.of(topic), positions, name, delivery=delivery, member=member, members=members)

    def trim(self, topic: str, before: Since) -> int:
        """Let go of rows from before a commit, an instant of arrival or a time ago; returns how many rows went."""
        log = self._logs.of(topic)
        self._audit.note("trim", self.topic(topic).name, before=before)
        return trim(log, self._logs.first(log, before))

    def scrub(
        self, topic: str | None = None, *, progress: Callable[[str, int, int], object] = lambda *_: None
    ) -> list[Scrubbed]:
        """Read all of every log, or of those of a topic, and check it; what is hurt is told by its commits."""
        return self._integrities.scrub(None if topic is None else self.topic(topic), progress)

    def backup(self, url: str, *, progress: Callable[[str, int, int], object] = lambda *_: None) -> BackedUp:
        """Copy what is new of the logs to a folder or URL, consistent while the project runs, and check the copy."""
        return self._integrities.back_up(url, progress)

    def restore(
        self, url: str, to: str | None = None, *, progress: Callable[[str, int, int], object] = lambda *_: None
    ) -> BackedUp:
        """Copy a backup to the project's data, or to another place, where there must be no log, and check it."""
        return self._integrities.restore(url, to, progress)

    def repair(self, topic: str, url: str | None = None) -> list[Repaired]:
        """Put back what is hurt in the logs of a topic: from a backup or a replica, or what follows from the log."""
        return self._integrities.repair(self.topic(topic), url)

    def declare_lost(self, topic: str, commits: str, reason: str) -> Lost:
        """Declare hurt commits (such as "3,7-9") of a topic lost, by name; returns what went with them."""
        return self._integrities.declare_lost(self.topic(topic), commits, reason)

    # Views

    def catch_up(
        self,
        *views: str,
        options: Mapping[str, str] | None = None,
        progress: Callable[[Reading], None] = lambda _: None,
    ) -> list[CaughtUp]:
        """Bring views, by default all, to the head of their topics. One that fails stops alone; its error is returned.

        Several run at a time; results are in the order of declaration. `options` are passed to the source: `max_rows`,
        `max_commits` in a micro-batch. `progress` is told how far each view has come, from several threads.
        """
        return self._opened_views().catch_up(views or None, options, progress)

    def replay(
        self,
        *views: str,
        options: Mapping[str, str] | None = None,
        progress: Callable[[Reading], None] = lambda _: None,
    ) -> list[CaughtUp]:
        """Build views, by default all, anew from the start of the log; otherwise like `catch_up`.

        Each becomes a new version, which takes the place of the served one when it has caught up. Whatever became of
        the old one, the log has the same rows. One that another run works on is `left_to` that run, which builds it
        anew and goes on; one that is paused is built anew once it is resumed.
        """
        self._audit.note("replay", ", ".join(views) or None)
        return self._opened_views().replay(views or None, options, progress)

    def pause(self, name: str, *, reason: str | None = None) -> Paused:
        """Let a view, or the intake of a stream or table, rest until it is resumed, in whichever process it runs.

        A batch that is being written is finished. A pause outlives every process, and is no failure. What a view has is
        served, and the log takes events; what is paused is brought up to date by nothing.
        """
        return self._administration.pause(name, reason)

    def resume(self, name: str) -> None:
        """Let a view or an intake that is paused go on from where it was; a view that has stopped begins again."""
        self._administration.resume(name)

    def ask_replay(self, view: str) -> None:
        """Let the run that works on a view, now or next, build it anew from the log; it is not waited for."""
        self._administration.ask_replay(view)

    def ask_promotion(self, *, only_tell: bool, wait: timedelta) -> dict[str, Any] | None:
        """Let the run of the project take changed declarations over; what became of it, None if none did in time."""
        return self._administration.ask_promotion(only_tell, wait)

    def audit(self, last: int | None = None) -> list[Act]:
        """What was done to the project, by whom and when, oldest first; the `last` so many acts."""
        return self._audit.read(last)

    def run(
        self,
        *views: str,
        options: Mapping[str, str] | None = None,
        progress: Callable[[Reading], None] = lambda _: None,
        ended: Callable[[CaughtUp], None] = lambda _: None,
        failed: Callable[[HeadwaterError], None] = lambda _: None,
        waits: Waits = lambda _, __: None,
        sent: Callable[[Sent], None] = lambda _: None,
        alerted: Callable[[Alert], None] = lambda _: None,
        promoted: Callable[[Promotion | HeadwaterError], None] = lambda _: None,
        stop: threading.Event | None = None,
        wait: bool = True,
        stays: bool = False,
    ) -> list[CaughtUp]:
        """Take events in, keep views, by default all, at the head, and let their outlets send, until `stop` is set.

        A view that fails for good ends alone, and `ended` is told; an intake or an outlet likewise, and `failed` is
        told. With `stays` the run goes on though every view has ended, since each can be resumed. What may succeed
        later is tried again, and `waits` is told what an intake waits for, and (None) when it goes on; a view that
        another run works on is waited for, or, without `wait`, ends with `ViewBusy`. What is paused rests. A batch that
        is being written when the end comes is finished. Silent topics are ticked. The rules of alerts are looked at,
        and `alerted` is told of those that begin to fire or are resolved. Declarations that have changed are taken over
        when another process asks for a promotion, and `promoted` is told what came of it. What is told (`sent`: how far
        outlets have come) is told from several threads.
        """
        listeners = Listeners(progress, ended, failed, waits, sent, alerted, promoted)
        return self._runner.run(views, options, listeners, stop or threading.Event(), wait=wait, stays=stays)

    def outlets(self, *views: str) -> list[str]:
        """The names of the outlets of views, by default of all."""
        return self._outlets.names(views)

    def send(self, *outlets: str) -> list[Sent]:
        """Send what outlets, by default all, have to send, up to where their views are. One that fails stops alone.

        Where the target allows it each change is there exactly once, however often and wherever this is called.
        """
        return self._outlets.send(outlets)

    def status(self) -> Status:
        """How topics, views and outlets are: heads, watermarks, lag, ledgers, alerts; the figures of what runs.

        Of views that another process runs, the figures are at most some seconds old.
        """
        return self._overview.status()

    def alerts(self) -> Alerts:
        """What the rules of alerts say: those that are pending, that fire, and that were resolved within the hour.

        It is what a run has found lately, in whichever process; else it is looked at now, by what is known here.
        """
        return self._overview.alerts()

    def query(
        self, statement: str, *, store: str | None = None, limit: int | None = None, native: bool = False
    ) -> pa.Table:
        """Answer a statement over views, at most so many rows. It is in the SQL of views, whatever store they are in.

        Values and types are exactly those that Spark would give; what has no exact answer is `StatementRefused`. Each
        view is read where it is kept, or in the `store` that is named. With `native` the statement is in that store's
        own SQL. Nothing can be written either way.
        """
        return self._opened_views().query(statement, store, limit, native=native)

    def views_of(self, statement: str) -> list[str]:
        """The views that a statement reads."""
        return self._opened_views().queries.views_of(statement)

    def select(self, view: str, selection: Selection) -> tuple[Served, pa.Table]:
        """The rows of a view that a selection chooses, with the version and the position that they are true for."""
        return self._opened_views().queries.rows(view, selection)

    def served(self, view: str) -> Version | None:
        """The version of a view that is served, with its position; None while it has no rows to serve."""
        return self._opened_views().served(view)

    def place(self, view: str) -> tuple[int, Position | None] | None:
        """The version of a view that is served and its position, as `served` has them; None while it has no rows."""
        return self._opened_views().place(view)

    def rows(self, view: str) -> pa.Table:
        """The rows of a view as they are served, with exactly the declared types."""
        return self._opened_views().store(view).read(self.plan().view(view).name)

    def rows_at_cut(self, *views: str, wait: timedelta = CUT_WAIT) -> list[ViewAt]:
        """The rows of several views, true for the same commits of what they read together.

        The newest such cut is taken, led back to by the changelogs; if there is none, it is waited for so long, and
        then `NotReached` is raised. `ArgumentRefused` if views read the same topic in different ways, one through
        another view: then no commit tells of both.
        """
        return self._opened_views().cut(views, wait)

    def watch(self, view: str, *, stop: threading.Event | None = None) -> Iterator[pa.Table]:
        """What each batch changes in a view from now on, whichever process runs it, until `stop` is set."""
        stop, at = stop or threading.Event(), _place(self.served(view))
        while not stop.wait(WATCH_POLL.total_seconds()):
            version, batch = _place(self.served(view))
            if (version, batch) == at or version is None:
                continue
            for table in self.changes(view, version, since=at[1] if at[0] == version else -1):
                batch = max(batch, table["batch"][0].as_py())
                yield table
            at = version, batch

    def published(self, view: str, watermark: datetime) -> int | None:
        """The newest commit of a view's derived topic, if all is published there that is final at a watermark of it."""
        from headwater.engine.view import published

        planned = self.plan().view(view)
        log = self._logs.derived(planned)
        return log.head if log.watermark >= published(planned).watermark(watermark) else None

    def late(self, view: str) -> pa.Table:
        """The rows that came too late for a view, once per window that they were late for, and how late they were."""
        return self._opened_views().late(view)

    def batch(
        self, view: str, *, first: int | None = None, last: int | None = None, until: datetime | None = None
    ) -> pa.Table:
        """The rows of a view computed at once, by default over the whole log; nothing is stored.

        `first` and `last` are commits, of each topic that it reads. `until` is an instant of arrival: the rows that the
        view had once everything was read that had arrived before it.
        """
        views, plan = self._opened_views(), self.plan()
        names = plan.graph.upstream(plan.view(view).name) & set(plan.topics)
        after = None if first is None else dict.fromkeys(names, first - 1)
        upto = None if last is None else {name: min(last, self.head(name)) for name in names}
        if until is not None:
            arrived = {name: reading.seek(self._logs.of(name), until) - 1 for name in names}
            upto = {name: min(commit, (upto or arrived)[name]) for name, commit in arrived.items()}
        return views.batch(view, after, upto)

    def changes(
        self,
        view: str,
        version: int | None = None,
        *,
        since: int | None = None,
        accumulation: model.Accumulation = "accumulate",
    ) -> Iterator[pa.Table]:
        """What changed in a view after a batch of it, by default all that is kept: a table for each batch.

        Columns: `op` (insert, update or delete), the row `before` and `after`, `batch`, `commit`, `at`, `watermark` and
        `watermark_before`, and `timing` (early, on time or late). With accumulation `discard`, `after` has the
        differences of totals in place of totals, for views whose columns add up.
        """
        return self._opened_views().changes(view, version, since, accumulation)

    def ledger(self, view: str) -> Ledger:
        """What became of every event that was sent to the topics of a view; its remainder must be 0."""
        found = self._opened_views().ledger(view)
        topics = [name for name in found.commits if name in self.plan().topics]
        lost = sum(lost_of(self._logs.of(name)).rows for name in topics)
        return replace(found, dead=self._letters.count(topics), lost=lost)

    def verify(self, view: str) -> Verified:
        """Recompute a view from the log in batch, up to where its store is, and compare its rows and its ledger."""
        return self._opened_views().verify(view)

    def why(self, view: str, row: Mapping[str, Any], *, most: int = MOST) -> Why:
        """The events behind a row of a view, which is named by its columns, and those that came too late for it.

        Values may be text. `most` events of each are shown, the first in log order.
        """
        return self._opened_views().why(view, row, most)

    def explain(self, view: str, *, spark: bool = False) -> Explained:
        """How a view is executed and why, the state it keeps, and its versions in the store; `str` of it is for people.

        With `spark`, Spark is started: its own plan is shown, and the rows in state are counted.
        """
        return self._opened_views().explain(view, spark=spark)

    def _opened_views(self) -> Views:
        """The views, which follow a promotion from then on."""
        with self._declarations.guard:
            if self._views is None:
                settings = self.settings.catch_up
                self._views = Views(
                    self.plan(),
                    self._logs.of,
                    self._logs.derived,
                    self.folder / ".headwater",
                    self.settings.spark,
                    at_once=settings.views_at_once,
                    patience=self._patience,
                    open_store=self._open_store,
                )
            return self._views


def open_project(folder: str | Path = ".", *, now: Now = wall_clock) -> Project:
    """Open the project in a folder."""
    path = Path(folder).absolute()
    return Project(path, load_settings(path), now)


def _place(version: Version | None) -> tuple[int | None, int]:
    """Which version is served, and its newest batch; -1 before the first."""
    return (version.target.version if version else None, version.position.batch if version and version.position else -1)
