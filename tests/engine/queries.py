"""Random queries: window functions, grouping sets, subqueries, joins, unions, ordered aggregates, and any two of the
operators that keep state, one on top of the other.

A query is one text for Headwater and for DuckDB. Where they differ, it has fields: `{rows}` are the rows and
`{windows}` the rows in their windows; `{tie}` is what the order of the log decides, which DuckDB must be told;
`{opened}` and `{closed}` stand around a query whose rows are put in windows; `HOP[slide, size]` are overlapping windows
in microseconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

WINDOW_END = "time_bucket(INTERVAL 10 SECOND, made_at, TIMESTAMP '2026-01-01') + INTERVAL 10 SECOND AS window_end"
HERE = {
    "rows": "events",
    "windows": "TUMBLE(TABLE events, DESCRIPTOR(made_at), INTERVAL '10' SECOND)",
    "tie": "",
    "opened": "TUMBLE(TABLE (",
    "closed": "), DESCRIPTOR(made_at), INTERVAL '10' SECOND)",
}
THERE = {
    "rows": "events",
    "windows": "windows",
    "tie": ", seq",
    "opened": f"(SELECT *, {WINDOW_END} FROM (",
    "closed": "))",
}
START = datetime(2026, 1, 1, tzinfo=UTC)
_HOP = re.compile(r"HOP\[(\d+), (\d+)\]")


def here(text: str) -> str:
    """The query as Headwater reads it."""
    hop = "HOP(TABLE events, DESCRIPTOR(made_at), INTERVAL '{}' SECOND, INTERVAL '{}' SECOND)"
    return _HOP.sub(lambda found: hop.format(*(int(span) / 1e6 for span in found.groups())), text).format(**HERE)


def there(text: str) -> str:
    """The query as DuckDB reads it."""
    return _HOP.sub(lambda found: _hops(*map(int, found.groups())), text).format(**THERE)


def _hops(slide: int, size: int) -> str:
    first = f"(epoch_us(made_at) // {slide}) * {slide}"
    ends = f"unnest(list_transform(range(1, {size // slide} + 1), lambda i: make_timestamp({first} + i * {slide})))"
    return f"(SELECT *, {ends} AS window_end FROM events)"


ORDERS = ("v ASC NULLS FIRST", "v DESC NULLS LAST", "made_at", "g DESC NULLS LAST, v ASC NULLS LAST", "made_at DESC")
RANKINGS = ("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)")
STEPS = ("lag(v)", "lead(id)", "lag(v, 2, -1)", "lead(v, 1, 0)")
AGGREGATES = ("count(*)", "sum(v)", "avg(v)", "min(v)", "max(id)", "count(k)")
PLACED = ("first_value(id)", "last_value(v)", "nth_value(id, 2)")
TIED = ("row_number()", "ntile(3)", *STEPS)
"""Window functions that show which of two equal rows comes first."""
BOUNDS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
SPANS = ("INTERVAL '{}' SECOND PRECEDING", "CURRENT ROW", "INTERVAL '{}' SECOND FOLLOWING")
FILTERS = ("", " WHERE v > 1", " WHERE k IS NOT NULL", " WHERE g = 1 OR v IN (0, 2)", " WHERE v BETWEEN 1 AND 3")
OUTER = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


@st.composite
def over(draw: st.DrawFn) -> str:
    """Window functions over windows, with and without frames."""
    calls = []
    for number in range(draw(st.integers(1, 3))):
        by = draw(st.sampled_from(["window_end", "k, window_end", "window_end, g"]))
        order = draw(st.sampled_from(ORDERS))
        function = draw(st.sampled_from([*RANKINGS, *STEPS, *AGGREGATES, *PLACED]))
        frame = ""
        if function in AGGREGATES + PLACED:
            start, end = sorted(draw(st.tuples(*[st.integers(0, len(BOUNDS) - 1)] * 2)))
            by_rows = function in PLACED or draw(st.booleans())
            start, end = min(start, len(BOUNDS) - 2), max(end, 1)
            frame = f" ROWS BETWEEN {BOUNDS[start]} AND {BOUNDS[end]}" if by_rows else ""
        tie = "{tie}" if function in TIED or frame else ""
        calls.append(f"{function} OVER (PARTITION BY {by} ORDER BY {order}{tie}{frame}) AS c{number}")
    return f"SELECT id, {', '.join(calls)} FROM {{windows}}"


@st.composite
def over_time(draw: st.DrawFn) -> str:
    """Aggregates over frames in time, of rows in no window."""
    calls = []
    for number in range(draw(st.integers(1, 3))):
        back, ahead = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        start, end = draw(st.sampled_from([(0, 1), (0, 2), (1, 2)]))
        span = f"{SPANS[start].format(back)} AND {SPANS[end].format(ahead)}"
        by = draw(st.sampled_from(["", "PARTITION BY k ", "PARTITION BY k, g "]))
        function = draw(st.sampled_from(AGGREGATES))
        calls.append(f"{function} OVER ({by}ORDER BY made_at RANGE BETWEEN {span}) AS c{number}")
    where = draw(st.sampled_from(["", " WHERE v > 1", " WHERE k IS NOT NULL"]))
    return f"SELECT id, {', '.join(calls)} FROM {{rows}}{where}"


@st.composite
def sets(draw: st.DrawFn) -> str:
    """Aggregates by several sets of columns."""
    first, second = draw(st.sampled_from([("k", "g"), ("g", "k"), ("k", "v % 2"), ("v", "g")]))
    by = draw(
        st.sampled_from(
            ["window_end, ROLLUP ({}, {})", "window_end, CUBE ({}, {})", "window_end, GROUPING SETS (({}), ({}), ())"]
        )
    )
    shown = ", ".join(f"{call} AS c{number}" for number, call in enumerate(draw(st.permutations(AGGREGATES))[:2]))
    having = draw(st.sampled_from(["", " HAVING count(*) > 1", " HAVING max(v) > 2"]))
    level = f"grouping_id(window_end, {first}, {second})"
    return (
        f"SELECT window_end, {first} AS a, {second} AS b, {level} AS level, {shown} FROM {{windows}}"
        f" GROUP BY {by.format(first, second)}{having}"
    )


@st.composite
def values(draw: st.DrawFn) -> str:
    """Rows compared with an aggregate of their window."""
    more = draw(st.sampled_from(["", " AND i.k = o.k", " AND i.g = o.g", " AND i.v > 1"]))
    call = draw(st.sampled_from(["max(i.v)", "avg(i.v)", "count(*)", "min(i.v) + 1", "sum(i.v) - max(i.v)"]))
    value = f"(SELECT {call} FROM {{windows}} AS i WHERE i.window_end = o.window_end{more})"
    if draw(st.booleans()):
        return f"SELECT id, {value} AS c0 FROM {{windows}} AS o"
    compared = draw(st.sampled_from([">", "<", ">=", "<>"]))
    return f"SELECT id, v FROM {{windows}} AS o WHERE o.v {compared} {value}"


@st.composite
def members(draw: st.DrawFn) -> str:
    """Rows of which there are, or are not, others: in the same window, or near in time."""
    within = (
        f"i.made_at BETWEEN o.made_at - INTERVAL '{draw(st.integers(0, 6))}' SECOND AND o.made_at + INTERVAL '3' SECOND"
    )
    source, bound = draw(st.sampled_from([("{windows}", "i.window_end = o.window_end"), ("{rows}", within)]))
    more = draw(st.sampled_from(["", " AND i.k = o.k", " AND i.v < o.v", " AND i.g = o.g AND i.id <> o.id"]))
    negated = draw(st.sampled_from(["", "NOT "]))
    if draw(st.booleans()):
        condition = f"{negated}EXISTS (SELECT 1 FROM {source} AS i WHERE {bound}{more} AND i.v > 2)"
    else:
        column = draw(st.sampled_from(["k", "g", "v"]))
        condition = (
            f"o.{column} {negated}IN (SELECT i.{column} FROM {source} AS i WHERE {bound}{more} AND i.id <> o.id)"
        )
    return f"SELECT id FROM {source} AS o WHERE {condition}"


@st.composite
def ordered_aggregates(draw: st.DrawFn) -> str:
    """Lists, texts and first and last values in a stated order."""
    by = draw(st.sampled_from(["window_end", "window_end, k"]))
    calls = []
    for number in range(draw(st.integers(1, 3))):
        order = f"ORDER BY {draw(st.sampled_from([found for found in ORDERS if 'NULLS' in found]))}{{tie}}"
        call = draw(
            st.sampled_from(
                [f"array_agg(id {order})", f"string_agg(id, '+' {order})", f"first(id {order})", f"last(v {order})"]
            )
        )
        calls.append(f"{call} AS c{number}")
    where = draw(st.sampled_from(FILTERS))
    return f"SELECT {by}, {', '.join(calls)} FROM {{windows}}{where} GROUP BY {by}"


@st.composite
def unions(draw: st.DrawFn) -> str:
    """The rows of two or three queries, by position and by name, all and once."""
    parts = []
    words = draw(st.sampled_from(["UNION ALL", "UNION", "UNION ALL BY NAME", "UNION BY NAME", "EXCEPT", "INTERSECT"]))
    for _ in range(2 if words in ("EXCEPT", "INTERSECT") else draw(st.integers(2, 3))):
        columns = ["id", draw(st.sampled_from(["v", "g AS v", "v + 1 AS v"])), "made_at"]
        columns = draw(st.permutations(columns)) if "NAME" in words else columns
        parts.append(f"SELECT {', '.join(columns)} FROM {{rows}}{draw(st.sampled_from(FILTERS))}")
    united = f" {words} ".join(parts)
    if words == "UNION ALL" and draw(st.booleans()):
        call = draw(st.sampled_from(["sum(v)", "count(v)", "max(id)"]))
        return f"SELECT window_end, count(*) AS n, {call} AS c FROM {{opened}}{united}{{closed}} GROUP BY window_end"
    return united


@st.composite
def joins(draw: st.DrawFn) -> str:
    """Rows near in time, inner and outer, alone, joined once more, and aggregated."""
    kind, more = draw(st.sampled_from(OUTER)), draw(st.sampled_from(["", " AND b.v > a.v", " AND b.id <> a.id"]))
    low, high = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    near = f"b.made_at BETWEEN a.made_at - INTERVAL '{low}' SECOND AND a.made_at + INTERVAL '{high}' SECOND"
    joined = f"{{rows}} AS a {kind} {{rows}} AS b ON a.k = b.k AND {near}{more}"
    match draw(st.integers(0, 3)):
        case 0:
            return f"SELECT a.id, b.id AS other, b.v FROM {joined}"
        case 3:  # by the time of rows that may not be there
            other, by = draw(st.sampled_from(OUTER)), draw(st.sampled_from(["b", "b", "a"]))
            low, high = draw(st.integers(0, 4)), draw(st.integers(0, 4))
            second = (
                f"c.made_at BETWEEN {by}.made_at - INTERVAL '{low}' SECOND AND {by}.made_at + INTERVAL '{high}' SECOND"
            )
            equal = draw(st.sampled_from([f"c.k = {by}.k AND ", f"c.g = {by}.g AND c.id <> {by}.id AND "]))
            return f"SELECT a.id, b.id AS p, c.id AS q FROM {joined} {other} {{rows}} AS c ON {equal}{second}"
        case 1:
            other = draw(st.sampled_from(OUTER[:2]))
            close = "c.made_at BETWEEN a.made_at AND a.made_at + INTERVAL '3' SECOND"
            joined = f"{{rows}} AS a {draw(st.sampled_from(OUTER[:2]))} {{rows}} AS b ON a.k = b.k AND {near}{more}"
            return f"SELECT a.id, b.id AS p, c.id AS q FROM {joined} {other} {{rows}} AS c ON c.g = a.g AND {close}"
        case _:
            kept = f"SELECT a.id, a.made_at, b.v FROM {{rows}} AS a {draw(st.sampled_from(OUTER[:2]))} {{rows}} AS b"
            inner = f"{kept} ON a.k = b.k AND {near}{more}"
            calls = "count(*) AS n, count(v) AS m, max(id) AS last"
            return f"SELECT window_end, {calls} FROM {{opened}}{inner}{{closed}} GROUP BY window_end"


@st.composite
def beside(draw: st.DrawFn) -> str:
    """Windows beside those some windows before or behind them."""
    sides = []
    for name, call in (("n", "count(*)"), ("m", draw(st.sampled_from(["sum(v)", "max(v)", "count(v)"])))):
        where = draw(st.sampled_from(FILTERS))
        sides.append(f"(SELECT window_end, {call} AS {name} FROM {{windows}}{where} GROUP BY window_end)")
    away, kind = draw(st.sampled_from([-20, -10, 10, 20])), draw(st.sampled_from(OUTER))
    near = f"y.window_end = x.window_end + INTERVAL '{away}' SECOND"
    if draw(st.booleans()):
        first, last = sorted([away, 0])
        near = (
            f"y.window_end BETWEEN x.window_end + INTERVAL '{first}' SECOND AND x.window_end + INTERVAL '{last}' SECOND"
        )
    if draw(st.integers(0, 3)) == 0:
        negated = draw(st.sampled_from(["", "NOT "]))
        partner = f"{negated}EXISTS (SELECT 1 FROM {sides[1]} AS y WHERE {near})"
        return f"SELECT x.window_end, n FROM {sides[0]} AS x WHERE {partner}"
    return f"SELECT x.window_end, n, y.window_end AS there, m FROM {sides[0]} AS x {kind} {sides[1]} AS y ON {near}"


SUMS = ("v + 1", "v - g", "v * 2", "10 - v", "-v", "v % 3")
TESTS = ("v > 1", "v > 1 OR g = 2", "k = 'x' AND g = 1", "NOT v > 1", "v IS NULL", "v BETWEEN 1 AND 3", "v IN (1, 2)")


@st.composite
def columns(draw: st.DrawFn) -> str:
    """Columns computed of columns of the same SELECT."""
    one, other = draw(st.sampled_from(SUMS)), draw(st.sampled_from(TESTS))
    more = draw(st.permutations(["2 * n", "10 - n", "n - n", "-n", "n * n + 1", "n > 1", "n = v + 1", "n IS NULL"]))[:3]
    tests = draw(st.permutations(["NOT b", "b AND v > 0", "b OR v > 0", "b = true", "b IS NULL", "(b) = (v > 2)"]))[:3]
    calls = [f"{text} AS c{number}" for number, text in enumerate([*more, *tests])]
    return f"SELECT id, {one} AS n, {other} AS b, {', '.join(calls)} FROM {{rows}}"


INNER = (
    "SELECT k, window_end, count(*) AS n, max(v) AS v FROM {windows} GROUP BY k, window_end",
    "SELECT k, window_end, count(*) AS n, min(v) AS v FROM {windows} WHERE v > 0"
    " GROUP BY k, window_end HAVING count(*) > 1",
    "SELECT k, window_end, g AS n, v FROM {windows}"
    " QUALIFY row_number() OVER (PARTITION BY window_end ORDER BY v DESC NULLS LAST{tie}) <= 2",
    "SELECT DISTINCT k, window_end, g AS n, v FROM {windows}",
    "SELECT a.k, a.window_end, b.v AS n, a.v FROM {windows} AS a {outer} {windows} AS b"
    " ON a.k = b.k AND a.window_end = b.window_end",
    "SELECT k, window_end, v AS n, v FROM {windows} UNION ALL SELECT k, window_end, g, v FROM {windows} WHERE v > 1",
    "SELECT k, window_end, rank() OVER (PARTITION BY window_end ORDER BY v ASC NULLS FIRST) AS n, v FROM {windows}",
    "SELECT k, window_end, 1 AS n, v FROM {windows} AS o"
    " WHERE EXISTS (SELECT 1 FROM {windows} AS i WHERE i.window_end = o.window_end AND i.v > o.v)",
    "SELECT k, window_end, count(*) AS n, max(v) AS v FROM HOP[5000000, 10000000] GROUP BY k, window_end",
)
"""Each kind of operator that keeps state, with the same columns."""
ABOVE = (
    "SELECT window_end, count(*) AS c, sum(n) AS s, max(v) AS m FROM ({x}) GROUP BY window_end",
    "SELECT k, window_end, n, rank() OVER (PARTITION BY window_end ORDER BY n ASC NULLS FIRST) AS r FROM ({x})",
    "SELECT k, window_end, n FROM ({x}) QUALIFY"
    " dense_rank() OVER (PARTITION BY window_end ORDER BY n DESC NULLS LAST) <= 2",
    "SELECT DISTINCT window_end, n FROM ({x})",
    "SELECT x.k, x.window_end, x.n, y.n AS other FROM ({x}) AS x {outer} ({y}) AS y"
    " ON x.window_end = y.window_end AND x.k = y.k",
    "SELECT k, window_end, n FROM ({x}) UNION ALL SELECT k, window_end, v FROM ({y})",
    "SELECT k, window_end FROM ({x}) EXCEPT SELECT k, window_end FROM ({y}) WHERE n > 1",
    "SELECT k, window_end, n FROM ({x}) AS o WHERE EXISTS"
    " (SELECT 1 FROM ({y}) AS i WHERE i.window_end = o.window_end AND i.k = o.k)",
    "WITH x AS ({x}) SELECT window_end, k, grouping_id(window_end, k) AS level, count(*) AS c FROM x"
    " GROUP BY window_end, ROLLUP (k)",
)


@st.composite
def pairs(draw: st.DrawFn) -> str:
    """One operator that keeps state on top of another."""

    def filled(text: str) -> str:
        for name, choices in (("x", INNER), ("y", INNER), ("outer", OUTER)):
            while f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", draw(st.sampled_from(choices)), 1)
        return text

    return filled(draw(st.sampled_from(ABOVE)))


LENGTHS = (
    (250_000, 1_000_000), (1_000_000, 1_000_000), (2_000_000, 10_000_000), (60_000_000, 3_600_000_000),
    (900_000_000, 7_200_000_000), (86_400_000_000, 30 * 86_400_000_000), (7 * 86_400_000_000, 63 * 86_400_000_000),
)  # fmt: skip
"""Slides and sizes of overlapping windows, from milliseconds to months, in microseconds."""


@st.composite
def hops(draw: st.DrawFn) -> str:
    """Aggregates of overlapping windows."""
    slide, size = draw(st.sampled_from(LENGTHS))
    by = draw(st.sampled_from(["window_end", "window_end, k"]))
    calls = [f"{call} AS c{number}" for number, call in enumerate(draw(st.permutations(AGGREGATES))[:2])]
    where = draw(st.sampled_from(FILTERS))
    return f"SELECT {by}, {', '.join(calls)} FROM HOP[{slide}, {size}]{where} GROUP BY {by}"


@st.composite
def elements(draw: st.DrawFn) -> str:
    """A row per element of an array, alone and in groups."""
    joined = draw(st.sampled_from(["CROSS JOIN UNNEST(tags) AS u(tag)", ", UNNEST(tags) AS u(tag)"]))
    source = f"{{rows}} {joined}{draw(st.sampled_from(FILTERS))}"
    if draw(st.booleans()):
        return f"SELECT id, tag FROM {source}"
    inner = f"SELECT id, made_at, tag FROM {source}"
    return f"SELECT window_end, tag, count(*) AS n FROM {{opened}}{inner}{{closed}} GROUP BY window_end, tag"


QUERY: st.SearchStrategy[str] = st.one_of(
    over(), over_time(), sets(), values(), members(), ordered_aggregates(), unions(), joins(), joins(), pairs(),
    pairs(), pairs(), hops(), elements(), beside(), columns(),
)  # fmt: skip


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events out of order by less than the watermark's delay, some of them at the same time."""
    found, second = [], 0.0
    for number in range(draw(st.integers(8, 30))):
        second += draw(st.sampled_from([0, 0, 0.5, 1, 2, 4]))
        at = START + timedelta(seconds=second + draw(st.sampled_from([0, 0, 1, 2.5, 4.999])))
        values = {
            "id": f"e{number}",
            "k": draw(st.sampled_from(["x", "y", "z", None])),
            "g": draw(st.sampled_from([1, 2, None])),
            "v": draw(st.sampled_from([0, 1, 2, 3, 5, None])),
            "tags": draw(st.lists(st.sampled_from(["p", "q", "r"]), max_size=3) | st.none()),
        }
        found.append({**values, "made_at": at.isoformat()})
    return found
