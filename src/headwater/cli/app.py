"""The command line itself: what commands share, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

import headwater as hw
from headwater.cli.output import show_error
from headwater.errors import HeadwaterError

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


def main() -> None:
    """The console script. What it writes, and what Spark writes for it, is for its owner alone."""
    os.umask(0o077)
    app()
