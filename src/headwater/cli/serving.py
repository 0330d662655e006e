"""Commands that keep a project going and show how it goes: run, status, watch, and the tokens of its API."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, app, command
from headwater.cli.arguments import parse_span
from headwater.cli.output import console, print_json
from headwater.cli.run import Narrator, ended_by_signals
from headwater.cli.status import show_status
from headwater.errors import ArgumentRefused
from headwater.serve import open_server, require_extra

DEMO_UNATTENDED = timedelta(seconds=30)
tokens = typer.Typer(no_args_is_help=True, help="Tokens of the HTTP API.")
app.add_typer(tokens, name="token")
to_tokens = partial(command, to=tokens)
Expires = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long it is good, such as 90d; without an end, if not given.")
]


@command
def run(
    views: Annotated[list[str] | None, typer.Argument(metavar="[VIEW]...", help="All, if none is named.")] = None,
    host: Annotated[
        str | None, typer.Option(help="The address to serve on; as in headwater.toml, else loopback.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port to serve on.")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate: serve with TLS. Its key is --tls-key.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's key.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front ends TLS: serve others without it.")
    ] = False,
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the HTTP API and the dashboard.")] = True,
    workers: Annotated[
        int | None, typer.Option(min=0, max=64, help="How many processes of their own serve; 0 for that of the run.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for views that another run works on, or stop them.")
    ] = True,
    project: Folder = HERE,
    json_: Annotated[bool, typer.Option("--json", help="Logs as JSON lines.")] = False,
) -> int:
    """Keep views at the head, serve them and let outlets send, until Ctrl-C or SIGTERM. One that fails stops alone."""
    from headwater.project import open_to_run

    narrator = Narrator(as_records=json_)
    with open_to_run(project) as opened, ended_by_signals() as stop:
        files = {name: path and str(path.absolute()) for name, path in (("tls_cert", tls_cert), ("tls_key", tls_key))}
        wanted = {"host": host, "port": port, "behind_proxy": behind_proxy or None, "workers": workers, **files}
        settings = opened.settings.serve.model_copy(update={k: v for k, v in wanted.items() if v is not None})
        opened.plan()
        if serve:
            require_extra()
            from headwater.serve.tls import refuse_in_the_clear

            refuse_in_the_clear(settings)
        with open_server(opened, settings) if serve else nullcontext() as server:
            narrator.tell("project starts", project=opened.name, url=server.url if server else None)
            opened.run(
                *(views or ()),
                listeners=narrator.listeners,
                stop=stop,
                wait=wait,
                stays=server is not None,  # what is in the stores is served all the same
            )
        narrator.tell("project ends", project=opened.name)
    return 1 if narrator.failures else 0


@command
def demo(
    folder: Annotated[
        Path | None, typer.Option("--in", help="Where to keep the project; a temporary folder else.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long, such as 30s; else until Ctrl-C.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on.")] = 8765,
    json_: Json = False,
) -> int:
    """Card payments streaming into views, live, at http://127.0.0.1:8765; then every view is held against the log.

    Where nobody watches (standard output is no terminal) it ends by itself after 30 seconds.
    """
    from headwater.cli.demo import run_demo
    from headwater.config import ServeSettings

    console.quiet = json_
    unattended = None if console.is_terminal and not json_ else DEMO_UNATTENDED
    wanted = parse_span(duration) if duration else unattended
    with ended_by_signals() as stop:
        summary = run_demo(folder, wanted, ServeSettings(port=port), stop)
    if json_:
        print_json(asdict(summary))
    return 0 if summary.identical and summary.remainder == 0 else 1


@command
def status(project: Folder = HERE, json_: Json = False) -> int:
    """Show how topics and views are: heads, watermarks, lag, ledgers.

    Exit code 1 if a ledger leaves a remainder, or a view is unsound.
    """
    with hw.open(project) as opened:
        whole = opened.status()
    if json_:
        print_json(whole.as_dict())
    else:
        show_status(whole)
    return 1 if any(view.unsound or (view.ledger and view.ledger.remainder) for view in whole.views) else 0


@command
def watch(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A view of the project.")],
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many changes.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show changes of a view as they happen, whichever process runs it; a live table in a terminal. Ctrl-C ends it."""
    from rich.live import Live

    from headwater.cli.watch import Board

    seen = 0
    with hw.open(project) as opened, ended_by_signals() as stop:
        board = Board(view, opened.plan().view(view))
        lines = json_ or not console.is_terminal
        with nullcontext() if lines else Live(board, console=console, refresh_per_second=8):
            for table in opened.views.watch(view, stop=stop):
                for change in table.to_pylist():
                    if json_:
                        print_json(change)
                    elif lines:
                        console.print(board.line(change))
                    else:
                        board.take(change)
                    seen += 1
                    if limit is not None and seen >= limit:
                        return


@to_tokens
def create(
    name: Annotated[str, typer.Argument(help="What the token is called.")],
    role: Annotated[str, typer.Option(help="read, write or operate; each includes the ones before it.")] = "read",
    stream: Annotated[list[str] | None, typer.Option(help="A stream that it is for; all, if nothing is named.")] = None,
    view: Annotated[list[str] | None, typer.Option(help="A view that it is for.")] = None,
    expires: Expires = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Make a token and show it, once: only its hash is kept."""
    require_extra()
    from headwater.serve.role import ROLES
    from headwater.serve.tokens import Tokens

    known_role = next((known for known in ROLES if known == role), None)
    if known_role is None:
        raise ArgumentRefused(f'there is no role "{role}"', hint=f"The roles are {', '.join(ROLES)}.")
    with hw.open(project) as opened:
        secret = Tokens(opened.folder).create(name, known_role, stream or (), view or (), _span(expires))
    _show_secret(name, secret, json_)


@to_tokens
def rotate(
    name: Annotated[str, typer.Argument(help="What the token is called.")],
    overlap: Annotated[str, typer.Option(metavar="TIME", help="How long the former one is good yet.")] = "1 hour",
    expires: Expires = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Make a token in the place of one with the same name, role and scope; the former is good for the overlap yet."""
    require_extra()
    from headwater.serve.tokens import Tokens

    with hw.open(project) as opened:
        secret = Tokens(opened.folder).rotate(name, parse_span(overlap), _span(expires))
    _show_secret(name, secret, json_)


def _span(text: str | None) -> timedelta | None:
    return None if text is None else parse_span(text)


def _show_secret(name: str, secret: str, json_: bool) -> None:
    if json_:
        print_json({"name": name, "token": secret})
    else:
        console.print(secret, markup=False)


@to_tokens
def list_(project: Folder = HERE, json_: Json = False) -> None:
    """Show the tokens: names, roles, scopes, when they were made, how long they are good; never the secrets."""
    require_extra()
    from headwater.serve.tokens import Tokens

    with hw.open(project) as opened:
        tokens = Tokens(opened.folder).all()
    for token in tokens:
        if json_:
            print_json(asdict(token.access) | {"made_at": token.made_at, "expires_at": token.expires_at})
        else:
            scope = ", ".join([*token.access.streams, *token.access.views]) or "everything"
            until = f", good until {token.expires_at:%Y-%m-%d %H:%M:%S}" if token.expires_at else ""
            console.print(
                f"{token.access.name}: {token.access.role} of {scope}, made at {token.made_at:%Y-%m-%d %H:%M:%S}{until}"
            )


@to_tokens
def revoke(
    name: Annotated[str, typer.Argument(help="What the token is called.")], project: Folder = HERE, json_: Json = False
) -> None:
    """Forget a token: from now on it is refused."""
    require_extra()
    from headwater.serve.tokens import Tokens

    with hw.open(project) as opened:
        Tokens(opened.folder).revoke(name)
    if json_:
        print_json({"name": name, "revoked": True})
