"""Commands of whoever runs a project: pause, resume, promote, what the alerts say, and who did what."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, command
from headwater.cli.output import console, print_json
from headwater.cli.status import show_alerts, show_promotion, show_rules
from headwater.cli.versions import share_of, show_promoted

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Views, or streams and tables with an intake.")]


@command
def pause(
    names: Names,
    reason: Annotated[str | None, typer.Option(help="Why, for whoever looks at the status.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Let views or intakes rest until they are resumed, in whichever process they run, and over restarts."""
    with hw.open(project) as opened:
        for name in names:
            paused = opened.admin.pause(name, reason=reason)
            if json_:
                print_json({"name": name, "paused": asdict(paused)})
            else:
                console.print(f"[yellow]{name}[/]: {paused}", highlight=False)


@command
def resume(
    names: Names,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Let what is paused go on from where it was; a view that has stopped begins again."""
    with hw.open(project) as opened:
        for name in names:
            opened.admin.resume(name)
            if json_:
                print_json({"name": name, "paused": None})
            else:
                console.print(f"[green]{name}[/]: goes on")


@command
def promote(
    views: Annotated[
        list[str] | None, typer.Argument(metavar="VIEW", help="Serve the versions that are held: of all or of none.")
    ] = None,
    only_tell: Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")] = False,
    hold: Annotated[bool, typer.Option("--hold", help="Go on serving what is served until VIEW is promoted.")] = False,
    version: Annotated[int | None, typer.Option(help="Of VIEW: the version; the newest, if not given.")] = None,
    max_diff: Annotated[str | None, typer.Option(help="Of VIEW: the share of rows that may differ: 0.1%.")] = None,
    max_missing: Annotated[str | None, typer.Option(help="Of VIEW: the share of rows that may be missing.")] = None,
    require: Annotated[str | None, typer.Option(help="Of VIEW: a query over old and new that is to be true.")] = None,
    keep_old: Annotated[str | None, typer.Option(help="Of VIEW: how long the version before is kept up.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Let the run of the project take changed declarations over, or serve the versions of views that are held."""
    from headwater.model import parse_duration
    from headwater.operate.wish import PROMOTION

    shares = {"max_diff": share_of(max_diff), "max_missing": share_of(max_missing)}
    is_asked = any(value is not None for value in (version, require, *shares.values()))
    if (not views and is_asked) or (views and (hold or only_tell)):
        raise typer.BadParameter("limits and --version are of a VIEW; --hold and --dry-run of declarations")
    if views and len(views) > 1 and version is not None:
        raise typer.BadParameter("--version is of one VIEW")
    with hw.open(project) as opened:
        opened.plan()
        if views:
            kept = None if keep_old is None else parse_duration(keep_old)
            if version is None:
                promoted = opened.versions.promote_together(*views, require=require, keep_old=kept, **shares)
            else:
                one = opened.versions.promote(views[0], version=version, require=require, keep_old=kept, **shares)
                promoted = [one]
            for done in promoted:
                show_promoted(done, json_)
            return 0
        outcome = opened.admin.ask_promotion(only_tell=only_tell, wait=PROMOTION, hold=hold and not only_tell)
    if json_:
        print_json({"taken_up": outcome is not None} | (outcome or {}))
    else:
        show_promotion(outcome, only_tell)
    return 1 if outcome and "error" in outcome else 0


@command
def alerts(project: Folder = HERE, json_: Json = False) -> int:
    """Show the alerts of the project and its rules. Exit code 1 if one fires."""
    with hw.open(project) as opened:
        shown = opened.alerts()
    if json_:
        print_json(shown.as_dict())
    else:
        show_alerts(shown.alerts)
        show_rules(shown)
    return 1 if shown.firing else 0


@command
def audit(
    last: Annotated[int, typer.Option(min=1, help="How many acts to show.")] = 20,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show who did what to the project: pauses, replays, promotions, trims, redrives, tokens."""
    with hw.open(project) as opened:
        for act in opened.admin.audit(last):
            if json_:
                print_json(asdict(act))
                continue
            details = ", ".join(f"{name} {value}" for name, value in act.details.items())
            said = f"{act.at[:19].replace('T', ' ')}  {act.actor}  {act.act} {act.subject or ''}".rstrip()
            console.print(f"{said}  {details}".rstrip(), highlight=False, markup=False, soft_wrap=True)
