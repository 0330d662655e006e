"""Commands about the log: events in, commits and rows out, dead letters, what is let go of and made up."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, TopicName, command
from headwater.cli.arguments import parse_instant, parse_since, parse_span
from headwater.cli.intake import show_taken, show_unknown
from headwater.cli.output import (
    as_record,
    console,
    print_json,
    problems,
    show_commits,
    show_error,
    show_instant,
    show_rows,
)

if TYPE_CHECKING:
    from headwater.project import Progress as Done
    from headwater.project import Receipt

BULK_ABOVE = 5_000_000
"""A backlog of so many messages makes it worth to start Spark."""


@command
def append(
    topic: TopicName,
    file: Annotated[
        str | None,
        typer.Argument(help="JSON lines, CSV, Parquet, Arrow or Avro, by its suffix; - for standard input."),
    ] = None,
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
    format_: Annotated[str | None, typer.Option("--format", help="json, csv, tsv, parquet, arrow or avro.")] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="kafka: what its topic has, instead of a file.", metavar="SOURCE")
    ] = None,
    bulk_above: Annotated[
        int, typer.Option(min=0, help="With --from kafka: how many messages make it worth the tasks of Spark.")
    ] = BULK_ABOVE,
    version: Annotated[
        int | None, typer.Option("--version", help="The version of the topic that the events are of, if it is earlier.")
    ] = None,
    json_: Json = False,
) -> int:
    """Append a file of events. What can't be read becomes a dead letter; the rest goes on.

    Exit code 1 if there were events and none became a row.
    """
    if (file is None) == (from_ is None) or from_ not in (None, "kafka"):
        raise typer.BadParameter("give a FILE, or --from kafka")
    if file is None:
        with hw.open(project) as opened:
            for taken in opened.take_in(topic, bulk_above=bulk_above):
                show_taken(taken, json_)
        return 0
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
    return 1 if receipt.became == "dead letters" else 0


@command
def delete(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the project.")],
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="Keys, or one key as COLUMN=VALUE COLUMN=VALUE.")],
    at: Annotated[str | None, typer.Option(help="When it happened, where changes have an event time.")] = None,
    source: Annotated[str, typer.Option(help="Where the deletes came from.")] = "local",
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Delete rows of a table by their keys. A key that isn't there is no error."""
    from headwater.intake.deletes import read_keys

    with hw.open(project) as opened:
        rows = read_keys(opened.declarations.topic(table), keys)
        receipt = opened.delete(table, rows, at=parse_instant(at) if at else None, source=source)
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
        print_json(asdict(receipt) | {"became": receipt.became})
        return
    letters = "dead letter" if receipt.dead == 1 else "dead letters"
    dead = f", [red]{receipt.dead:,} {letters}[/] (headwater dead {receipt.topic})" if receipt.dead else ""
    behind = f", [yellow]{receipt.behind:,} behind the watermark[/]" if receipt.behind else ""
    colour = "red" if receipt.became == "dead letters" else "green"
    rows = f"{receipt.rows:,} {'row' if receipt.rows == 1 else 'rows'}"
    console.print(
        f"[{colour}]{receipt.topic}[/]: {rows}{dead}{behind}{show_unknown(receipt.unknown)}; "
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
    from headwater.operate.halt import Halt
    from headwater.operate.intake import run_intakes

    with hw.open(project) as opened:
        if until_head:
            for taken in opened.take_in(*(topics or ())):
                show_taken(taken, json_)
            return 0
        failed = run_intakes(opened.intakes.open(*(topics or ())), Halt(), opened.wishes)
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
        _show_receipt(opened.log.tick(topic, parse_instant(to) if to else None), json_)


@command
def log(
    topic: TopicName,
    last: Annotated[int, typer.Option(min=1, help="How many commits.")] = 20,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the last commits: rows, event-time range, watermark, sources."""
    with hw.open(project) as opened:
        commits = opened.log.commits(topic, last)
    if json_:
        for commit in commits:
            print_json(as_record(commit))
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
        names = [column.name for column in opened.declarations.topic(topic).columns]
        for batch in (opened.log.follow if follow else opened.log.scan)(topic, since=begin):
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
    from headwater.store.plain import readable

    with hw.open(project) as opened:
        letters = opened.dead(topic, since=parse_since(since), error=reason).to_pylist()
    if json_:
        for letter in letters:
            shown = {name: letter[name] for name in ("position", "error", "reason", "source")}
            shown |= {"bytes": None if letter["bytes"] is None else readable(letter["bytes"])}
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


@command
def trim(
    topic: TopicName,
    before: Annotated[str, typer.Option(help="A commit, an instant of arrival, or how long ago.")],
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Let go of a topic's old events, for good. Nothing is ever let go of otherwise."""
    with hw.open(project) as opened:
        rows = opened.admin.trim(topic, parse_since(before))
    if json_:
        print_json({"topic": topic, "rows": rows})
    else:
        console.print(f"{topic}: {rows:,} rows let go")


@command
def compact(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the project.")],
    keep: Annotated[str, typer.Option(help="The history that stays, such as 30d.")],
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Let go of changes of a table that newer ones replaced long ago. What goes can't be replayed."""
    with hw.open(project) as opened:
        done = opened.admin.compact(table, parse_span(keep))
        views = opened.admin.readers_of(opened.declarations.topic(table).name)
    if json_:
        print_json({"topic": table, "rows": done.rows, "commit": done.commit, "at": done.at, "views": views})
        return
    console.print(f"{table}: {done.rows:,} changes let go; it can be asked for as of {show_instant(done.at)} and later")
    if views:
        console.print(
            f"A replay of {', '.join(views)} finds it so from the beginning on: earlier rows may come out otherwise."
        )


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
    from headwater.intake import Generator, Lateness, to_json_lines

    with hw.open(project) as opened:
        generator = Generator(
            topic=opened.declarations.topic(topic),
            seed=seed,
            lateness=Lateness(late),
            duplicates=duplicates,
            poison=poison,
        )
        with out.open("wb") if out else nullcontext(sys.stdout.buffer) as target:
            for batch in generator.batches(rows):
                target.write(to_json_lines(batch))
