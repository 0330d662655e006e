"""What commands show of views: rows, how far they have come, whether they are what the log says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.cli.output import console, print_json, show_instant, show_rows
from headwater.operate import CaughtUp, Verified

DIFFERENCES_SHOWN = 10


def show_table(rows: pa.Table, as_records: bool) -> None:
    """Rows as a table, or as JSON lines."""
    if as_records:
        for row in rows.to_pylist():
            print_json(row)
        return
    show_rows(rows.to_pylist(), rows.column_names)
    console.print(f"[dim]{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'}[/]")


def caught_up_record(done: CaughtUp) -> dict[str, Any]:
    """A view that has caught up, with stable field names."""
    position = done.position
    return {
        "view": done.view,
        "version": done.version,
        "commits": dict(position.commits) if position else {},
        "watermark": position.watermark if position else None,
        "rebuilt": done.rebuilt,
    }


def show_caught_up(done: CaughtUp) -> None:
    """How far a view has come."""
    position = done.position
    commits = ", ".join(f"{topic} {commit}" for topic, commit in position.commits) if position else "nothing"
    rebuilt = f" [yellow](rebuilt from the log: {done.rebuilt})[/]" if done.rebuilt else ""
    until = f", watermark {show_instant(position.watermark)}" if position else ""
    console.print(f"[green]{done.view}[/]: read up to {commits}{until}{rebuilt}")


def show_verified(found: Verified) -> None:
    """The outcome of a verification, with the rows that differ."""
    commits = ", ".join(f"{topic} {commit}" for topic, commit in found.commits.items())
    if found.identical:
        console.print(
            f"[green]{found.view}: identical[/]: {found.rows:,} rows, recomputed from the log up to {commits}"
        )
        return
    console.print(f"[red]{found.view}: different[/] from the log up to {commits}")
    for title, rows in (("missing in the store", found.missing), ("not from the log", found.extra)):
        if rows:
            console.print(f"[bold]{len(rows):,} {title}[/]")
            show_rows(rows[:DIFFERENCES_SHOWN], list(rows[0]))
