"""`headwater demo`: a shop's orders on the embedded default, from the declaration to the log."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.progress import track

import headwater as hw
from headwater.cli import template
from headwater.cli.output import console, problems, show_commits, show_instant, show_rows
from headwater.cli.plan import show_plan
from headwater.intake import GeneratedBatch, Generator, Lateness, Sender, to_json_lines
from headwater.project import Project

_BARS = "▁▂▃▄▅▆▇█"
_BATCH = 2_000
_SENDERS = (
    Sender("till-1", weight=3),
    Sender("till-2", weight=2, silent_after=timedelta(seconds=60)),
    Sender("phone", weight=1, clock=timedelta(seconds=-3)),
)


@dataclass(frozen=True)
class Summary:
    """What the demo did."""

    events: int
    dead: int
    behind: int
    commits: int
    seconds: float


def run_demo(folder: Path | None, rows: int) -> Summary:
    """Make the project, send events in, and show what the log made of them."""
    clock = _Clock()
    with _home(folder) as home, hw.open(home, now=clock) as project:
        console.print("[bold]1. declared[/]")
        console.print((home / "streams.sql").read_text(encoding="utf-8").strip(), style="cyan", markup=False)
        show_plan(project.plan(), "sales_per_minute")
        console.print("\n[bold]2. appended[/]")
        summary = _append(project, rows, clock)
        console.print("\n[bold]3. in the log[/]")
        _show_log(project)
        console.print("\n[bold]4. what could not be read[/]")
        _show_dead(project)
        console.print(f"\nThe project is in {home}: it is yours." if folder else "\nKeep it: headwater demo --in shop")
        return summary


class _Clock:
    """The wall clock of the shop, which the generator moves: a minute of sales takes a second."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.at


@contextmanager
def _home(folder: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headwater-demo-") as temporary:
        home = folder or Path(temporary) / "shop"
        list(template.create(home, "shop"))
        yield home


def _append(project: Project, rows: int, clock: _Clock) -> Summary:
    """Send the events in as their senders would: each batch as it arrives, in one commit per sender."""
    generator = Generator(
        topic=project.topic("orders"),
        start_at=datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=rows / 1000),
        senders=_SENDERS,
        lateness=Lateness(share=0.06, typical=timedelta(seconds=8)),
        duplicates=0.01,
        poison=0.0005,
        overrides={"product": ["kettle", "teapot", "cup", "spoon", "saucer"]},
    )
    began, dead, behind = time.perf_counter(), 0, 0
    batches = generator.batches(rows, _BATCH)
    for batch in track(batches, "appending", rows // _BATCH, console=problems, transient=True):
        clock.at = batch.arrived_at
        for source, part in _by_sender(batch):
            receipt = project.append("orders", part, source=source)
            dead, behind = dead + receipt.dead, behind + receipt.behind
    took = time.perf_counter() - began
    console.print(
        f"[green]{rows:,} events[/] from {len(_SENDERS)} senders in {took:.1f} s ({rows / took:,.0f}/s, each commit "
        f"on the disk), [red]{dead:,} dead letters[/], [yellow]{behind:,} behind the watermark[/]"
    )
    return Summary(rows, dead, behind, project.head("orders"), round(took, 3))


def _by_sender(batch: GeneratedBatch) -> Iterator[tuple[str, pa.Table | bytes]]:
    for name in pc.unique(batch.sources).to_pylist():
        yield name, batch.rows.filter(pc.equal(batch.sources, name))
    if batch.poison:
        yield (
            "phone",
            to_json_lines(GeneratedBatch(batch.rows.slice(0, 0), batch.sources, batch.arrived_at, batch.poison)),
        )


def _show_log(project: Project) -> None:
    show_commits(project.log("orders", 5))
    began = time.perf_counter()
    rows = project.read("orders")
    took = time.perf_counter() - began
    console.print(
        f"\nread back: {rows.num_rows:,} rows in {took:.2f} s, watermark {show_instant(project.watermark('orders'))}"
    )
    seconds = pc.floor_temporal(rows["at"], 10, "second")
    counts = sorted((pair["values"], pair["counts"]) for pair in pc.value_counts(seconds).to_pylist())
    most = max(count for _, count in counts)
    bars = "".join(_BARS[count * (len(_BARS) - 1) // most] for _, count in counts)
    console.print(f"orders per 10 s  [cyan]{bars}[/]")
    late = pc.sum(pc.less(rows["at"], rows["_watermark"])).as_py()
    console.print(
        f"late on arrival  [yellow]{late:,}[/] of {rows.num_rows:,}: each row carries the watermark it came under"
    )


def _show_dead(project: Project) -> None:
    letters = project.dead("orders").to_pylist()
    show_rows([letter | {"event": letter["bytes"]} for letter in letters[:5]], ["error", "reason", "event"])
    if len(letters) > 5:
        console.print(f"… and {len(letters) - 5:,} more: headwater dead orders")
