"""`headwater sql`: an interactive shell over a project."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.app import HERE, Folder, Json, command
from headwater.cli.output import console, show_error
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.cli.shell.session import Confirm, Session


@command
def sql(
    commands: Annotated[
        list[str] | None, typer.Option("-c", metavar="SQL", help="Carry this out and end; may be given several times.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write edits of the project's files without asking.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows of a result.")] = 1000,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Ask and edit a project with statements, at a prompt, by -c, or from standard input. \\? shows what there is.

    Without a terminal the first statement that fails ends it with 1, and edits need --yes.
    """
    from headwater.cli.shell.session import Manner, Session

    prompts = commands is None and sys.stdin.isatty()
    manner = Manner(json_, limit, _confirms(yes=yes, prompts=prompts), pages=prompts and console.is_terminal)
    session = Session(Path(project), manner)
    try:
        return _talk(session) if prompts else _carry_out(session, _given(commands))
    finally:
        session.close()


def _given(commands: list[str] | None) -> list[str]:
    """The statements of -c, or of standard input; the last one needs no semicolon."""
    from headwater.cli.shell.prompt import statements

    given: list[str] = []
    for text in commands if commands is not None else [sys.stdin.read()]:
        ended, rest = statements(text + "\n")
        given += [*ended, *([rest.strip()] if rest.strip() else [])]
    return given


def _confirms(*, yes: bool, prompts: bool) -> Confirm:
    def confirm(question: str) -> bool:
        if yes or not prompts:
            return yes
        try:
            return input(question).strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            return False

    return confirm


def _carry_out(session: Session, given: Iterable[str]) -> int:
    for statement in given:
        if statement.rstrip(";") == "\\q":
            break
        session.execute(statement)
    return 0


def _talk(session: Session) -> int:
    from headwater.cli.shell.prompt import Names, Prompt

    prompt = Prompt(session.project.name, session.project.folder / ".headwater" / "sql_history", Names(session.project))
    try:
        for statement in prompt.statements():
            try:
                session.execute(statement)
            except HeadwaterError as error:
                show_error(error, as_records=session.manner.as_records)
            except KeyboardInterrupt:
                console.print("given up", style="dim")
            prompt.names = Names(session.project)
    finally:
        prompt.close()
    return 0
