"""The watermark clock: row by row, whatever the cut; idleness; strategies."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.log.clock import Arrivals, Clock, Rules
from headwater.log.lateness import EPOCH, Lateness, _buckets, _upper
from headwater.model import Bounded, Punctuated, Quantile

SECOND = 1_000_000


def arrivals(*rows: tuple[int, str, int]) -> Arrivals:
    """Rows of (event time, source, arrival), in seconds."""
    names = sorted({source for _, source, _ in rows})
    return Arrivals(
        np.array([at * SECOND for at, _, _ in rows], np.int64),
        np.array([names.index(source) for _, source, _ in rows], np.int64),
        names,
        np.array([arrived * SECOND for _, _, arrived in rows], np.int64),
    )


def stamped(clock: Clock, *rows: tuple[int, str, int]) -> tuple[list[int], Clock]:
    stamps, after = clock.stamp(arrivals(*rows))
    return [stamp // SECOND for stamp in stamps.tolist()], after


def by_the_book(clock: Clock, rows: Arrivals) -> list[int]:
    """The definition, one row at a time, in plain Python: the model that the vectorized clock must match."""
    assert isinstance(clock.rules.strategy, Bounded)
    delay = round(clock.rules.strategy.delay.total_seconds() * SECOND)
    watermark, arrived = clock.watermark, clock.arrived
    marks = {name: (source.mark, source.arrived) for name, source in clock.sources.items()}
    stamps = []
    for mark, index, came in zip(rows.marks.tolist(), rows.sources.tolist(), rows.arrived.tolist(), strict=True):
        arrived = max(arrived, came)
        if clock.rules.idle is not None:
            marks = {name: known for name, known in marks.items() if arrived - known[1] <= clock.rules.idle}
        stamps.append(watermark)
        name = rows.names[index]
        marks[name] = (max(mark, marks[name][0]) if name in marks else mark, arrived)
        watermark = max(watermark, (min(known[0] for known in marks.values()) - delay) // 1000 * 1000)
    return stamps


def test_a_row_is_stamped_with_the_watermark_just_before_it() -> None:
    stamps, after = stamped(Clock(Rules(Bounded(timedelta(seconds=5)))), (10, "a", 0), (20, "a", 0), (12, "a", 0))
    assert stamps == [0, 5, 15]
    assert after.watermark == 15 * SECOND


def test_the_watermark_is_the_minimum_over_sources() -> None:
    stamps, after = stamped(Clock(), (100, "fast", 0), (10, "slow", 0), (200, "fast", 0), (30, "slow", 0))
    assert stamps == [0, 100, 100, 100]
    assert after.watermark == 100 * SECOND


def test_a_source_that_is_idle_no_longer_holds_the_watermark() -> None:
    clock = Clock(Rules(Bounded(), idle=30 * SECOND))
    _, clock = stamped(clock, (10, "fast", 0), (10, "slow", 0))
    stamps, clock = stamped(clock, (50, "fast", 20), (60, "fast", 31), (70, "fast", 32))
    assert stamps == [10, 10, 60]
    stamps, clock = stamped(clock, (20, "slow", 33), (80, "fast", 33))
    assert stamps == [70, 70]
    assert clock.watermark == 70 * SECOND


def test_an_expected_source_holds_the_watermark_until_it_is_idle() -> None:
    clock = Clock(Rules(Bounded(), idle=30 * SECOND)).expect(["partition-0", "partition-1"], 0)
    _, clock = stamped(clock, (50, "partition-0", 1))
    assert clock.watermark == 0
    _, clock = stamped(clock, (60, "partition-0", 31))
    assert clock.watermark == 60 * SECOND


def test_a_tick_releases_idle_sources_and_then_follows_the_wall_clock() -> None:
    clock = Clock(Rules(Bounded(timedelta(seconds=5)), idle=30 * SECOND))
    _, clock = stamped(clock, (100, "fast", 0), (90, "slow", 0))
    assert clock.watermark == 95 * SECOND  # before "slow" was known
    _, clock = stamped(clock, (120, "fast", 20))
    assert clock.tick(30 * SECOND).watermark == 95 * SECOND
    assert clock.tick(31 * SECOND).watermark == 115 * SECOND
    assert clock.tick(50 * SECOND).watermark == 115 * SECOND
    assert clock.tick(60 * SECOND).watermark == (115 + 10) * SECOND


def test_a_tick_without_idle_or_without_events_changes_nothing() -> None:
    _, clock = stamped(Clock(), (100, "a", 0))
    assert clock.tick(1_000 * SECOND) == clock
    silent = Clock(Rules(idle=SECOND))
    assert silent.tick(1_000 * SECOND) == silent


def test_the_watermark_never_goes_back() -> None:
    clock = Clock().advance(50 * SECOND)
    assert clock.advance(40 * SECOND).watermark == 50 * SECOND
    stamps, clock = stamped(clock, (10, "a", 0), (60, "a", 0), (20, "a", 0))
    assert stamps == [50, 50, 60]
    assert clock.watermark == 60 * SECOND


def test_watermarks_are_whole_milliseconds() -> None:
    rows = Arrivals(np.array([1_234_567]), np.array([0]), ["a"], np.array([0]))
    assert Clock().stamp(rows)[1].watermark == 1_234_000
    assert Clock().advance(1_999).watermark == 1_000


def test_a_history_load_is_never_late_for_itself() -> None:
    _, clock = stamped(Clock(), (10, "a", 0))
    stamps, after = clock.load(arrivals((300, "a", 1), (20, "a", 1), (100, "a", 1)))
    assert stamps.tolist() == [10 * SECOND] * 3
    assert after.watermark == 300 * SECOND


def test_a_punctuated_watermark_follows_the_column() -> None:
    clock = Clock(Rules(Punctuated("complete_to")))
    stamps, after = stamped(clock, (0, "a", 0), (40, "a", 0), (0, "a", 0), (90, "a", 0))
    assert stamps == [0, 0, 40, 40]
    assert after.watermark == 90 * SECOND


def test_a_quantile_delay_is_the_most_until_enough_was_seen_and_then_learned() -> None:
    rules = Quantile(0.99, timedelta(seconds=1), timedelta(minutes=5))
    clock = Clock(Rules(rules))
    times = [(1000 + i - (3 if i % 10 == 0 else 0), "a", 0) for i in range(EPOCH * 4)]
    _, first = stamped(clock, *times[: EPOCH - 1])
    assert first.watermark == (1000 + EPOCH - 2 - 300) * SECOND
    _, after = stamped(clock, *times)
    # one row in ten is 2 s behind its predecessor: the p99 is 2 s, in a bucket that is at most 25% wider
    newest = 1000 + EPOCH * 4 - 1
    assert newest - 2.5 <= after.watermark / SECOND <= newest - 2


@pytest.mark.parametrize("behind", [0, 1, 2, 3, 4, 5, 7, 8, 9, 1_000, 123_456_789, 2**50 + 1])
def test_a_lateness_bucket_is_never_too_small_and_at_most_a_quarter_too_large(behind: int) -> None:
    upper = _upper(int(_buckets(np.array([behind]))[0]))
    assert behind <= upper <= max(behind * 1.25 + 1, behind)


def test_the_state_survives_a_note() -> None:
    rules = Rules(Quantile(0.9, timedelta(0), timedelta(minutes=1)), idle=SECOND)
    _, clock = stamped(Clock(rules), *[(i, "ab"[i % 2], i // 50) for i in range(600)])
    assert Clock.from_note(rules, clock.as_note()) == clock
    assert Lateness.from_note(None) == Lateness()


row = st.tuples(st.integers(0, 10**9), st.integers(0, 3), st.integers(0, 3))
strategies_of_rows = st.lists(row, max_size=120).map(
    lambda rows: Arrivals(
        np.array([at for at, _, _ in rows], np.int64),
        np.array([source for _, source, _ in rows], np.int64),
        ["a", "b", "c", "d"],
        np.cumsum(np.array([0 if step < 3 else 4 for _, _, step in rows], np.int64)),
    )
)
rules_of_clocks = st.builds(
    Rules,
    st.builds(Bounded, st.timedeltas(timedelta(0), timedelta(minutes=5))),
    st.one_of(st.none(), st.integers(0, 9)),
)


@given(strategies_of_rows, rules_of_clocks)
def test_the_vectorized_clock_is_the_definition(rows: Arrivals, rules: Rules) -> None:
    assert Clock(rules).stamp(rows)[0].tolist() == by_the_book(Clock(rules), rows)


@given(
    strategies_of_rows,
    st.lists(st.integers(0, 120), max_size=6),
    rules_of_clocks | st.just(Rules(Quantile(0.9, timedelta(0), timedelta(seconds=50)))),
)
def test_how_rows_are_cut_into_commits_changes_nothing(rows: Arrivals, cuts: list[int], rules: Rules) -> None:
    whole, after = Clock(rules).stamp(rows)
    clock, parts = Clock(rules), []
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for start, end in pairwise(bounds):
        part, clock = clock.stamp(rows.part(start, end))
        clock = Clock.from_note(rules, clock.as_note())
        parts.extend(part.tolist())
    assert parts == whole.tolist()
    assert replace(clock, sources=dict(clock.sources)) == replace(after, sources=dict(after.sources))


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=2000), st.lists(st.integers(0, 2000), max_size=5))
def test_learned_delays_do_not_depend_on_the_cut(behind: list[int], cuts: list[int]) -> None:
    rules, late = Quantile(0.95, timedelta(0), timedelta(days=30)), np.array(behind, np.int64)
    whole, after = Lateness().observe(late, rules)
    state, parts = Lateness(), []
    bounds = [0, *sorted(min(cut, len(late)) for cut in cuts), len(late)]
    for start, end in pairwise(bounds):
        part, state = state.observe(late[start:end], rules)
        parts.extend(part.tolist())
    assert (parts, state) == (whole.tolist(), after)


@given(strategies_of_rows, rules_of_clocks)
def test_stamps_are_monotone_and_never_ahead_of_the_watermark_after(rows: Arrivals, rules: Rules) -> None:
    stamps, after = Clock(rules).stamp(rows)
    assert np.all(np.diff(stamps) >= 0)
    assert not len(stamps) or stamps[-1] <= after.watermark
