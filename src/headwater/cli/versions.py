"""Commands about the versions of a view: how two differ, which one is served, and the way back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, command
from headwater.cli.output import console, print_json, show_instant, show_rows

if TYPE_CHECKING:
    from headwater.operate.backtest import Variant
    from headwater.operate.compare import Compared
    from headwater.operate.swap import Promoted
    from headwater.project.versions import VersionStatus

View = Annotated[str, typer.Argument(metavar="VIEW", help="A materialized view.")]
DIFFERENT = 1


@command
def compare(
    view: View,
    version: Annotated[int | None, typer.Option(help="The version to compare with; the newest, if not given.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many rows of each kind to show.")] = 5,
    project: Folder = HERE,
    json_: Json = False,
) -> int:
    """Compare the version that is served with another one, at one cut. Exit code 1 if rows differ."""
    with hw.open(project) as opened:
        seen = opened.versions.compare(view, version, examples=examples)
    if json_:
        print_json(seen.as_dict())
    else:
        show_compared(seen)
    return 0 if seen.is_same else DIFFERENT


@command
def backtest(
    view: View,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A condition in place of the declared one; several with AND.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="A CSV file of rows that should be found.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many rows of each kind to show.")] = 5,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Compute a view over all of history as declared and with other conditions, and compare."""
    with hw.open(project) as opened:
        done = opened.versions.backtest(view, *(set_ or ()), labels=labels, examples=examples)
    if json_:
        print_json({"view": done.view, "commits": done.commits, "variants": [one.as_dict() for one in done.variants]})
        return
    show_rows([_of_variant(one) for one in done.variants], list(_of_variant(done.variants[0])))
    for one in done.variants:
        for kind, rows in one.examples.items():
            console.print(f"{kind} by {one.conditions}", style="bold", markup=False)
            show_rows(list(rows), list(rows[0]))


def _of_variant(one: Variant) -> dict[str, str]:
    counts = {"rows": one.rows, "gained": one.gained, "lost": one.lost}
    shown = {"conditions": one.conditions or "as declared"} | {name: f"{count:,}" for name, count in counts.items()}
    shares = {"precision": one.labelled.precision, "recall": one.labelled.recall} if one.labelled else {}
    return shown | {name: "" if share is None else f"{share:.1%}" for name, share in shares.items()}


@command
def rollback(
    view: View,
    to: Annotated[int | None, typer.Option(help="The version; the one that was served before, if not given.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Serve the version again that was served before; the newer one stays beside it."""
    with hw.open(project) as opened:
        show_promoted(opened.versions.rollback(view, version=to), json_)


@command
def versions(
    view: View,
    prune: Annotated[bool, typer.Option("--prune", help="Drop those that nobody needs.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the versions of a view: which is served, which are kept up, and how far each has come."""
    with hw.open(project) as opened:
        dropped = opened.versions.prune(view) if prune else []
        listed, held = opened.versions.of(view), opened.versions.is_held(view)
    if json_:
        print_json({"view": view, "held": held, "dropped": dropped, "versions": list(map(asdict, listed))})
        return
    show_rows([_line(one, held) for one in listed], ["version", "", "plan", "read up to", "watermark"])
    if dropped:
        console.print(f"dropped: {', '.join(f'v{number}' for number in dropped)}")


def _line(one: VersionStatus, held: bool) -> dict[str, str]:
    states = [
        "served" if one.served else "",
        "held" if held and one.declared and not one.served else "",
        f"kept up until {show_instant(one.kept_until)}" if one.kept_until else "",
    ]
    commits = ", ".join(f"{topic} {commit}" for topic, commit in one.position.commits) if one.position else "nothing"
    watermark = show_instant(one.position.watermark) if one.position else ""
    state = ", ".join(state for state in states if state)
    return {"version": f"v{one.version}", "": state, "plan": one.plan, "read up to": commits, "watermark": watermark}


def show_promoted(done: Promoted, as_records: bool) -> None:
    """Show which version is served now."""
    if as_records:
        print_json(asdict(done))
        return
    if done.compared is not None:
        show_compared(done.compared)
    kept = f"; v{done.before} is kept up until {show_instant(done.kept_until)}" if done.kept_until else ""
    console.print(f"[green]{done.view}[/]: v{done.before} → v{done.version} is served{kept}", highlight=False)


def show_compared(seen: Compared) -> None:
    """Show how two versions differ: counts, columns and examples."""
    commits = ", ".join(f"{topic} {commit}" for topic, commit in seen.commits.items())
    old, new = f"v{seen.old}", f"v{seen.new}"
    verdict = "[green]the same rows[/]" if seen.is_same else f"[yellow]{seen.difference:.3%} of the rows differ[/]"
    console.print(f"[bold]{seen.view}[/] {old} and {new}, read up to {commits}: {verdict}", highlight=False)
    counts = {f"rows in {old}": seen.rows, f"rows in {new}": seen.rows_new, f"only in {old}": seen.only_old,
              f"only in {new}": seen.only_new, "changed": seen.changed}  # fmt: skip
    show_rows([{name: f"{count:,}" for name, count in counts.items()}], list(counts))
    for names, where in ((seen.added, f"only in {new}"), (seen.gone, f"only in {old}")):
        if names:
            console.print(f"columns {where}, not compared: {', '.join(names)}", markup=False)
    if seen.deltas:
        show_rows([asdict(delta) for delta in seen.deltas], list(asdict(seen.deltas[0])))
    for kind, title in (("only_old", f"only in {old}"), ("only_new", f"only in {new}")):
        if rows := seen.examples.get(kind):
            console.print(f"[bold]{title}[/]")
            show_rows(list(rows), list(rows[0]))
    if pairs := seen.examples.get("changed"):
        console.print("[bold]changed[/]")
        sides = [{"": name} | row for pair in pairs for name, row in zip((old, new), pair, strict=True)]
        show_rows(sides, list(sides[0]))


def share_of(text: str | None) -> float | None:
    """A share as it is typed: `0.1%`, or 0.001.

    >>> share_of("0.1%"), share_of("0.25")
    (0.001, 0.25)
    """
    if text is None:
        return None
    try:
        return round(float(text.removesuffix("%")) / 100, 12) if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f'"{text}" is no share: write 0.1%, or 0.001') from None
