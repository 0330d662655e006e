"""Commands about views: bringing them up to date, asking them, and asking why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, command
from headwater.cli.arguments import parse_instant, parse_span
from headwater.cli.output import console, print_json, problems, show_error
from headwater.cli.plan import show_description
from headwater.cli.views import (
    CatchingUp,
    caught_up_record,
    show_caught_up,
    show_ledger,
    show_sent,
    show_table,
    show_verified,
    show_why,
)

if TYPE_CHECKING:
    from headwater.operate import CaughtUp
    from headwater.project import Project

ViewNames = Annotated[list[str] | None, typer.Argument(metavar="[VIEW]...", help="All, if none is named.")]
MaxRows = Annotated[int | None, typer.Option(min=1, help="About how many rows in a micro-batch.")]
MaxCommits = Annotated[int | None, typer.Option(min=1, help="How many commits in a micro-batch.")]


@command
def catch_up(
    views: ViewNames = None,
    max_rows: MaxRows = None,
    max_commits: MaxCommits = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Bring views to the head of their topics, send on what their outlets send, and end.

    A view or an outlet that fails stops alone; Ctrl-C stops all, cleanly.
    """
    return _brought(lambda opened: opened.catch_up, views, max_rows, max_commits, project, json_)


@command
def replay(
    views: ViewNames = None,
    max_rows: MaxRows = None,
    max_commits: MaxCommits = None,
    hold: Annotated[bool, typer.Option("--hold", help="Go on serving what is served until this is promoted.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Build views anew from the start of the log, beside what is served, which they then replace.

    Otherwise like catch-up.
    """
    return _brought(
        lambda opened: partial(opened.admin.replay, hold=hold), views, max_rows, max_commits, project, json_
    )


def _brought(
    bring: Callable[[Project], Callable[..., list[CaughtUp]]],
    views: list[str] | None,
    max_rows: int | None,
    max_commits: int | None,
    project: Path,
    json_: bool,
) -> int:
    """Bring views to the head in one way or another, send on what they say, and tell what became of each."""
    limits = {"max_rows": max_rows, "max_commits": max_commits}
    options = {name: str(limit) for name, limit in limits.items() if limit is not None}
    with hw.open(project) as opened, CatchingUp(quiet=json_) as watched:
        done = bring(opened)(*(views or ()), options=options, progress=watched.update)
        outlets = opened.outlets.names(*(views or ()))
        sent = opened.send(*outlets) if outlets else []
    for view in done:
        if view.error is not None:
            show_error(view.error, as_records=json_)
        elif json_:
            print_json(caught_up_record(view))
        else:
            show_caught_up(view)
    for outlet in sent:
        if outlet.error is not None:
            show_error(outlet.error, as_records=json_)
        elif json_:
            print_json(outlet.as_dict())
        else:
            show_sent(outlet)
    return 1 if any(view.error for view in done) or any(outlet.error for outlet in sent) else 0


@command
def query(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT over the project's views.")],
    store: Annotated[str | None, typer.Option(help="The store to ask; else each view where it is kept.")] = None,
    native: Annotated[bool, typer.Option("--native", help="Ask in the store's own SQL.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 1000,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Ask views, in the SQL of views; nothing can be written."""
    with hw.open(project) as opened:
        show_table(opened.query(statement, store=store, limit=limit, native=native), json_)


@command
def rows(
    views: Annotated[list[str], typer.Argument(metavar="VIEW...", help="Views of the project.")],
    wait: Annotated[str, typer.Option(help="How long a common cut is waited for.")] = "5s",
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the rows of views, all true for the same commits of what they read together."""
    with hw.open(project) as opened:
        cut = opened.views.rows_at_cut(*views, wait=parse_span(wait))
    for at in cut:
        if json_:
            head = {"view": at.view, "version": at.version, "batch": at.batch, "commits": dict(at.commits)}
            print_json(head | {"rows": at.rows.to_pylist()})
        else:
            commits = ", ".join(f"{topic} {commit}" for topic, commit in at.commits.items())
            console.print(f"[bold]{at.view}[/], version {at.version}, at {commits}")
            show_table(at.rows, as_records=False)


@command
def late(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the rows that came too late for a view: for which window, and how late."""
    with hw.open(project) as opened:
        show_table(opened.views.late(view), json_)


@command
def ledger(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Show what became of every row: in = used + unmatched + filtered + late + duplicates + dead.

    A remainder is an alarm.
    """
    with hw.open(project) as opened:
        counts = opened.views.ledger(view)
    if json_:
        print_json(asdict(counts) | {"rows_in": counts.rows_in, "remainder": counts.remainder})
    else:
        show_ledger(counts)
    return 0 if counts.remainder == 0 else 1


@command
def batch(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    first: Annotated[int | None, typer.Option("--from", metavar="COMMIT", help="The first commit to read.")] = None,
    last: Annotated[int | None, typer.Option("--to", metavar="COMMIT", help="The last commit to read.")] = None,
    until: Annotated[str | None, typer.Option(metavar="INSTANT", help="Only what had arrived before then.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Compute a view at once, over the whole log or a part of it. Nothing is stored."""
    arrived = parse_instant(until) if until else None
    with hw.open(project) as opened, problems.status("computing"):
        rows = opened.views.batch(view, first=first, last=last, until=arrived)
    show_table(rows, json_)


@command
def verify(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Recompute a view from the log in batch, and compare: identical, or the exact difference."""
    with hw.open(project) as opened, problems.status("verifying"):
        verified = opened.verify(view)
    if json_:
        print_json(asdict(verified) | {"identical": verified.identical})
    else:
        show_verified(verified)
    return 0 if verified.identical else 1


@command
def why(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    row: Annotated[list[str], typer.Argument(metavar="COLUMN=VALUE…", help="Which row; column.null=true for NULL.")],
    events: Annotated[int | None, typer.Option(min=1, help="How many events to show; 100, if not given.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the events behind a row of a view, and those that came too late for it."""
    from headwater.operate.why import MOST, read_row

    named = [(name, value) for name, _, value in (part.partition("=") for part in row)]
    with hw.open(project) as opened, problems.status("looking for the events"):
        reasons = opened.why(view, read_row(named), most=events or MOST)
    if json_:
        print_json(reasons.as_dict())
    else:
        show_why(reasons)


@command
def explain(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark: show its plan, count the rows in state.")
    ] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show how a view is executed and why, its stages, the state it keeps, and its versions in the store."""
    with hw.open(project) as opened:
        explained = opened.explain(view, spark=spark)
    if json_:
        print_json(explained.as_dict())
    else:
        show_description(str(explained))
