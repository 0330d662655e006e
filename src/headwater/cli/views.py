"""The output of commands about views: rows, how far they have come, whether they are what the log says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from rich.bar import Bar
from rich.box import SIMPLE
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

from headwater.cli.output import console, print_json, problems, show_instant, show_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.operate import CaughtUp, Ledger, Reading, Sent, Verified, Why

DIFFERENCES_SHOWN = 10
_FATES = {
    "used": "green",
    "unmatched": "cyan",
    "filtered": "blue",
    "late": "yellow",
    "duplicates": "magenta",
    "dead": "red",
}


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
        "paused": done.paused is not None,
        "left_to": done.left_to,
    }


def show_caught_up(done: CaughtUp) -> None:
    """Show how far a view has come, or why it was left as it is."""
    if done.paused or done.left_to:
        why = str(done.paused) if done.paused else f"{done.left_to} was asked to build it anew"
        console.print(f"[yellow]{done.view}[/]: {escape(why)}")
        return
    position = done.position
    commits = ", ".join(f"{topic} {commit}" for topic, commit in position.commits) if position else "nothing"
    rebuilt = f" [yellow](rebuilt from the log: {done.rebuilt})[/]" if done.rebuilt else ""
    until = f", watermark {show_instant(position.watermark)}" if position else ""
    console.print(f"[green]{done.view}[/]: read up to {commits}{until}{rebuilt}")


def show_sent(sent: Sent) -> None:
    """Show how far an outlet has come."""
    progress = f"up to {sent.place}" if sent.place else "nothing"
    dead = f", [yellow]{sent.dead:,} undelivered[/]" if sent.dead else ""
    console.print(f"[green]{sent.outlet}[/]: sent {progress} of {sent.view} to {escape(sent.to)}{dead}")


class CatchingUp:
    """One line for each view that is catching up: commits read of all, rows written, watermark. For a terminal only."""

    def __init__(self, *, quiet: bool) -> None:
        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,} commits"),
            TextColumn("{task.fields[said]}"),
        ]
        self._bar = Progress(*columns, console=problems, transient=True, disable=quiet or not problems.is_terminal)
        self._lines: dict[str, TaskID] = {}
        self._guard = threading.Lock()

    def __enter__(self) -> CatchingUp:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, reading: Reading) -> None:
        """Show how far a view has come; called from several threads."""
        with self._guard:
            line = self._lines.get(reading.view)
            if line is None:
                line = self._lines[reading.view] = self._bar.add_task(reading.view, total=0, said="")
        if reading.note:
            self._bar.update(line, said=f"[yellow]{escape(reading.note)}[/]")
            return
        self._bar.update(
            line, completed=sum(reading.commits.values()), total=sum(reading.heads.values()), said=_said(reading)
        )


def _said(reading: Reading) -> str:
    if reading.watermark is None:
        return "starting"
    return f"{reading.rows:,} rows, watermark {show_instant(reading.watermark)}"


def show_ledger(ledger: Ledger) -> None:
    """The counts as a table that adds up, with a bar for each."""
    commits = ", ".join(f"{topic} {commit}" for topic, commit in ledger.commits.items())
    console.print(f"[bold]{ledger.view}[/], version {ledger.version}, read up to {commits}")
    windows = ledger.assigned
    table = Table("", "rows", *(["in windows"] if windows else []), "", box=SIMPLE)
    counts = {"used": ledger.used} | ({"unmatched": ledger.unmatched} if ledger.unmatched else {})
    counts |= {"filtered": ledger.filtered, "late": ledger.late, "duplicates": ledger.duplicates}
    if ledger.expanded:
        table.add_row("expanded", f"{ledger.expanded:,}", *([""] if windows else []), "")
    whole = ledger.rows_in + max(ledger.expanded, 0)
    for fate, count in {**counts, "dead": ledger.dead}.items():
        share = Bar(max(whole, 1), 0, count, width=30, color=_FATES[fate])
        table.add_row(
            fate, f"{count:,}", *([f"{windows[fate]:,}" if fate in windows else ""] if windows else []), share
        )
    table.add_row(
        "[bold]rows in[/]", f"[bold]{ledger.rows_in:,}[/]", *([f"{sum(windows.values()):,}"] if windows else [])
    )
    right = "green" if ledger.remainder == 0 else "bold red"
    table.add_row(f"[{right}]remainder[/]", f"[{right}]{ledger.remainder:,}[/]")
    for column in table.columns[1:-1]:
        column.justify = "right"
    console.print(table)
    if ledger.late_by_equality:
        console.print(
            f"{ledger.late_by_equality:,} of the late rows had the very time of the watermark. With a millisecond more "
            "of delay (WATERMARK FOR at AS at - INTERVAL '0.001' SECOND), or of grace, they are in time."
        )
    if ledger.remainder:
        console.print(
            "[red]Rows were lost or doubled.[/] The log is as it was: "
            f"`headwater verify {ledger.view}` shows what differs, and deleting its state rebuilds the view."
        )


def show_why(why: Why) -> None:
    """A row, the events behind it, and those that came too late for it."""
    commits = ", ".join(f"{topic} {commit}" for topic, commit in why.commits.items())
    if why.row is None:
        console.print(f"[yellow]{why.view}: no such row[/]; read up to {commits}")
    else:
        console.print(f"[green]{why.view}[/], read up to {commits}")
        show_rows([why.row], list(why.row))
    for title, count, shown in (
        ("behind it", why.events, why.shown),
        ("too late for it", why.late, why.shown_late),
    ):
        told = sum(rows.num_rows for rows in shown.values())
        for topic, rows in shown.items():
            number = rows.num_rows if told == count else count  # of each topic only if all of them are here
            part = "" if told == count else f", the first {told:,} here"
            console.print(f"\n[bold]{number:,} event{'' if number == 1 else 's'} {title}[/] ({topic}{part})")
            show_rows(rows.to_pylist(), rows.column_names)


def show_verified(verified: Verified) -> None:
    """The outcome of a verification, with the rows that differ."""
    commits = ", ".join(f"{topic} {commit}" for topic, commit in verified.commits.items())
    if verified.identical:
        console.print(
            f"[green]{verified.view}: identical[/]: {verified.rows:,} rows, recomputed from the log up to {commits}"
        )
        return
    console.print(f"[red]{verified.view}: different[/] from the log up to {commits}")
    if verified.remainder:
        console.print(f"[bold]the ledger leaves a remainder of {verified.remainder:,}[/]")
    for fate, (kept, expected) in verified.miscounted.items():
        console.print(f"[bold]{fate.replace('_', ' ')}[/]: the ledger says {kept:,}, the log says {expected:,}")
    for title, rows in (("missing in the store", verified.missing), ("not from the log", verified.extra)):
        if rows:
            console.print(f"[bold]{len(rows):,} {title}[/]")
            show_rows(rows[:DIFFERENCES_SHOWN], list(rows[0]))
