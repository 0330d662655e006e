"""Chains of operators as queries, each in two dialects: Headwater's, and DuckDB's over the rows that are in time.

DuckDB is a second opinion: it is given the rows of the log with their stamps, and knows nothing of batches, state and
watermarks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

from headwater.plan.chain import Chain, Link
from headwater.testing import COMMIT, Now, Tick
from tests.flows.oracle import MACROS

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=6)
TOPICS = {"a": 3, "b": 1, "u": 3, "w": 1}
"""How many seconds the watermark of each stream stays behind; events of `u` and `w` are unique."""
_OPTIONS = {"u": ", unique = 'id'", "w": ", unique = 'id'"}
STREAMS = "".join(
    f"CREATE STREAM {name} (id STRING, k STRING, v INT, t TIMESTAMP NOT NULL, WATERMARK FOR t AS t - INTERVAL"
    f" '{delay}' SECOND) WITH (idle = '9 seconds'{_OPTIONS.get(name, '')});\n"
    for name, delay in TOPICS.items()
)
BOUNDS = {"before": (-4, 0), "after": (0, 4), "around": (-2, 3)}
FAR = {"before": (-6, -3), "after": (3, 6), "around": (-1, 1)}
"""The same directions, with partners that are never near, or hardly so."""
KINDS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
PAIR = "l.k AS k, l.id AS id, l.v AS v, l.t AS t, r.id AS other, r.t AS met"
SIZE, SLIDE, GAP = "INTERVAL '10' SECOND", "INTERVAL '5' SECOND", "INTERVAL '3' SECOND"
WINDOWS = {"TUMBLE": (SIZE,), "HOP": (SLIDE, SIZE), "CUMULATE": (SLIDE, SIZE)}


@dataclass(frozen=True)
class Case:
    """A chain as a query, and the same in DuckDB's SQL."""

    chain: Chain
    form: str
    query: str
    duckdb: str
    grace: int = 0

    def __str__(self) -> str:
        return f"{self.chain} by {self.form}, grace {self.grace}"

    def declared(self, name: str) -> str:
        """The view of this name, live."""
        options = f"grace = '{self.grace} seconds', emit = '{self.chain.emit.value}', execution = 'live'"
        return f"CREATE MATERIALIZED VIEW {name} WITH ({options}) AS {self.query};\n"


@dataclass(frozen=True)
class Rows:
    """What gives rows, in both dialects, and the columns in it that are times; `sure` are those that all rows have."""

    query: str
    duckdb: str
    times: tuple[str, ...] = ("t",)
    sure: tuple[str, ...] = ("t",)
    window: str | None = None


def cases(chain: Chain, grace: int = 0, *, far: bool = False) -> Iterator[Case]:
    """Every form of a chain: by the time of either side, in windows of every kind."""
    once = chain.operators[0].name == "once"
    below, *above = chain.operators[once:]
    sources = ("u", "w") if once else ("a", "b")
    if not above:
        yield from _alone(chain, below, sources, grace, far)
        return
    rows = _rows(below, sources, grace, far)
    for form, query, expected in _grouped(rows, above[0].name):
        yield Case(chain, form, query, expected, grace)


def _alone(chain: Chain, operator: Link, sources: tuple[str, str], grace: int, far: bool) -> Iterator[Case]:
    if operator.name in ("times", "windows", "sessions"):
        name = sources[0]
        for form, query, expected in _grouped(Rows(_spelled(name), name), operator.name, of=(name, grace)):
            yield Case(chain, form, query, expected, grace)
    else:
        rows = _rows(operator, sources, grace, far)
        yield Case(chain, "rows", rows.query, rows.duckdb, grace)


def _spelled(name: str) -> str:
    return f"SELECT id, k, v, t FROM {name}"


def _in_time(name: str, grace: int) -> str:
    """The rows of a stream that are in time for their own instant, each once where events are unique."""
    chosen = "SELECT DISTINCT" if name in "uw" else "SELECT"
    return f"({chosen} id, k, v, t FROM {name} WHERE t + INTERVAL {grace} SECOND > stamp)"


def _in_windows(name: str, grace: int, form: str) -> str:
    """The rows of a stream once for each window that they are in time for."""
    chosen = "SELECT DISTINCT" if name in "uw" else "SELECT"
    spans = f"SELECT *, unnest({form.lower()}(t, {', '.join(WINDOWS[form])})) AS span FROM {name}"
    return (
        f"({chosen} id, k, v, t, span.window_end AS window_end FROM ({spans})"
        f" WHERE span.window_end + INTERVAL {grace} SECOND > stamp)"
    )


def _rows(operator: Link, sources: tuple[str, str], grace: int, far: bool) -> Rows:
    left, right = (_in_time(name, grace) for name in sources)
    if operator.name == "distinct":
        query = "SELECT DISTINCT k, v, t, k AS id FROM {}"
        return Rows(query.format(sources[0]), query.format(left))
    if operator.name.startswith("window "):
        return _window_join(operator.name.removeprefix("window "), sources, grace)
    lower, upper = (FAR if far else BOUNDS)[operator.direction]
    near = f"l.k = r.k AND r.t BETWEEN l.t + INTERVAL '{lower}' SECOND AND l.t + INTERVAL '{upper}' SECOND"
    query = _join(operator.name, near)
    written, expected = query.format(*sources), query.format(left, right)
    sure = {"left": ("t",), "right": ("met",), "full": (), "semi": ("t",)}.get(operator.name, ("t", "met"))
    return Rows(written, expected, ("t",) if operator.name == "semi" else ("t", "met"), sure)


def _join(kind: str, condition: str, more: str = "") -> str:
    if kind == "semi":
        columns = PAIR.split(", r.", 1)[0] + more
        return f"SELECT {columns} FROM {{}} l WHERE EXISTS (SELECT 1 FROM {{}} r WHERE {condition})"
    return f"SELECT {PAIR}{more} FROM {{}} l {KINDS[kind]} {{}} r ON {condition}"


def _window_join(kind: str, sources: tuple[str, str], grace: int) -> Rows:
    query = _join(kind, "l.k = r.k AND l.window_end = r.window_end", ", l.window_end AS ends")
    written = query.format(*(f"TUMBLE(TABLE {name}, DESCRIPTOR(t), {SIZE})" for name in sources))
    expected = query.format(*(_in_windows(name, grace, "TUMBLE") for name in sources))
    times = ("t",) if kind == "semi" else ("t", "met")
    return Rows(written, expected, times, ("t",) if kind in ("left", "semi") else times, "ends")


def _grouped(rows: Rows, name: str, of: tuple[str, int] | None = None) -> Iterator[tuple[str, str, str]]:
    """Groups of rows in each form: what the form is called, and the queries. `of` a stream, with its grace."""
    counted = "count(*) AS n, count(id) AS ids, sum(v) AS s"
    if name == "times":
        below = rows.duckdb if of is None else f"SELECT * FROM {_in_time(*of)}"
        for time in rows.sure:
            query = f"SELECT k, id, {time}, count(*) AS n, sum(v) AS s FROM ({{}}) GROUP BY k, id, {time}"
            yield time, query.format(rows.query), query.format(below)
    for time in rows.times if name == "sessions" else ():
        yield f"sessions of {time}", *_sessions(rows, time, counted, of)
    for form, time in [(form, time) for form in WINDOWS for time in rows.times] if name == "windows" else ():
        spans = f"SELECT *, unnest({form.lower()}({time}, {', '.join(WINDOWS[form])})).window_end AS window_end"
        spans += f" FROM ({rows.duckdb}) WHERE {time} IS NOT NULL"  # a row without a time is in no window
        below = _in_windows(of[0], of[1], form) if of else f"({spans})"
        written = f"{form}(TABLE ({rows.query}), DESCRIPTOR({time}), {', '.join(WINDOWS[form])})"
        query = f"SELECT k, window_end, {counted} FROM {{}} GROUP BY k, window_end"
        yield f"{form} of {time}", query.format(written), query.format(below)
    if rows.window and name == "windows":
        query = f"SELECT k, {rows.window}, {counted} FROM ({{}}) GROUP BY k, {rows.window}"
        yield "the same window", query.format(rows.query), query.format(rows.duckdb)


def _sessions(rows: Rows, time: str, counted: str, of: tuple[str, int] | None) -> tuple[str, str]:
    """Rows of a key with less than a gap between them, or just that."""
    bounds = "window_start, window_end"
    written = f"SESSION(TABLE ({rows.query}) PARTITION BY k, DESCRIPTOR({time}), {GAP})"
    below = f"SELECT * FROM ({rows.duckdb}) WHERE {time} IS NOT NULL"
    if of is not None:  # a row is in time until the end of its own part of a session
        chosen = "SELECT DISTINCT" if of[0] in "uw" else "SELECT"
        below = f"{chosen} id, k, v, t FROM {of[0]} WHERE t + {GAP} + INTERVAL {of[1]} SECOND > stamp"
    begins = f"coalesce({time} > lag({time}) OVER (PARTITION BY k ORDER BY {time}) + {GAP}, true)::INT"
    numbered = f"SELECT *, sum(b) OVER (PARTITION BY k ORDER BY {time} ROWS UNBOUNDED PRECEDING) AS number"
    numbered += f" FROM (SELECT *, {begins} AS b FROM ({below}))"
    expected = f"SELECT k, min({time}) AS window_start, max({time}) + {GAP} AS window_end, {counted}"
    return (
        f"SELECT k, {bounds}, {counted} FROM {written} GROUP BY k, {bounds}",
        f"{expected} FROM ({numbered}) GROUP BY k, number",
    )


def expected(rows: dict[str, pa.Table], query: str) -> pa.Table:
    """What DuckDB says, given the rows of each stream with their stamps."""
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        for name, table in rows.items():
            connection.register(f"{name}_given", table)
            plain = "id, k, v, CAST(t AS TIMESTAMP) AS t, CAST(_watermark AS TIMESTAMP) AS stamp"
            connection.execute(f"CREATE TABLE {name} AS SELECT {plain} FROM {name}_given")
        return connection.sql(query).to_arrow_table()


def logs(seed: int, steps: int = 6, rows: int = 12) -> tuple[list[Any], list[Any]]:
    """What arrives before and after a restart: rows out of order and late, copies, ticks, sources that fall behind.

    At the end the watermark of every stream has passed everything.
    """
    chance = random.Random(seed)
    halves: tuple[list[Any], list[Any]] = ([], [])
    for step in range(steps):
        half = halves[step * 2 // steps]
        half.append(Now(START + step * STEP))
        for topic in chance.sample(sorted(TOPICS), len(TOPICS)):
            if chance.random() < 0.8:
                arrived = list(_rows_of(chance, topic, step, chance.randint(1, rows)))
                half += [*arrived, *chance.sample(arrived, chance.randint(0, 1)), COMMIT]
        half += [Tick(topic, chance.choice([None, START + step * STEP])) for topic in TOPICS if chance.random() < 0.15]
    halves[1].extend(Tick(topic, START + steps * STEP + timedelta(minutes=1)) for topic in TOPICS)
    return halves


def _rows_of(chance: random.Random, topic: str, step: int, count: int) -> Iterator[dict[str, Any]]:
    """The rows of a commit, of one source."""
    source = chance.choice("ppq")
    for number in range(count):
        lag = chance.choice([0, 0, 0, 1, 2, 3, 4, 6, 9, 14, 30])
        moved = timedelta(seconds=1 - lag, microseconds=chance.choice([0, 0, 1, 999, 1000, 500_000]))
        values = {
            "id": f"{topic}{step}-{number}",
            "k": chance.choice(["x", "x", "y", None]),
            "v": chance.randint(0, 4),
            "t": max(START, START + step * STEP + moved).isoformat(),
        }
        yield {topic: values, "source": source}
