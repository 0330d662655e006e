"""Commands of the slots of PostgreSQL that tables are taken in by: list, drop."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, app, command
from headwater.cli.output import console, print_json, show_rows

slots = typer.Typer(no_args_is_help=True, help="Slots of PostgreSQL, by which tables are taken in.")
app.add_typer(slots, name="slot")
to_slots = partial(command, to=slots)


@to_slots
def list_(project: Folder = HERE, json_: Json = False) -> int:
    """Show the slots: how far they were read, and how much WAL is held back. Exit code 1 if one is lost or missing."""
    with hw.open(project) as opened:
        found = opened.intakes.slots()
    if json_:
        for slot in found:
            print_json(asdict(slot))
    elif not found:
        console.print("no table is taken in from PostgreSQL")
    else:
        shown = [_row(asdict(slot)) for slot in found]
        show_rows(shown, list(shown[0]))
    return 1 if any(slot.state in ("lost", "missing") or slot.unpublished for slot in found) else 0


@to_slots
def drop(
    name: Annotated[str, typer.Argument(metavar="SLOT", help="The name of the slot.")],
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Drop a slot and its publication, when its tables are to be taken in no more. What was taken in stays."""
    with hw.open(project) as opened:
        dropped = list(opened.admin.drop_slot(name))
    if json_:
        print_json({"slot": name, "dropped": dropped})
    else:
        console.print(f"[green]{name}[/]: {', '.join(dropped) or 'nothing was there'}{' dropped' if dropped else ''}")


def _row(slot: dict[str, Any]) -> dict[str, Any]:
    return {
        "slot": slot["slot"],
        "database": slot["database"],
        "state": slot["state"],
        "confirmed": slot["confirmed"],
        "held back": _size(slot["held"]),
        "left": _size(slot["left"]),
        "tables": ", ".join(slot["topics"]),
        "not published": ", ".join(slot["unpublished"]) or None,
    }


def _size(size: int | None) -> str | None:
    return None if size is None else f"{size / 1e6:,.1f} MB"
