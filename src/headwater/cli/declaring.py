"""Commands about declarations: a project that runs, what is wrong with it, and what it would do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headwater as hw
from headwater.cli import template
from headwater.cli.app import HERE, Folder, Json, command
from headwater.cli.change import show_change
from headwater.cli.output import console, print_json, problems, show_finding
from headwater.cli.plan import show_plan
from headwater.errors import ArgumentRefused

if TYPE_CHECKING:
    from headwater.errors import HeadwaterError
    from headwater.project import Project

_SHOWN_FILES = 8
WOULD_CHANGE = 3
"""The exit code of a plan by which something would change."""


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
        _show_left_alone(opened, json_)
        if not json_:
            _summarise(opened, len(plan.errors), len(plan.findings) - len(plan.errors))
        return 1 if plan.errors else 0


def _show_left_alone(project: Project, json_: bool) -> None:
    """Show which files in Python were not run: one that was meant to declare something would be missed."""
    files = project.declarations.left_alone
    if json_ and files:
        print_json({"left_alone": [{"file": file.file, "why": file.why} for file in files]})
    elif files:
        named = ", ".join(file.file for file in files[:_SHOWN_FILES])
        more = f" and {len(files) - _SHOWN_FILES} more" if len(files) > _SHOWN_FILES else ""
        console.print(f"left alone, since nothing is declared there: {named}{more}", style="dim", markup=False)


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
def convert(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of declarations; - is standard input.")],
    from_: Annotated[
        str, typer.Option("--from", metavar="SYSTEM", help="flink, ksqldb, materialize, risingwave, spark.")
    ],
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write there; else to standard output.")
    ] = None,
    json_: Json = False,
) -> int:
    """Write declarations of another system in ours, and check them. Exit code 1 if what was written has errors.

    What couldn't be carried over stands in the text as a comment, with what to write.
    """
    from headwater.convert import SYSTEMS
    from headwater.convert import convert as convert_texts

    system = SYSTEMS.get(from_)
    if system is None:
        raise ArgumentRefused(f'"{from_}" is no system that is converted from', hint=f"There are {', '.join(SYSTEMS)}.")
    converted = convert_texts([_text_of(file) for file in files], system, to.name if to else "converted.sql")
    if to is not None:
        _write_new(to, converted.text)
    if json_:
        notes = [{"declaration": name, "note": note} for name, note in converted.notes]
        findings = [finding.as_dict() for finding in converted.findings]
        print_json({"sql": converted.text, "notes": notes, "findings": findings})
    elif to is None:
        typer.echo(converted.text, nl=False)
    lines = converted.text.splitlines()
    for finding in converted.findings if not json_ else ():
        show_finding(finding, lines[finding.origin.line - 1] if finding.origin else None, to=problems)
    return 1 if converted.errors else 0


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is not UTF-8 text"
        raise ArgumentRefused(f'"{file}" can\'t be read', detail=f"{reason}.") from None


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise ArgumentRefused(
            f'"{file}" is there already', detail="Nothing was written.", hint="Name another."
        ) from None
    except OSError as cause:
        raise ArgumentRefused(f'"{file}" can\'t be written', detail=f"{cause.strerror}.") from None


@command
def describe(
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="All, if none is named.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Ask databases again for the columns of tables that leave them out, and keep what they say with the project."""
    with hw.open(project) as opened:
        described = opened.declarations.describe(*tables or ())
    for table in described:
        if json_:
            print_json({"table": table.table, "columns": table.columns, "changes": table.changes})
        else:
            console.print(f"{table.table}: {len(table.columns)} columns{'' if table.changes else ', as before'}")
            for column, change in table.changes.items():
                console.print(f"  {column}  {change}", markup=False)
    if not described and not json_:
        console.print("no table leaves its columns to a database")


@command
def plan(
    views: Annotated[list[str] | None, typer.Argument(metavar="VIEW", help="All, if none is named.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Show what the declarations would change, if they were promoted. Exit code 3 if they would change anything."""
    with hw.open(project) as opened:
        change = opened.admin.change(*views or ())
    if json_:
        print_json({"changes": bool(change)} | change.as_dict())
    else:
        show_change(change)
    return WOULD_CHANGE if change else 0


@command
def graph(
    view: Annotated[str | None, typer.Argument(metavar="VIEW", help="One view; all, if not given.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the checked graph: each view's stages, columns, types, execution and lineage."""
    from headwater.plan import as_dict, view_as_dict

    with hw.open(project) as opened:
        planned = opened.plan()
        if json_:
            print_json(as_dict(planned) if view is None else view_as_dict(planned.view(view)))
        else:
            show_plan(planned, view)
