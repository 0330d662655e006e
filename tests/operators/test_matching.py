"""Patterns against the standard's definition: random ones over random rows, searched for at once and step by step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ViewFailed
from headwater.model.pattern import (
    Absence,
    Alternation,
    Anchor,
    Exclusion,
    Permutation,
    Repeat,
    Sequence,
    Step,
    Variable,
)
from headwater.operators.match.automaton import Going
from headwater.operators.match.condition import OfMatch, OfRow, Operation, Total
from headwater.operators.match.matching import (
    COME_TO,
    DECIDED,
    EXCLUDED,
    FIRST,
    NUMBER,
    PLACE,
    UNMATCHED,
    VARIABLE,
    Matching,
    consumed_in,
)
from headwater.operators.match.program import program_of
from tests.operators.matcher import Path, Pattern, matches

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = ("a", "b", "c")
SO_FAR = {
    "larger than the last a": Operation(">", (OfRow("value"), OfMatch("value", frozenset({0}), last=True)), pa.bool_()),
    "no more than so many": Operation(
        "<", (Total("sum", "value", frozenset({0, 1, 2}), pa.int64()), OfRow("limit")), pa.bool_()
    ),
    "not like the first": Operation(
        "<>", (OfRow("value"), OfMatch("value", frozenset({0, 1, 2}), last=False)), pa.bool_()
    ),
}


def trees(anchored: bool) -> st.SearchStrategy[Step]:
    """Random patterns."""
    leaves: st.SearchStrategy[Step] = st.sampled_from([Variable(name) for name in NAMES])
    if anchored:
        leaves = st.one_of(leaves, leaves, st.sampled_from([Anchor("start"), Anchor("end")]))
    bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None), (0, 2)])

    def larger(part: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
        several = st.lists(part, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(Sequence),
            several.map(Sequence),
            several.map(Alternation),
            st.builds(lambda part, span, greedy: Repeat(part, *span, greedy), part, bounds, st.booleans()),
            several.map(Permutation),
            part.map(Exclusion),
        )

    whole = st.recursive(leaves, larger, max_leaves=6)
    absent = st.sampled_from([Absence(name) for name in NAMES])
    return st.one_of(whole, whole, st.tuples(whole, absent).map(Sequence))


def plain(step: Step) -> Pattern:
    """The pattern as the second opinion has it."""
    match step:
        case Variable(name):
            return ("var", name)
        case Sequence(parts):
            return ("seq", [plain(part) for part in parts])
        case Alternation(options):
            return ("alt", [plain(option) for option in options])
        case Permutation(parts):
            return ("perm", [plain(part) for part in parts])
        case Repeat(part, least, most, greedy):
            return ("rep", plain(part), least, most, greedy)
        case Exclusion(part):
            return ("not shown", plain(part))
        case Anchor(at):
            return (at,)
        case Absence(name):
            return ("absent", name)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of two partitions in the order in which they arrive, each with the step that it arrives in."""
    count = draw(st.integers(0, 14))
    rows = [
        {
            "key": draw(st.sampled_from(["x", None])),
            "time": draw(st.integers(0, 40)),
            "step": draw(st.integers(0, 4)),
            "value": draw(st.one_of(st.none(), st.integers(0, 4))),
            "limit": draw(st.integers(0, 9)),
            **{name: draw(st.booleans()) for name in NAMES},
        }
        for _ in range(count)
    ]
    rows.sort(key=lambda row: row["step"])
    for place, row in enumerate(rows):
        row["position"] = place
    return rows


def at(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as Spark would give them: sorted by partition, time and place in the log."""
    rows = sorted(rows, key=lambda row: (row["key"] is not None, row["time"], row["position"]))
    instants = [at(row["time"]) for row in rows]
    columns = {
        "key": pa.array([row["key"] for row in rows], pa.string()),
        "at": pa.array(instants, pa.timestamp("us", "UTC")),
        "mark": pa.array([at(1000)] * len(rows), pa.timestamp("us", "UTC")),
        "position": pa.array(
            [{"commit": 0, "row": row["position"]} for row in rows],
            pa.struct([("commit", pa.int64()), ("row", pa.int64())]),
        ),
        "value": pa.array([row["value"] for row in rows], pa.int64()),
        "limit": pa.array([row["limit"] for row in rows], pa.int64()),
        **{name: pa.array([row[name] for row in rows], pa.bool_()) for name in NAMES},
    }
    return pa.table(columns)


def found(rows: pa.Table) -> list[tuple[Any, ...]]:
    """What came out, of matches and of rows without one."""
    shown = zip(
        *(rows[name].to_pylist() for name in ("position", FIRST, PLACE, VARIABLE, EXCLUDED, "key")), strict=True
    )
    return sorted(
        (first["row"], place, own["row"], variable or "", bool(excluded))
        for own, first, place, variable, excluded, _ in shown
        if place != COME_TO
    )


def is_so_far(name: str, rows: list[dict[str, Any]], path: Path, row: int) -> bool:
    value = rows[row]["value"]
    if name == "larger than the last a":
        of_a = [rows[place]["value"] for place, variable, _ in path if variable == "a"]
        return bool(of_a and value is not None and of_a[-1] is not None and value > of_a[-1])
    if name == "no more than so many":
        known = [each for each in (*(rows[place]["value"] for place, _, _ in path), value) if each is not None]
        return bool(known) and sum(known) < rows[row]["limit"]
    first = rows[path[0][0]]["value"] if path else value
    return value is not None and first is not None and value != first


def expected(
    rows: list[dict[str, Any]], step: Step, within: int | None, going: Going, so_far: dict[str, str], unmatched: bool
) -> list[tuple[Any, ...]]:
    """What should come out, by the second opinion."""
    out: list[tuple[Any, ...]] = []
    for key in ("x", None):
        own = sorted((row for row in rows if row["key"] == key), key=lambda row: (row["time"], row["position"]))

        def is_one(name: str, path: Path, row: int, own: list[dict[str, Any]] = own) -> bool:
            return own[row][name] and (name not in so_far or is_so_far(so_far[name], own, path, row))

        places, covered = [row["position"] for row in own], -1
        skip = going.to, frozenset(NAMES[number] for number in going.variables)
        for begin, path in matches(plain(step), [row["time"] for row in own], within, skip, is_one):
            if path is None:
                out += [(places[begin], UNMATCHED, places[begin], "", False)] if unmatched and begin > covered else []
            elif not path:
                out.append((places[begin], 0, places[begin], "", False))
            for place, (row, name, hidden) in enumerate(path or ()):
                covered = max(covered, row)
                out.append((places[begin], place + 1, places[row], name.upper(), hidden))
    return sorted(out)


GOINGS = [Going("past last row"), Going("next row")]


@given(
    rows=logs(),
    step=trees(anchored=False),
    going=st.sampled_from(GOINGS),
    within=st.sampled_from([1, 5, 12, 30]),
    so_far=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(SO_FAR)), max_size=1),
    upto=st.lists(st.integers(0, 45), min_size=5, max_size=5),
    forgets=st.booleans(),
    unmatched=st.booleans(),
)
@settings(deadline=None)
def test_a_pattern_is_found_step_by_step_as_it_is_at_once(
    rows: list[dict[str, Any]],
    step: Step,
    going: Going,
    within: int,
    so_far: dict[str, str],
    upto: list[int],
    forgets: bool,
    unmatched: bool,
) -> None:
    unmatched = unmatched and going.to == "past last row"
    conditions = {NAMES.index(name): SO_FAR[kind] for name, kind in so_far.items()}
    matching = Matching(
        ("key",),
        "at",
        "mark",
        "position",
        program_of(step, NAMES),
        NAMES,
        within,
        0,
        going,
        conditions,
        unmatched,
        chained=going.to != "next row",
    )
    wanted = expected(rows, step, within, going, so_far, unmatched)
    assert found(matching.matched(table(rows))) == wanted

    instants = sorted(upto)
    for row in rows:  # what came after the watermark has passed it would be late
        last = next((number for number, instant in enumerate(instants) if instant >= row["time"]), len(instants))
        row["step"] = min(row["step"], last)
    order = sorted(rows, key=lambda row: (row["step"], row["position"]))
    for place, row in enumerate(order):
        row["position"] = place
    wanted = expected(rows, step, within, going, so_far, unmatched)
    out: list[tuple[Any, ...]] = []
    since: int | None = None
    consumed = None
    for number, instant in enumerate([*instants, 1000]):
        there = [row for row in rows if row["step"] <= number]
        if since is not None and not forgets:  # a slice has no others
            there = [row for row in there if row["time"] > since - matching.sought or row["step"] == number]
        came = matching.matched(table(there), instant, since, consumed)
        decided = [value.value for value in came[DECIDED].cast(pa.timestamp("us", "UTC"))]
        final = [value <= instant and (since is None or value > since) for value in decided]
        out += found(came.filter(pa.array(final, pa.bool_())))
        come_to = came.filter(pa.compute.equal(came[PLACE], COME_TO))
        consumed = consumed_in(come_to, ("key",), "at")
        since = instant
    assert sorted(out) == wanted


@given(
    rows=logs(),
    step=trees(anchored=True),
    to=st.sampled_from(["past last row", "next row", "first", "last"]),
    names=st.sets(st.sampled_from(range(3)), min_size=1),
    within=st.sampled_from([None, 8]),
    unmatched=st.booleans(),
)
@settings(deadline=None)
def test_a_pattern_in_partitions_that_end_is_found_by_the_standard(
    rows: list[dict[str, Any]], step: Step, to: Any, names: set[int], within: int | None, unmatched: bool
) -> None:
    going = Going(to, frozenset(names), "n")
    matching = Matching(
        ("key",),
        "at",
        "mark",
        "position",
        program_of(step, NAMES),
        NAMES,
        within,
        0,
        going,
        {},
        unmatched,
        ending=True,
        chained=False,
    )
    try:
        came = matching.matched(table(rows))
    except ViewFailed:
        assert to in ("first", "last")
        return
    assert found(came) == expected(rows, step, within, going, {}, unmatched)
    numbers = {
        (key, first["row"]): number
        for key, first, number, place in zip(
            came["key"].to_pylist(),
            came[FIRST].to_pylist(),
            came[NUMBER].to_pylist(),
            came[PLACE].to_pylist(),
            strict=True,
        )
        if place >= 0
    }
    for key in ("x", None):
        own = [number for (of, _), number in numbers.items() if of == key]
        assert sorted(own) == list(range(1, len(own) + 1))


@given(rows=logs(), size=st.integers(1, 4), step=trees(anchored=False))
@settings(deadline=None)
def test_batches_may_be_cut_anywhere(rows: list[dict[str, Any]], size: int, step: Step) -> None:
    matching = Matching(
        ("key",), "at", "mark", "position", program_of(step, NAMES), NAMES, 9, 0, Going("past last row"), {}
    )
    whole = matching.matched(table(rows))
    batches = table(rows).combine_chunks().to_batches(max_chunksize=size)
    parts = [pa.Table.from_batches([batch]) for batch in matching.stream(iter(batches), whole.schema, None)]
    assert found(pa.concat_tables([whole.slice(0, 0), *parts])) == found(whole)


def test_a_search_that_tries_too_much_stops_with_the_row_at_which_it_began() -> None:
    rows = [
        {"key": "x", "time": place, "position": place, "value": 1, "limit": 0, "a": True, "b": True, "c": False}
        for place in range(40)
    ]
    step = Sequence((Repeat(Alternation((Variable("a"), Variable("b"))), 1, None), Variable("c")))
    never = Operation("<", (Total("sum", "value", frozenset({0, 1, 2}), pa.int64()), OfRow("value")), pa.bool_())
    always = Operation("not", (never,), pa.bool_())
    matching = Matching(
        ("key",), "at", "mark", "position", program_of(step, NAMES), NAMES, 100, 0, Going("next row"), {1: always}
    )
    with pytest.raises(ViewFailed, match="has tried 1,000,000 ways") as raised:
        matching.matched(table(rows))
    assert "It is the row of key = x, at = 1970-01-01 00:00:00+00:00." in str(raised.value)


def test_a_condition_that_divides_by_zero_stops_with_its_row_unless_that_may_still_change() -> None:
    rows = [
        {"key": "x", "time": place, "position": place, "value": 0, "limit": 4, "a": True, "b": True, "c": True}
        for place in range(3)
    ]
    ratio = Operation("/", (OfRow("limit"), OfMatch("value", frozenset({0}), last=True)), pa.float64())
    large = Operation(">", (ratio, OfRow("limit")), pa.bool_())
    step = Sequence((Variable("a"), Variable("b")))
    matching = Matching(
        ("key",), "at", "mark", "position", program_of(step, NAMES), NAMES, 10, 0, Going("next row"), {1: large}
    )
    with pytest.raises(ViewFailed, match=r'the condition of "b" can\'t be computed: it divides by zero') as raised:
        matching.matched(table(rows), upto=5)
    assert "at = 1970-01-01 00:00:00.000001+00:00" in str(raised.value)
    assert matching.matched(table(rows), upto=0).num_rows == 0
