"""The expected rows of a flow, computed by DuckDB from its input. Nothing here is Headwater's: it is a second opinion.

    python tests/flows/oracle.py [FLOW…]    write expected.jsonl of all flows, or of these

A flow's `expected.duckdb` first says which column of a stream is its event time and how far its watermark stays behind,
one stream on a line, then creates a table for each stream, and ends with the query that gives the expected rows:

    -- sales by at, delay 5 seconds
    CREATE TABLE sales (id VARCHAR, shop VARCHAR, at TIMESTAMP);
    SELECT …

Each table is given the rows of its stream and, beside them: `_seq` (their order in the log), `_stamp` (the watermark
before the row), `_source` and `_arrived_at`. `watermark('sales')` is the watermark after everything. Instants have no
zone in DuckDB: they are UTC.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

FLOWS = Path(__file__).parent
EPOCH = datetime(1970, 1, 1)
UNITS = {"second": 1, "minute": 60, "hour": 3600}
DECLARED = re.compile(
    r"^-- (?P<stream>\w+) by (?P<time>\w+), delay (?P<delay>[\d.]+ \w+)(, idle (?P<idle>[\d.]+ \w+))?$", re.M
)
MACROS = """
CREATE MACRO micros(duration) AS epoch_us(duration);
CREATE MACRO spans(starts, size) AS list_transform(starts, lambda s: {
  'window_start': make_timestamp(s), 'window_end': make_timestamp(s + size)});
CREATE MACRO start_us(at_us, size, shift) AS at_us - ((at_us - shift) % size);
CREATE MACRO tumble(t, size, shift := INTERVAL 0 SECOND) AS
  spans([start_us(epoch_us(t), micros(size), micros(shift))], micros(size));
CREATE MACRO hop(t, slide, size, shift := INTERVAL 0 SECOND) AS
  list_filter(
    spans(list_transform(range(0, 1 + (micros(size) // micros(slide))),
      lambda k: start_us(epoch_us(t), micros(slide), micros(shift)) - k * micros(slide)), micros(size)),
    lambda w: w.window_end > t);
CREATE MACRO cumulate(t, step, size, shift := INTERVAL 0 SECOND) AS
  list_filter(
    list_transform(range(1, 1 + micros(size) // micros(step)), lambda k: {
      'window_start': make_timestamp(start_us(epoch_us(t), micros(size), micros(shift))),
      'window_end': make_timestamp(start_us(epoch_us(t), micros(size), micros(shift)) + k * micros(step))}),
    lambda w: w.window_end > t);
"""


@dataclass
class Clock:
    """The watermark of one stream, as docs/semantics.md tells it, one row after the other."""

    time: str
    delay: timedelta
    idle: timedelta | None
    watermark: datetime = EPOCH
    newest: datetime = EPOCH
    arrived_at: datetime = EPOCH
    marks: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)  # of each source, and when it was heard

    def stamp(self, at: datetime, source: str, arrived_at: datetime) -> datetime:
        """The watermark before a row; after it, the row counts."""
        before = self.watermark
        self._forget(arrived_at)
        known = self.marks.get(source, (at, arrived_at))[0]
        self.marks[source] = max(known, at), arrived_at
        self.newest, self.arrived_at = max(self.newest, at), arrived_at
        self.advance(min(mark for mark, _ in self.marks.values()) - self.delay)
        return before

    def tick(self, to: datetime | None, now: datetime) -> None:
        """A tick to an instant, or as far as silence allows."""
        if to is not None:
            self.advance(to)
        elif self.idle is not None:
            self._forget(now)
            lowest = min((mark for mark, _ in self.marks.values()), default=None)
            silence = max(timedelta(), now - self.arrived_at - self.idle)
            self.advance((self.newest + silence if lowest is None else lowest) - self.delay)

    def _forget(self, now: datetime) -> None:
        if self.idle is not None:
            self.marks = {name: found for name, found in self.marks.items() if now - found[1] <= self.idle}

    def advance(self, to: datetime) -> None:
        """It never goes back, and is in whole milliseconds."""
        self.watermark = max(self.watermark, to - timedelta(microseconds=to.microsecond % 1000))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def duration(text: str) -> timedelta:
    number, unit = text.split()
    return timedelta(seconds=float(number) * UNITS[unit.rstrip("s")])


def clocks_of(oracle: str) -> dict[str, Clock]:
    found = DECLARED.finditer(oracle)
    return {
        said["stream"]: Clock(said["time"], duration(said["delay"]), duration(said["idle"]) if said["idle"] else None)
        for said in found
    }


def stamped(lines: list[str], clocks: dict[str, Clock]) -> Iterator[tuple[str, dict[str, Any], tuple[Any, ...]]]:
    """Each row of the input with its stream and (`_seq`, `_stamp`, `_source`, `_arrived_at`); the clocks move along."""
    now = EPOCH
    for seq, line in enumerate(lines):
        told = json.loads(line) if line.strip() else {}
        if "now" in told:
            now = instant(told["now"])
        elif "tick" in told:
            clocks[told["tick"]].tick(instant(told["to"]) if "to" in told else None, now)
        elif told:
            source = told.pop("source", "local")
            ((stream, row),) = told.items()
            clock = clocks[stream]
            yield stream, row, (seq, clock.stamp(instant(row[clock.time]), source, now), source, now)


def expected_rows(flow: Path) -> list[dict[str, Any]]:
    """The rows that the last statement of `expected.duckdb` gives."""
    oracle = (flow / "expected.duckdb").read_text(encoding="utf-8")
    clocks = clocks_of(oracle)
    tables, _, query = oracle.rpartition(";\n\n")
    with duckdb.connect() as connection:
        connection.execute(f"{MACROS}; {tables}")
        for stream in clocks:
            for column in ("_seq BIGINT", "_stamp TIMESTAMP", "_source VARCHAR", "_arrived_at TIMESTAMP"):
                connection.execute(f"ALTER TABLE {stream} ADD COLUMN {column}")
        lines = (flow / "input.jsonl").read_text(encoding="utf-8").splitlines()
        for stream, row, beside in stamped(lines, clocks):
            columns = [*row, "_seq", "_stamp", "_source", "_arrived_at"]
            marks = ", ".join("?" for _ in columns)
            connection.execute(
                f"INSERT INTO {stream} ({', '.join(columns)}) VALUES ({marks})", [*row.values(), *beside]
            )
        cases = " ".join(f"WHEN '{name}' THEN TIMESTAMP '{clock.watermark}'" for name, clock in clocks.items())
        connection.execute(f"CREATE MACRO watermark(stream) AS CASE stream {cases} END")
        answer = connection.execute(query)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, map(spelled, row), strict=True)) for row in answer.fetchall()]


def spelled(value: Any) -> Any:
    """A value as JSON has it: instants and decimals as text."""
    if isinstance(value, datetime):
        return f"{value.isoformat()}Z"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list):
        return [spelled(found) for found in value]
    if isinstance(value, dict):
        return {name: spelled(found) for name, found in value.items()}
    return value


def spelled_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(found.parent.name for found in FLOWS.glob("*/expected.duckdb")):
        rows = expected_rows(FLOWS / name)
        (FLOWS / name / "expected.jsonl").write_text(spelled_lines(rows), encoding="utf-8")
        print(f"{name}: {len(rows)} rows")
