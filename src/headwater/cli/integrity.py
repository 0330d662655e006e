"""Commands that keep the log whole: scrub, backup, restore, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, TopicName, command
from headwater.cli.output import console, print_json, problems, show_rows

if TYPE_CHECKING:
    from headwater.log.backup import BackedUp
    from headwater.log.scrub import Hurt

Url = Annotated[str, typer.Argument(metavar="URL", help="A folder, or an s3://, gs:// or az:// URL.")]


@command
def scrub(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="Only the logs of this stream or table.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Read all of the log and check it. Exit code 1 if something is hurt, with the exact commits."""
    with hw.open(project) as opened, _bar(json_) as bar:
        logs = opened.integrity.scrub(topic, progress=bar)
    hurt = [each for log in logs for each in log.hurt]
    if json_:
        for log in logs:
            print_json(asdict(log))
        return 1 if hurt else 0
    fields = ("log", "head", "entries", "files", "bytes", "unchecked")
    show_rows([{name: getattr(log, name) for name in fields} for log in logs], list(fields))
    _show_hurt(hurt)
    return 1 if hurt else 0


@command
def backup(url: Url, project: Folder = HERE, json_: Json = False) -> int:
    """Copy what is new of the log to another place, while the project runs, and check the copy."""
    with hw.open(project) as opened, _bar(json_) as bar:
        done = opened.integrity.backup(url, progress=bar)
    return _show_copied(done, "backed up", json_)


@command
def restore(
    url: Url,
    to: Annotated[str | None, typer.Option(help="Another folder or URL than the project's data.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Copy a backup to where there is no log yet, and check it. Views are built from it as they are run."""
    with hw.open(project) as opened, _bar(json_) as bar:
        done = opened.integrity.restore(url, to, progress=bar)
    return _show_copied(done, "restored", json_)


@command
def repair(
    topic: TopicName,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="A backup, or the data of a replica.")
    ] = None,
    from_source: Annotated[
        bool, typer.Option("--from-source", help="Read lost data files again from the offsets that Kafka still has.")
    ] = False,
    declare_lost: Annotated[
        str | None, typer.Option(metavar="COMMITS", help="Declare these commits lost, such as 3,7-9.")
    ] = None,
    reason: Annotated[str, typer.Option(help="With --declare-lost: why they are.")] = "",
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Put back what is hurt in a topic's logs, from a copy or its source; or declare it lost.

    Exit code 1 if something is left.
    """
    with hw.open(project) as opened:
        if declare_lost is not None:
            lost = opened.integrity.declare_lost(topic, declare_lost, reason)
            if json_:
                print_json({"topic": topic, "commits": declare_lost, "reason": reason} | asdict(lost))
            else:
                console.print(
                    f"{topic}: {lost.rows} rows and {lost.entries} entries are declared lost", highlight=False
                )
            return 0
        repaired = [opened.integrity.remake(topic)] if from_source else opened.integrity.repair(topic, from_)
    for log in repaired:
        if json_:
            print_json(asdict(log))
        else:
            console.print(f"{log.log}: {len(log.back)} files are back", highlight=False)
    left = [each for log in repaired for each in log.left]
    if not json_:
        _show_hurt(left)
    return 1 if left else 0


def _show_copied(done: BackedUp, what: str, json_: bool) -> int:
    if json_:
        print_json(asdict(done) | {"good": done.good})
    else:
        console.print(f"{what}: {len(done.heads)} logs, {done.objects} objects, {done.bytes:,} bytes", highlight=False)
        _show_hurt(done.hurt)
    return 0 if done.good else 1


def _show_hurt(hurt: list[Hurt] | tuple[Hurt, ...]) -> None:
    if hurt:
        console.print()
        show_rows([asdict(each) for each in hurt], list(asdict(hurt[0])))


class _Shown:
    """A bar per log."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, object] = {}

    def __call__(self, log: str, done: int, total: int) -> None:
        task = self._tasks.setdefault(log, None) or self._bar.add_task(log, total=total)
        self._tasks[log] = task
        self._bar.update(task, completed=done, total=total)  # type: ignore[arg-type]


@contextmanager
def _bar(quiet: bool) -> Iterator[_Shown]:
    columns = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=problems, transient=True, disable=quiet or not problems.is_terminal) as bar:
        yield _Shown(bar)
