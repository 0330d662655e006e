"""What the commands of intake show."""

from __future__ import annotations

from dataclasses import asdict

from headwater.cli.output import console, print_json
from headwater.intake.protocol import Taken


def show_taken(taken: Taken, json_: bool) -> None:
    """What an intake took in, and where it stands."""
    if json_:
        print_json(asdict(taken))
        return
    dead = f", [red]{taken.dead:,} dead[/] (headwater dead {taken.stream})" if taken.dead else ""
    places = ", ".join(f"{source}: {place}" for source, place in taken.places.items())
    console.print(
        f"[green]{taken.stream}[/]: {taken.rows:,} {'row' if taken.rows == 1 else 'rows'}{dead}; next {places}"
    )
