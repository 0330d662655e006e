"""The output of the commands of intake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.markup import escape

from headwater.cli.output import console, print_json

if TYPE_CHECKING:
    from headwater.intake.protocol import Taken

_SHOWN = 3


def show_unknown(unknown: Mapping[str, int]) -> str:
    """The words about fields that no column declares, behind a comma; nothing if there are none."""
    if not unknown:
        return ""
    named = [f"{escape(name)} {count:,}" for name, count in list(unknown.items())[:_SHOWN]]
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    return (
        f", [yellow]{'field' if len(unknown) == 1 else 'fields'} that no column declares[/] ({', '.join(named)}{more})"
    )


def show_taken(taken: Taken, json_: bool) -> None:
    """Show what an intake took in, and where it stands."""
    if json_:
        print_json(asdict(taken))
        return
    dead = f", [red]{taken.dead:,} dead[/] (headwater dead {taken.stream})" if taken.dead else ""
    positions = ", ".join(f"{source}: {position}" for source, position in taken.places.items())
    reader = " by tasks of Spark" if taken.path == "spark" else ""
    rows = f"{taken.rows:,} {'row' if taken.rows == 1 else 'rows'}"
    console.print(f"[green]{taken.stream}[/]: {rows}{reader}{dead}{show_unknown(taken.unknown)}; next {positions}")
