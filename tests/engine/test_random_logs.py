"""Random logs, cut at random, crashed at random: what a view holds is what batch says, and every row is accounted for.

One example is a log and four views, each in one of its legal executions; each view in it is a case. `make test` looks
at twelve cases, `make chaos` at thousands.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater import model, sql
from headwater.engine import settle, small
from headwater.plan import check
from headwater.plan.execution import executions
from headwater.testing import COMMIT, Crash, Now, Tick, scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM a (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '3' SECOND);
CREATE STREAM b (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
  WITH (idle = '5 seconds');
CREATE STREAM u (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '3' SECOND)
  WITH (unique = 'id');
"""
TEN = "TUMBLE(TABLE {}, DESCRIPTOR(at), INTERVAL '10' SECOND)"
NEAR = "l.k = r.k AND r.at BETWEEN l.at - INTERVAL '2' SECOND AND l.at + INTERVAL '3' SECOND"
PAIR = "l.id AS one, r.id AS other"
VIEWS = {
    "rows": "SELECT id, v * 2 AS twice FROM a WHERE v > 1",
    "once": "SELECT id, v, at FROM u WHERE v > 1",
    "tumbling": f"SELECT k, window_end, count(*) AS n, first(id) AS f FROM {TEN.format('a')} GROUP BY k, window_end",
    "tumbling_once": f"SELECT window_end, collect_list(id) AS ids FROM {TEN.format('u')} GROUP BY window_end",
    "hopping": "SELECT k, window_end, count(DISTINCT v) AS n FROM HOP(TABLE u, DESCRIPTOR(at), INTERVAL '5' SECOND,"
    " INTERVAL '10' SECOND) WHERE v <> 2 GROUP BY k, window_end",
    "cumulating": "SELECT window_end, sum(v) AS s FROM CUMULATE(TABLE a, DESCRIPTOR(at), INTERVAL '5' SECOND,"
    " INTERVAL '20' SECOND) GROUP BY window_end HAVING sum(v) > 3",
    "by_panes": "SELECT k, window_end, count(*) AS n, sum(v) AS s, last(id) AS l FROM HOP(TABLE u, DESCRIPTOR(at),"
    " INTERVAL '1' SECOND, INTERVAL '12' SECOND) GROUP BY k, window_end",
    "by_growing_panes": "SELECT k, window_end, count(*) AS n, avg(v) AS m FROM CUMULATE(TABLE a, DESCRIPTOR(at),"
    " INTERVAL '2' SECOND, INTERVAL '20' SECOND) GROUP BY k, window_end",
    "sessions": "SELECT k, window_start, window_end, count(*) AS n FROM SESSION(TABLE u PARTITION BY k, DESCRIPTOR(at),"
    " INTERVAL '4' SECOND) GROUP BY k, window_start, window_end",
    "bursts": "SELECT window_start, window_end, sum(v) AS s, last(id) AS l FROM SESSION(TABLE a, DESCRIPTOR(at),"
    " INTERVAL '3' SECOND) WHERE v > 0 GROUP BY window_start, window_end HAVING sum(v) <> 4",
    "together": f"SELECT window_end, count(*) AS n FROM {TEN.format('(SELECT at FROM a UNION ALL SELECT at FROM u)')}"
    " GROUP BY window_end",
    "arriving": "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE b, DESCRIPTOR(_arrived_at), INTERVAL '10' SECOND)"
    " GROUP BY window_end",
    "pairs": f"SELECT {PAIR} FROM a l JOIN b r ON {NEAR}",
    "left_pairs": f"SELECT {PAIR} FROM u l LEFT JOIN b r ON {NEAR} AND l.v > 1",
    "pairs_by_time": f"SELECT {PAIR}, l.at AS one_at, r.at AS other_at FROM u l LEFT JOIN u r ON {NEAR} AND r.v > 1",
    "all_pairs": f"SELECT {PAIR} FROM a l FULL JOIN b r ON {NEAR} AND l.v <> r.v",
    "partnered": f"SELECT id FROM a l WHERE EXISTS (SELECT 1 FROM b r WHERE {NEAR})",
    "partnered_once": f"SELECT id, at FROM u l WHERE EXISTS (SELECT 1 FROM u r WHERE {NEAR} AND l.id <> r.id)",
    "met": f"SELECT DISTINCT l.k, l.at FROM a l JOIN u r ON {NEAR}",
    "met_again": f"SELECT p.one, p.at, r.id AS other FROM (SELECT l.id AS one, l.k, l.at FROM u l JOIN a r ON {NEAR}) p"
    " JOIN u r ON p.k = r.k AND r.at BETWEEN p.at AND p.at + INTERVAL '2' SECOND",
    "seen": "SELECT DISTINCT k, v, at FROM a",
    "seen_in_windows": f"SELECT DISTINCT k, window_end FROM {TEN.format('u')}",
    "in_windows": "SELECT id, v, window_end FROM HOP(TABLE u, DESCRIPTOR(at), INTERVAL '5' SECOND,"
    " INTERVAL '10' SECOND) WHERE v <> 1",
    "window_pairs": f"SELECT {PAIR}, l.window_end FROM {TEN.format('u')} l JOIN {TEN.format('b')} r"
    " ON l.k = r.k AND l.window_end = r.window_end",
    "same_window": f"SELECT {PAIR}, l.window_end FROM {TEN.format('a')} l LEFT JOIN {TEN.format('b')} r"
    " ON l.k = r.k AND l.window_end = r.window_end",
    "pairs_in_windows": f"SELECT k, window_end, count(*) AS n FROM"
    f" {TEN.format(f'(SELECT l.k, l.at AS at FROM a l JOIN u r ON {NEAR})')} GROUP BY k, window_end",
    "recent": "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '5' SECOND PRECEDING"
    " AND CURRENT ROW) AS s FROM u",
    "recent_by_time": "SELECT id, at, sum(v) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '5' SECOND"
    " PRECEDING AND CURRENT ROW) AS s FROM u",
    "first_two": "SELECT window_end, id, n FROM (SELECT window_end, id, row_number() OVER (PARTITION BY window_end"
    f" ORDER BY v DESC) AS n FROM {TEN.format('a')}) WHERE n <= 2",
    "most": "SELECT window_end, k, n FROM (SELECT window_end, k, n, row_number() OVER (PARTITION BY window_end ORDER BY"
    f" n DESC, k) AS p FROM (SELECT k, window_end, count(*) AS n FROM {TEN.format('u')} GROUP BY k, window_end))"
    " WHERE p = 1",
    "per_key": "SELECT k, count(*) AS n, sum(v) AS s, max(at) AS newest FROM u GROUP BY k",
    "board": "SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "newest": "SELECT k, id, v FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY at DESC) = 1",
    "missed": "SELECT id, k, window_end, _watermark AS came_at FROM late(tumbling)",
    "missed_once": "SELECT id, _watermark AS came_at FROM late(recent)",
    "missed_per_window": "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE late(tumbling), DESCRIPTOR(_watermark),"
    " INTERVAL '10' SECOND) GROUP BY window_end",
    "unpartnered": f"SELECT id FROM a l WHERE NOT EXISTS (SELECT 1 FROM b r WHERE {NEAR})",
    "unequal": "SELECT l.id AS one, r.id AS other FROM a l JOIN b r ON l.v < r.v AND r.at BETWEEN l.at"
    " AND l.at + INTERVAL '2' SECOND",
}
OPTIONS = dict.fromkeys(("per_key", "board", "newest"), ", retention = '15 seconds'")
READS = {"missed": "tumbling", "missed_per_window": "tumbling", "missed_once": "recent"}
FINAL = ("hopping", "by_panes", "by_growing_panes", "tumbling_once", "pairs_in_windows")
CASES = 4
"""How many views share a log."""


@dataclass(frozen=True)
class Life:
    """What arrives while nothing runs, and how a run then goes."""

    script: list[Any]
    per_batch: int | None
    crash: Crash | None


@st.composite
def arrivals(draw: st.DrawFn, start: int) -> list[Any]:
    """Rows of several topics and sources, out of order, some of them twice; ticks; time passing."""
    script: list[Any] = []
    for step in range(draw(st.integers(1, 5))):
        second = start + 6 * step
        script.append(Now(START + timedelta(seconds=second)))
        for topic in draw(st.lists(st.sampled_from("abu"), max_size=4)):
            rows = [draw(row(topic, second, f"{start}-{step}-{n}")) for n in range(draw(st.integers(1, 5)))]
            script += rows + rows[:1] * draw(st.integers(0, 1)) + [COMMIT]
        for topic in draw(st.lists(st.sampled_from("abu"), max_size=2)):
            script.append(Tick(topic, draw(st.sampled_from([None, START + timedelta(seconds=second)]))))
    return script


@st.composite
def row(draw: st.DrawFn, topic: str, second: int, name: str) -> dict[str, Any]:
    """An event about now, or a while ago."""
    lag = draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 9, 14, 30]))
    at = START + timedelta(seconds=max(0, second + 1 - lag), microseconds=draw(st.sampled_from([0, 1, 999, 500_000])))
    values = {
        "id": name,
        "k": draw(st.sampled_from(["x", "y", None])),
        "v": draw(st.integers(0, 4)),
        "at": at.isoformat(),
    }
    return {topic: values, "source": draw(st.sampled_from(["p", "q"]))}


@st.composite
def lives(draw: st.DrawFn) -> list[Life]:
    """Two lives of a process, each with other batches; it may die in one of them."""
    points = st.builds(Crash, st.sampled_from(["before apply", "after apply"]), st.integers(1, 3))
    doomed = draw(st.sampled_from([None, 0, 1]))
    return [
        Life(
            draw(arrivals(40 * number)),
            draw(st.sampled_from([1, 2, None])),
            draw(points) if doomed == number else None,
        )
        for number in range(2)
    ]


def declared(name: str, grace: int, execution: str | None = None) -> str:
    options = f"grace = '{grace} seconds'{OPTIONS.get(name, '')}"
    options += ", emit = 'final'" if name in FINAL else ""
    options += f", execution = '{execution}'" if execution else ""
    return f"CREATE MATERIALIZED VIEW {name} WITH ({options}) AS {VIEWS[name]};\n"


def legal_executions() -> dict[str, list[str]]:
    """The executions of each view, found without Spark."""
    text = STREAMS + "".join(declared(name, 0) for name in VIEWS)
    project = model.Project(name="random", declarations=sql.parse_declarations(text, "views.sql").declarations)
    return {name: list(executions(found.view, found.root)) for name, found in check(project).checked().views.items()}


LEGAL = legal_executions()


@st.composite
def cases(draw: st.DrawFn) -> dict[str, str]:
    """Some views and an execution of each."""
    names = draw(st.lists(st.sampled_from(sorted(VIEWS)), min_size=CASES, max_size=CASES, unique=True))
    return {name: draw(st.sampled_from(LEGAL[name])) for name in names}


@settings(max_examples=max(3, (settings.default.max_examples - 100) // 10), suppress_health_check=list(HealthCheck))
@given(
    cases=cases(),
    grace=st.sampled_from([0, 0, 2, 7]),
    lives=lives(),
    few=st.sampled_from([2, small.FEW]),
    compiled=st.sampled_from([0, settle.COMPILED]),
)
def test_any_batching_and_any_crash_give_the_rows_of_batch(
    spark: object, cases: dict[str, str], grace: int, lives: list[Life], few: int, compiled: int
) -> None:
    """With a `few` of two rows, settled views read files or the rows of their keys; else their steps are small.

    Those with more rows than `compiled` are computed by compiled code.
    """
    assert spark
    read = {READS[name] for name in cases if name in READS} - cases.keys()
    views = [declared(name, grace, how) for name, how in cases.items()] + [declared(name, grace) for name in read]
    limits = patch.object(small, "FEW", few), patch.object(settle, "COMPILED", compiled)
    with limits[0], limits[1], scenario(STREAMS + "".join(views)) as found:
        for life in lives:
            found.feed(life.script)
            if life.crash is not None:
                with suppress(AssertionError):  # the run may be over before
                    found.crash(at=life.crash, per_batch=life.per_batch)
            found.run(per_batch=life.per_batch)
        for name in cases:
            verified = found.project.verify(name)
            assert verified.identical, verified
