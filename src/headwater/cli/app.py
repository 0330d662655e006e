"""The command line. Each command is a few lines over the public API."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

import headwater as hw
from headwater.cli import template
from headwater.cli.arguments import parse_instant, parse_since, parse_span
from headwater.cli.intake import show_taken
from headwater.cli.output import (
    as_record,
    console,
    print_json,
    problems,
    show_commits,
    show_error,
    show_finding,
    show_instant,
    show_rows,
)
from headwater.cli.plan import show_description, show_plan
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
from headwater.errors import HeadwaterError
from headwater.intake import Generator, Lateness, to_json_lines
from headwater.operate import CaughtUp
from headwater.operate.halt import Halt
from headwater.operate.intake import run_intakes
from headwater.operate.why import MOST, read_row
from headwater.plan import as_dict, view_as_dict
from headwater.project import Progress as Done
from headwater.project import Project, Receipt

app = typer.Typer(
    name="headwater",
    help="Materialized views over event streams: correct, fresh and rebuildable.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
P = ParamSpec("P")
Folder = Annotated[
    Path, typer.Option("--project", "-p", envvar="HEADWATER_PROJECT", help="The project's folder.", show_default=True)
]
Json = Annotated[bool, typer.Option("--json", help="JSON lines instead of tables.")]
TopicName = Annotated[str, typer.Argument(metavar="TOPIC", help="A stream or table of the project.")]
HERE = Path()


@app.callback()
def _headwater(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"headwater {hw.__version__}")
        raise typer.Exit


def command(function: Callable[P, int | None], to: typer.Typer = app) -> Callable[P, None]:
    """Register a command: an error goes to standard error and ends it with 1; what it returns is its exit code."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = function(*args, **kwargs) or 0
        except HeadwaterError as error:
            show_error(error, as_records=bool(kwargs.get("json_")))
            code = 1
        except KeyboardInterrupt:
            code = 130
        except BrokenPipeError:  # whoever read our output has seen enough
            sys.stderr.close()
            code = 0
        raise typer.Exit(code)

    to.command(name=function.__name__.rstrip("_").replace("_", "-"))(run)
    return run


@command
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project shall be.")],
    name: Annotated[str | None, typer.Option(help="Its name; the folder's, if not given.")] = None,
    json_: Json = False,
) -> None:
    """Make a project that runs: settings, a stream, views, and events to try it with."""
    for path in template.create(folder, name or folder.absolute().name):
        if json_:
            print_json({"file": path})
        else:
            console.print(f"  [green]+[/] {path}")
    if not json_:
        console.print(f"\nNext: cd {folder} && headwater check && headwater append orders orders.jsonl")


@command
def check(project: Folder = HERE, json_: Json = False) -> int:
    """Compile the declarations and show every finding."""
    with hw.open(project) as opened:
        plan = opened.check()
        for finding in plan.findings:
            if json_:
                print_json({"severity": finding.severity} | finding.as_dict())
            else:
                show_finding(finding, _line_of(opened, finding))
        if not json_:
            _summarise(opened, len(plan.errors), len(plan.findings) - len(plan.errors))
        return 1 if plan.errors else 0


def _line_of(project: Project, finding: HeadwaterError) -> str | None:
    """The line of the user's file that a finding points at."""
    if finding.origin is None:
        return None
    try:
        return (project.folder / finding.origin.file).read_text(encoding="utf-8").splitlines()[finding.origin.line - 1]
    except (OSError, UnicodeDecodeError, IndexError):
        return None


def _summarise(project: Project, errors: int, cautions: int) -> None:
    declared = project.declared
    counts = [(len(list(declared.topics)), "topic"), (len(list(declared.views)), "view")]
    counts += [(count, "outlet")] if (count := len(list(declared.outlets))) else []
    held = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
    verdict = "[green]ok[/]" if not errors else f"[red]{errors} error{'' if errors == 1 else 's'}[/]"
    more = f", {cautions} warning{'' if cautions == 1 else 's'}" if cautions else ""
    console.print(f"{project.name}: {held}: {verdict}{more}")


@command
def plan(
    view: Annotated[str | None, typer.Argument(metavar="VIEW", help="One view; all, if not given.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the checked graph: each view's stages, columns, types, execution and lineage."""
    with hw.open(project) as opened:
        planned = opened.plan()
        if json_:
            print_json(as_dict(planned) if view is None else view_as_dict(planned.view(view)))
        else:
            show_plan(planned, view)


@command
def append(
    topic: TopicName,
    file: Annotated[str, typer.Argument(help="JSON lines, CSV or Parquet, by its suffix; - for standard input.")],
    project: Folder = HERE,
    batch: Annotated[int, typer.Option(min=1, help="Rows per commit.")] = 100_000,
    source: Annotated[
        str, typer.Option(help="Where the events came from: each source has its own watermark.")
    ] = "local",
    history: Annotated[bool, typer.Option("--history", help="One commit; nothing in it is late for itself.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Append nothing if anything can't be read.")] = False,
    unsorted: Annotated[
        bool, typer.Option("--unsorted", help="Rows that are late by the file's order are meant.")
    ] = False,
    format_: Annotated[str | None, typer.Option("--format", help="json, csv, tsv or parquet.")] = None,
    version: Annotated[
        int | None, typer.Option("--version", help="The version of the topic that the events are of, if it is earlier.")
    ] = None,
    json_: Json = False,
) -> None:
    """Append a file of events. What can't be read becomes a dead letter; the rest goes on."""
    with hw.open(project) as opened, _progress(file, quiet=json_) as progress:
        receipt = opened.append_file(
            topic,
            sys.stdin.buffer if file == "-" else file,
            format=format_,  # type: ignore[arg-type]  # refused by name if it is none of them
            batch=batch,
            source=source,
            history=history,
            strict=strict,
            unsorted=unsorted,
            version=version,
            progress=progress.update,
        )
    _show_receipt(receipt, json_)


class _progress:  # noqa: N801  # reads as a verb where it is used
    """A bar by the bytes of the file; nothing where nobody watches."""

    def __init__(self, file: str, *, quiet: bool) -> None:
        size = Path(file).stat().st_size if file != "-" and Path(file).is_file() else None
        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
        ]
        self._bar = Progress(*columns, console=problems, transient=True, disable=quiet or not problems.is_terminal)
        self._task = self._bar.add_task(f"appending {Path(file).name}", total=size)

    def __enter__(self) -> _progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, done: Done) -> None:
        dead = f", {done.dead:,} dead" if done.dead else ""
        self._bar.update(self._task, completed=done.bytes_read, description=f"{done.rows:,} rows{dead}")


def _show_receipt(receipt: Receipt, json_: bool) -> None:
    if json_:
        print_json(asdict(receipt))
        return
    letters = "dead letter" if receipt.dead == 1 else "dead letters"
    dead = f", [red]{receipt.dead:,} {letters}[/] (headwater dead {receipt.topic})" if receipt.dead else ""
    behind = f", [yellow]{receipt.behind:,} behind the watermark[/]" if receipt.behind else ""
    console.print(
        f"[green]{receipt.topic}[/]: {receipt.rows:,} {'row' if receipt.rows == 1 else 'rows'}{dead}{behind}; "
        f"commit {receipt.commit}, watermark {show_instant(receipt.watermark)}"
    )


@command
def intake(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", help="All, if none is named.")] = None,
    until_head: Annotated[bool, typer.Option("--until-head", help="End where the sources end now.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Fetch events from where streams and tables declare it, each exactly once, until Ctrl-C."""
    with hw.open(project) as opened:
        if until_head:
            for taken in opened.take_in(*(topics or ())):
                show_taken(taken, json_)
            return 0
        failed = run_intakes(opened.intakes(*(topics or ())), Halt(), opened.wishes)
    for error in failed:
        show_error(error, as_records=json_)
    return 1 if failed else 0


@command
def tick(
    topic: TopicName,
    to: Annotated[
        str | None, typer.Option(help="An instant; without it, as far as the sources' silence allows.")
    ] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Move a topic's watermark without events, so that windows close."""
    with hw.open(project) as opened:
        _show_receipt(opened.tick(topic, parse_instant(to) if to else None), json_)


@command
def log(
    topic: TopicName,
    last: Annotated[int, typer.Option(min=1, help="How many commits.")] = 20,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the last commits: rows, event-time range, watermark, sources."""
    with hw.open(project) as opened:
        commits = opened.log(topic, last)
    if json_:
        for found in commits:
            print_json(as_record(found))
    else:
        show_commits(commits)


@command
def tail(
    topic: TopicName,
    since: Annotated[
        str | None, typer.Option("--from", help="A commit (17), an instant, or how long ago (10m); all, if not given.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as new events come; Ctrl-C ends it.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Read the log, from a commit, an instant or a time ago, and follow it."""
    with hw.open(project) as opened:
        begin = parse_since(since)
        names = [column.name for column in opened.topic(topic).columns]
        for batch in (opened.follow if follow else opened.scan)(topic, since=begin):
            if json_:
                for row in batch.rows.to_pylist():
                    print_json(row)
            elif batch.rows.num_rows:
                show_rows(batch.rows.to_pylist(), ["_commit", "_row", "_watermark", "_source", *names])


@command
def dead(
    topic: TopicName,
    since: Annotated[str | None, typer.Option(help="A commit, an instant, or how long ago.")] = None,
    reason: Annotated[str | None, typer.Option(help="Those of one class of error, such as wrong-type.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show what could not be read, and why; of an outlet, what could not be delivered."""
    with hw.open(project) as opened:
        letters = opened.dead(topic, since=parse_since(since), error=reason).to_pylist()
    if json_:
        for letter in letters:
            shown = {name: letter[name] for name in ("position", "error", "reason", "source", "bytes")}
            shown |= {name: letter[name] for name in ("first_seen_at", "last_seen_at", "attempts")}
            print_json(
                shown | {"arrived_at": letter["_arrived_at"], "commit": letter["_commit"], "row": letter["_row"]}
            )
        return
    if not letters:
        console.print(f"{topic}: no dead letters")
        return
    show_rows([letter | {"event": letter["bytes"]} for letter in letters], ["position", "error", "reason", "event"])


@command
def redrive(
    topic: TopicName,
    since: Annotated[str | None, typer.Option(help="A commit of dead letters, an instant, or how long ago.")] = None,
    reason: Annotated[str | None, typer.Option(help="Those of one class of error, such as wrong-type.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Decode dead letters again with today's declaration, and append what can be read now, each once."""
    with hw.open(project) as opened:
        done = opened.redrive(topic, since=parse_since(since), error=reason)
    if json_:
        print_json(asdict(done))
    else:
        console.print(f"[green]{topic}[/]: {done.rows:,} came back, {done.dead:,} still dead")


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
    return _brought(Project.catch_up, views or [], {"max_rows": max_rows, "max_commits": max_commits}, project, json_)


@command
def replay(
    views: ViewNames = None,
    max_rows: MaxRows = None,
    max_commits: MaxCommits = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Build views anew from the start of the log, beside what is served, which they then replace.

    Otherwise like catch-up.
    """
    return _brought(Project.replay, views or [], {"max_rows": max_rows, "max_commits": max_commits}, project, json_)


def _brought(
    bring: Callable[..., list[CaughtUp]],
    views: list[str],
    limits: dict[str, int | None],
    project: Path,
    json_: bool,
) -> int:
    """Bring views to the head in one way or another, send on what they say, and tell what became of each."""
    options = {name: str(limit) for name, limit in limits.items() if limit is not None}
    with hw.open(project) as opened, CatchingUp(quiet=json_) as watched:
        done = bring(opened, *views, options=options, progress=watched.update)
        outlets = opened.outlets(*views)
        sent = opened.send(*outlets) if outlets else []
    for found in done:
        if found.error is not None:
            show_error(found.error, as_records=json_)
        elif json_:
            print_json(caught_up_record(found))
        else:
            show_caught_up(found)
    for outlet in sent:
        if outlet.error is not None:
            show_error(outlet.error, as_records=json_)
        elif json_:
            print_json(outlet.as_dict())
        else:
            show_sent(outlet)
    return 1 if any(found.error for found in done) or any(outlet.error for outlet in sent) else 0


@command
def query(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT over the project's views.")],
    store: Annotated[str, typer.Option(help="The store to ask.")] = "main",
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 1000,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Ask the store; nothing can be written."""
    with hw.open(project) as opened:
        show_table(opened.query(statement, store=store, limit=limit), json_)


@command
def rows(
    views: Annotated[list[str], typer.Argument(metavar="VIEW...", help="Views of the project.")],
    wait: Annotated[str, typer.Option(help="How long a common cut is waited for.")] = "5s",
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the rows of views, all true for the same commits of what they read together."""
    with hw.open(project) as opened:
        found = opened.rows_at_cut(*views, wait=parse_span(wait))
    for at in found:
        if json_:
            place = {"view": at.view, "version": at.version, "batch": at.batch, "commits": dict(at.commits)}
            print_json(place | {"rows": at.rows.to_pylist()})
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
        show_table(opened.late(view), json_)


@command
def ledger(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Show what became of every row: rows in = used + filtered + late + duplicates + dead. A remainder is an alarm."""
    with hw.open(project) as opened:
        found = opened.ledger(view)
    if json_:
        print_json(asdict(found) | {"rows_in": found.rows_in, "remainder": found.remainder})
    else:
        show_ledger(found)
    return 0 if found.remainder == 0 else 1


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
        rows = opened.batch(view, first=first, last=last, until=arrived)
    show_table(rows, json_)


@command
def verify(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Recompute a view from the log in batch, and compare: identical, or the exact difference."""
    with hw.open(project) as opened, problems.status("verifying"):
        found = opened.verify(view)
    if json_:
        print_json(asdict(found) | {"identical": found.identical})
    else:
        show_verified(found)
    return 0 if found.identical else 1


@command
def why(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    row: Annotated[list[str], typer.Argument(metavar="COLUMN=VALUE…", help="Which row; column.null=true for NULL.")],
    events: Annotated[int, typer.Option(min=1, help="How many events to show.")] = MOST,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the events behind a row of a view, and those that came too late for it."""
    named = [(name, value) for name, _, value in (part.partition("=") for part in row)]
    with hw.open(project) as opened, problems.status("looking for the events"):
        found = opened.why(view, read_row(named), most=events)
    if json_:
        print_json(found.as_dict())
    else:
        show_why(found)


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


@command
def trim(
    topic: TopicName,
    before: Annotated[str, typer.Option(help="A commit, an instant of arrival, or how long ago.")],
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Let go of a topic's old events, for good. Nothing is ever let go of otherwise."""
    with hw.open(project) as opened:
        rows = opened.trim(topic, parse_since(before))
    if json_:
        print_json({"topic": topic, "rows": rows})
    else:
        console.print(f"{topic}: {rows:,} rows let go")


@command
def generate(
    topic: TopicName,
    rows: Annotated[int, typer.Option(min=1, help="How many events.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same events.")] = 0,
    late: Annotated[float, typer.Option(min=0, max=1, help="Share of events that come late.")] = 0.05,
    duplicates: Annotated[float, typer.Option(min=0, max=1, help="Share of events that come twice.")] = 0.0,
    poison: Annotated[float, typer.Option(min=0, max=1, help="Share of events that can't be read.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="A file; standard output, if not given.")] = None,
    project: Folder = HERE,
    json_: Annotated[bool, typer.Option("--json", help="Events are JSON lines in any case.")] = True,  # noqa: ARG001
) -> None:
    """Make up events for a stream, as JSON lines: late, doubled and poisoned as you ask."""
    with hw.open(project) as opened:
        generator = Generator(
            topic=opened.topic(topic), seed=seed, lateness=Lateness(late), duplicates=duplicates, poison=poison
        )
        with out.open("wb") if out else nullcontext(sys.stdout.buffer) as target:
            for batch in generator.batches(rows):
                target.write(to_json_lines(batch))


def main() -> None:
    """The console script."""
    app()
