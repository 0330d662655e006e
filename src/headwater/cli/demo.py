"""`headwater demo`: a bank's card payments, streaming in, in views that are kept up to date and served.

With an end, views are held against the log when it comes: every event accounted for, every view identical to what a
recomputation from the log gives.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.cli import template
from headwater.cli.bank import Bank
from headwater.cli.output import console, problems, show_rows
from headwater.config import ServeSettings
from headwater.errors import ExtraMissing, OperatorError
from headwater.operate import CaughtUp, Status
from headwater.project import Project, open_to_run
from headwater.serve import open_server

STREAM = "payments"
_TOLD = 5.0
"""Seconds between two lines about how it goes."""
_SECOND = timedelta(seconds=1)
_LONGEST_START = timedelta(minutes=8)


@dataclass(frozen=True)
class Summary:
    """The figures of the demo: events that were sent, of them late and dead, and each view held against the log."""

    events: int
    commits: int
    late: int
    dead: int
    remainder: int
    identical: bool
    views: list[dict[str, Any]]
    seconds: float


def run_demo(
    folder: Path | None, duration: timedelta | None, settings: ServeSettings, stop: threading.Event
) -> Summary:
    """Run the demo for a while, or until `stop` is set; then hold every view against the log."""
    began = time.monotonic()
    with _home(folder) as home, open_to_run(home) as project, _served(project, settings) as server:
        console.print(f"[bold]{project.name}[/]: card payments, {len(project.plan().views)} views, in {home}")
        console.print((home / "streams.sql").read_text(encoding="utf-8").strip(), style="cyan", markup=False)
        where = f"[bold green]{server.url}[/]" if server else "not served"
        console.print(f"\n{where}; Spark is starting …" + ("" if duration else " Ctrl-C ends it."))
        done = _follow(project, duration, stop)
        failed = [view.error for view in done if view.error]
        if failed:
            raise failed[0]
        return _summary(project, began)


@contextmanager
def _home(folder: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headwater-demo-") as temporary:
        home = folder or Path(temporary) / "bank"
        list(template.create(home, "bank", "bank"))
        yield home


def _served(project: Project, settings: ServeSettings) -> AbstractContextManager[Any]:
    """The server; on another port if the usual one is taken, and none at all where its packages are missing."""
    try:
        return open_server(project, settings)
    except ExtraMissing as missing:
        problems.print(f"[yellow]{missing.summary}[/]: {missing.hint}")
        return nullcontext()
    except OperatorError:
        return open_server(project, settings.model_copy(update={"port": 0}))


def _follow(project: Project, duration: timedelta | None, stop: threading.Event) -> list[CaughtUp]:
    """Keep the views at the head while payments come in."""
    over, done = threading.Event(), list[CaughtUp]()
    sending = threading.Thread(target=_send, args=(project, over), name="headwater-demo", daemon=True)
    running = threading.Thread(target=lambda: done.extend(project.run(stop=over)), name="headwater-run", daemon=True)
    sending.start()
    running.start()
    try:
        _wait(project, duration, stop, running)
    finally:
        over.set()
        sending.join()
        running.join()
    return done


def _send(project: Project, over: threading.Event) -> None:
    """Send what the bank's sources have to send of the second that has passed, each at its moment."""
    bank, number, began = Bank(), 0, time.monotonic()
    while not over.is_set():
        sent = list(bank.second(number, datetime.now(UTC) - _SECOND))
        for index, part in enumerate(sent):
            project.append(STREAM, part.lines, source=part.source)
            if over.wait(max(0.0, began + number + (index + 1) / len(sent) - time.monotonic())):
                return
        number += 1


def _wait(project: Project, duration: timedelta | None, stop: threading.Event, running: threading.Thread) -> None:
    """Wait for the end, which is counted from when every view is served, and tell now and then how it goes."""
    began, told, first = time.monotonic(), 0.0, False
    ends = began + _LONGEST_START.total_seconds() if duration else float("inf")
    while not stop.wait(0.2) and running.is_alive() and time.monotonic() < ends:
        if not first or time.monotonic() - told >= _TOLD:
            status = project.status()
            if not first and all(view.version is not None or view.has_stopped for view in status.views):
                first = True
                console.print(f"every view is served after {time.monotonic() - began:.1f} s")
                ends = time.monotonic() + duration.total_seconds() if duration else ends
        if first and time.monotonic() - told >= _TOLD:
            told = time.monotonic()
            console.print(_line(status))


def _line(status: Status) -> str:
    (topic,) = status.topics
    late = max((view.ledger.late for view in status.views if view.ledger), default=0)
    fresh = [seconds for view in status.views if view.figures and (seconds := view.figures.freshness(0.5)) is not None]
    freshness = f", fresh within {sorted(fresh)[len(fresh) // 2]:.1f} s" if fresh else ""
    lag = max((view.lag for view in status.views), default=0)
    return (
        f"{topic.rows:,} payments, [yellow]{late:,} late[/], [red]{topic.dead:,} dead[/], "
        f"{lag} commits behind{freshness}"
    )


def _summary(project: Project, began: float) -> Summary:
    """Bring every view to the head, and recompute it from the log."""
    console.print("\nHolding every view against the log …")
    failed = [view.error for view in project.catch_up() if view.error]
    if failed:
        raise failed[0]
    views: list[dict[str, Any]] = []
    for view in project.status().views:
        verified, ledger = project.verify(view.view), view.ledger
        assert ledger is not None
        counts = {name: getattr(ledger, name) for name in ("used", "late", "duplicates", "remainder")}
        verdict = "identical" if verified.identical else "DIFFERENT"
        views.append({"view": view.view, "rows": verified.rows, **counts, "verify": verdict})
    show_rows(views, list(views[0]))
    (topic,) = project.status().topics
    summary = Summary(
        topic.rows + topic.dead, topic.head, max(view["late"] for view in views), topic.dead,
        sum(abs(view["remainder"]) for view in views), all(view["verify"] == "identical" for view in views), views,
        round(time.monotonic() - began, 1),
    )  # fmt: skip
    console.print(
        f"\n[green]{summary.events:,} events in[/], {summary.commits:,} commits, [yellow]{summary.late:,} late[/], "
        f"[red]{summary.dead:,} dead[/], ledger remainder {summary.remainder}, "
        f"verify {'[green]identical[/]' if summary.identical else '[red]different[/]'}"
    )
    return summary
