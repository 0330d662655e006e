"""An opened project: the calls of everyday, each answered by one of the parts that it is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.config import Settings, load_settings
from headwater.engine.session import Spark
from headwater.intake import Format
from headwater.intake.protocol import Taken
from headwater.intake.redrive import Redriven
from headwater.log import LOCAL_SOURCE, wall_clock
from headwater.log.journal import Now
from headwater.operate import Alerts, CaughtUp, Explained, Patience, Reading, Status, Verified, Why
from headwater.operate.audit import Audit
from headwater.operate.outlet import Sent
from headwater.operate.why import MOST
from headwater.operate.wish import Wishes
from headwater.outlets import OpenTarget, open_target
from headwater.plan import Plan
from headwater.project.admin import Administration
from headwater.project.append import Appender, Load, Progress, Receipt
from headwater.project.dead import Letters
from headwater.project.declarations import Declarations
from headwater.project.delegate import Delegate
from headwater.project.intake import Intakes
from headwater.project.integrity import Integrities
from headwater.project.log import ProjectLog
from headwater.project.logs import Logs, Since
from headwater.project.outlet import Outlets
from headwater.project.run import Listeners, Runner
from headwater.project.status import Overview
from headwater.project.versions import ProjectVersions
from headwater.project.views import ProjectViews
from headwater.schemas.registry import SchemaRegistry
from headwater.store import OpenStore, open_store


class Project(AbstractContextManager["Project"]):
    """A project's declarations and its log. Open one with `headwater.open`; close it, or use it in a `with` block.

    Its own calls are those of everyday. The others are in its parts: `declarations` (what its folder declares), `log`
    (heads, watermarks, commits, readers), `intakes`, `views` (at one cut, in batch, their ledgers), `outlets`, `admin`
    (pause, resume, replay, promote, trim, audit), `versions` of views (hold, compare, promote, rollback, prune) and
    `integrity` (scrub, backup, restore, repair).

    Safe to use from several threads; several processes may have the same project open.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        now: Now = wall_clock,
        open_store: OpenStore = open_store,
        open_target: OpenTarget = open_target,
        spark: Spark | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.name = settings.name
        self.wishes = Wishes(folder / ".headwater")
        spark = spark or spark_of(folder, settings)
        audit, patience = Audit(folder / ".headwater"), _patience(settings)
        self.declarations = Declarations(folder, settings)
        self._delegate = Delegate(self.declarations, folder / ".headwater", spark)
        self._logs = Logs(self.declarations, folder, settings, now)
        self.log = ProjectLog(self._logs)
        self.intakes = Intakes(self.declarations, self._logs, self.wishes, folder, settings)
        self._appender = Appender(self._logs, now)
        self._letters = Letters(self.declarations, self._logs, self._appender, self.intakes, audit)
        self.views = ProjectViews(
            self.declarations, self._logs, self._letters, folder, settings, patience, open_store, spark, self._delegate
        )
        self.outlets = Outlets(
            self.declarations, self._logs, self.intakes, self.views.opened, folder, settings, patience, now, open_target
        )
        self.admin = Administration(self.declarations, self._logs, self.intakes, self.views, self.wishes, audit)
        self.versions = ProjectVersions(self.declarations, self.views.opened, audit)
        self.integrity = Integrities(
            self.declarations, self._logs, folder, settings, audit, now, self.intakes.read_again
        )
        self._overview = Overview(
            self.declarations, self.intakes, self.views.opened, self.outlets, folder, settings, now
        )
        self._runner = Runner(
            self.declarations, self._logs, self.wishes, self.intakes, self.views.opened, self.outlets, self._overview,
            self.admin, self.integrity.scrub_share, self._delegate,
        )  # fmt: skip

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for maintenance that is under way, and let go of the log and the stores."""
        self._logs.close()
        self.views.close()

    @property
    def declared(self) -> model.Project:
        """The declarations, in the order in which they were read; names may still clash until they are checked."""
        return self.declarations.declared

    def check(self) -> Plan:
        """The plan with every finding: of the files, and of what they declare. It raises nothing."""
        return self.declarations.check()

    def plan(self) -> Plan:
        """The plan of a project that has no errors; `CheckFailed` with every finding of one that has."""
        return self.declarations.plan()

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

    def delete(
        self,
        table: str,
        keys: Any,
        *,
        at: datetime | None = None,
        source: str = LOCAL_SOURCE,
        sequence: tuple[str, int] | None = None,
    ) -> Receipt:
        """Delete rows of a table by their keys, as one commit: one value or several, or rows with the key's columns.

        Where the table's changes have an event time, `at` says when it happened, unless the rows do. A key that isn't
        there is no error. Keys that can't be read are refused together: nothing is appended.
        """
        return self._appender.delete(table, keys, at, source=source, sequence=sequence)

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
        return self.intakes.take_in(topics, bulk_above, lambda: self.views.opened().catalog.spark)

    @property
    def schemas(self) -> SchemaRegistry:
        """The project's own schema registry, kept in its log."""
        return self.intakes.schemas

    def read(
        self, topic: str, *, since: Since = None, until: Since = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of a topic in log order: from a commit, an instant of arrival or a time ago, up to another.

        `since` is included; `until` is included if it is a commit, and not if it is an instant.
        """
        return self.log.read(topic, since=since, until=until, columns=columns)

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
        return self._letters.redrive(topic, since, error)

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
        return self.views.opened().run.catch_up(views or None, options, progress)

    def run(
        self,
        *views: str,
        options: Mapping[str, str] | None = None,
        listeners: Listeners = Listeners(),  # noqa: B008  # it is frozen
        stop: threading.Event | None = None,
        wait: bool = True,
        stays: bool = False,
    ) -> list[CaughtUp]:
        """Take events in, keep views, by default all, at the head, and let their outlets send, until `stop` is set.

        A view that fails for good ends alone; an intake or an outlet likewise. With `stays` the run goes on though
        every view has ended, since each can be resumed. What may succeed later is tried again; a view that another run
        works on is waited for, or, without `wait`, ends with `ViewBusy`. What is paused rests. A batch that is being
        written when the end comes is finished. Silent topics are ticked. The rules of alerts are looked at.
        Declarations that have changed are taken over when another process asks for a promotion. `listeners` are told
        what happens.
        """
        return self._runner.run(views, options, listeners, stop or threading.Event(), wait=wait, stays=stays)

    def send(self, *outlets: str) -> list[Sent]:
        """Send what outlets, by default all, have to send, up to where their views are. One that fails stops alone.

        Where the target allows it each change is there exactly once, however often and wherever this is called.
        """
        return self.outlets.send(outlets)

    def status(self) -> Status:
        """The status of topics, views and outlets: heads, watermarks, lag, ledgers, alerts; the figures of what runs.

        Of views that another process runs, the figures are at most some seconds old.
        """
        return self._overview.status()

    def alerts(self) -> Alerts:
        """The alerts of the project's rules: those that are pending, that fire, and that were resolved within the hour.

        It is what a run has found lately, in whichever process; else it is looked at now, by what is known here.
        """
        return self._overview.alerts()

    def query(
        self, statement: str, *, store: str | None = None, limit: int | None = None, native: bool = False
    ) -> pa.Table:
        """Answer a statement over views and tables, at most so many rows, in the SQL of views, whatever the store.

        Values and types are exactly those that Spark would give; what has no exact answer is `StatementRefused`. Each
        view is read where it is kept, or in the `store` that is named, each table in the log, as it is or
        `FOR SYSTEM_TIME AS OF` an instant. With `native` the statement is in that store's own SQL. Nothing can be
        written either way.
        """
        return self.views.opened().ask.query(statement, store, limit, native=native)

    def rows(self, view: str) -> pa.Table:
        """The rows of a view as they are served, with exactly the declared types."""
        planned = self.plan().view(view)
        return self.views.opened().ask.store(view).read(planned.name).select([one.name for one in planned.shown])

    def changes(
        self,
        view: str,
        version: int | None = None,
        *,
        since: int | None = None,
        accumulation: model.Accumulation = "accumulate",
    ) -> Iterator[pa.Table]:
        """The changes of a view after a batch of it, by default all that are kept: a table for each batch.

        Columns: `op` (insert, update or delete), the row `before` and `after`, `batch`, `commit`, `at`, `watermark` and
        `watermark_before`, and `timing` (early, on time or late). With accumulation `discard`, `after` has the
        differences of totals in place of totals, for views whose columns add up.
        """
        return self.views.opened().ask.changes(view, version, since, accumulation)

    def verify(self, view: str) -> Verified:
        """Recompute a view from the log in batch, up to where its store is, and compare its rows and its ledger."""
        verified: Verified = self._delegate.do("verify", view)
        return verified

    def why(self, view: str, row: Mapping[str, Any], *, most: int = MOST) -> Why:
        """The events behind a row of a view, which is named by its columns, and those that came too late for it.

        Values may be text. `most` events of each are shown, the first in log order.
        """
        reasons: Why = self._delegate.do("why", view, row=dict(row), most=most)
        return reasons

    def explain(self, view: str, *, spark: bool = False) -> Explained:
        """The execution of a view and why, the state it keeps, its versions in the store; `str` of it is for people.

        With `spark`, Spark is started: its own plan is shown, and the rows in state are counted.
        """
        return self.views.opened().inspect.explain(view, spark=spark)


def open_project(folder: str | Path = ".", *, now: Now = wall_clock) -> Project:
    """Open the project in a folder."""
    path = Path(folder).absolute()
    return Project(path, load_settings(path), now)


def open_to_run(folder: Path) -> Project:
    """Open a project that will need Spark at once: it starts while the declarations are read."""
    path = folder.absolute()
    settings = load_settings(path)
    spark = spark_of(path, settings)
    spark.begin()
    try:
        return Project(path, settings, spark=spark)
    except BaseException:
        spark.close()
        raise


def spark_of(folder: Path, settings: Settings) -> Spark:
    """The Spark of the project in a folder, not begun yet."""
    return Spark(settings.name, settings.spark, folder / ".headwater", record=True)


def _patience(settings: Settings) -> Patience:
    stated = settings.catch_up
    return Patience(stated.attempts, stated.backoff, stated.longest_backoff, stated.give_up_after, stated.lease)
