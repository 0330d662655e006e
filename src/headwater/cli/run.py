"""`headwater run`: what it tells while it runs, and how it is ended.

Every line names a view and where it is. With `--json` each line is an object: `at`, `level`, `event` and its fields.
Views that go on tell so every ten seconds; what changes their state is told at once.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from headwater.cli.output import as_json, show_instant
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.operate import Alert, CaughtUp, Reading, Sent
    from headwater.operate.promotion import Promotion
    from headwater.project import Listeners

EVERY = 10.0
"""Seconds between two lines of a view that goes on."""


class Narrator:
    """Tells what happens on standard error, one line each; from any thread."""

    def __init__(self, *, as_records: bool, write: Callable[[str], object] = sys.stderr.write) -> None:
        self._as_records = as_records
        self._write = write
        self._guard = threading.Lock()
        self._told: dict[str, float] = {}
        self._waiting: set[str] = set()
        self.failures = 0

    @property
    def listeners(self) -> Listeners:
        """The listeners to what happens while a project runs: all of it is told on."""
        from headwater.project import Listeners

        return Listeners(self.progress, self.ended, self.failed, self.waits, self.sent, self.alerted, self.promoted)

    def tell(self, event: str, level: str = "info", **fields: Any) -> None:
        """Tell one thing."""
        at = datetime.now(UTC)
        if self._as_records:
            record = {"at": at, "level": level, "event": event} | fields
            line = json.dumps(record, default=as_json, ensure_ascii=False)
        else:
            parts = [f"{name}={_spelled(value)}" for name, value in fields.items() if value is not None]
            line = " ".join([f"{at:%H:%M:%S}", f"{level.upper():7}", event, *parts])
        with self._guard:
            self._write(f"{line}\n")

    def progress(self, reading: Reading) -> None:
        """Tell how a view goes on: at once when it starts, has caught up, waits or goes on again; else now and then."""
        view, now = reading.view, time.monotonic()
        if reading.paused:
            self._waiting.add(view)
            self.tell("view is paused", view=view)
        elif reading.note is not None:
            self._waiting.add(view)
            self.tell("view waits", "warning", view=view, note=reading.note)
        elif not reading.commits:
            self.tell("view starts", view=view, version=reading.version, heads=dict(reading.heads))
        elif view in self._waiting or now - self._told.get(view, -EVERY) >= EVERY:
            self._waiting.discard(view)
            self._told[view] = now
            lag = sum(reading.heads.values()) - sum(reading.commits.values())
            self.tell(
                "view follows", view=view, version=reading.version, commits=dict(reading.commits), lag=max(0, lag),
                watermark=reading.watermark, rows=reading.rows,
            )  # fmt: skip

    def sent(self, sent: Sent) -> None:
        """Tell how an outlet goes on: at once when it waits or goes on again; else now and then."""
        outlet, now = f"outlet {sent.outlet}", time.monotonic()
        is_due = outlet in self._waiting or now - self._told.get(outlet, -EVERY) >= EVERY
        if sent.state == "waiting":
            self._waiting.add(outlet)
            self.tell("outlet waits", "warning", outlet=sent.outlet, note=sent.note)
        elif sent.state == "sending" and sent.place is not None and is_due:
            self._waiting.discard(outlet)
            self._told[outlet] = now
            figures: dict[str, Any] = {"place": str(sent.place), "changes": sent.changes, "dead": sent.dead}
            self.tell("outlet sends", outlet=sent.outlet, view=sent.view, **figures)

    def failed(self, error: HeadwaterError) -> None:
        """Tell that an intake or an outlet has stopped, and why."""
        self.failures += 1
        self.tell("outlet stopped" if "outlet" in error.fields else "intake stopped", "error", **error.as_dict())

    def waits(self, topic: str, error: HeadwaterError | None) -> None:
        """Tell what an intake waits for, and that it goes on."""
        if error is not None:
            self._waiting.add(topic)
            self.tell("intake waits", "warning", **({"topic": topic} | error.as_dict()))
        elif topic in self._waiting:
            self._waiting.discard(topic)
            self.tell("intake goes on", topic=topic)

    def promoted(self, outcome: Promotion | HeadwaterError) -> None:
        """Tell that changed declarations were taken over, or why not."""
        if isinstance(outcome, HeadwaterError):
            self.tell("declarations refused", "error", **outcome.as_dict())
        else:
            told = {name: ",".join(names) for name, names in outcome.as_dict().items() if names}
            self.tell("declarations promoted", **told)

    def alerted(self, alert: Alert) -> None:
        """Tell that an alert fires, or is resolved."""
        event, level = ("alert fires", "error") if alert.state == "firing" else ("alert is resolved", "info")
        self.tell(event, level, rule=alert.rule, **{alert.kind: alert.name}, value=alert.value, detail=alert.detail)

    def ended(self, done: CaughtUp) -> None:
        """Tell that a view has ended, and why if it failed."""
        if done.error is None:
            commits = dict(done.position.commits) if done.position else {}
            self.tell("view ends", view=done.view, version=done.version, commits=commits)
        else:
            self.failures += 1
            self.tell("view stopped", "error", view=done.view, version=done.version, **_told(done))


def _told(done: CaughtUp) -> dict[str, Any]:
    fields = done.error.as_dict() if done.error else {}
    return {name: value for name, value in fields.items() if name not in ("view", "version")}


def _spelled(value: Any) -> str:
    match value:
        case dict():
            return ",".join(f"{name}:{item}" for name, item in value.items()) or "none"
        case datetime():
            return Text.from_markup(show_instant(value)).plain.replace(" ", "T")
        case str() if " " in value:
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C interrupts what is still under way."""
    stop = threading.Event()

    def ask(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
