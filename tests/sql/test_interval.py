from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sql import interval, parse_expression, spell_interval


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("INTERVAL '5' SECOND", timedelta(seconds=5)),
        ("INTERVAL 5 SECONDS", timedelta(seconds=5)),
        ("INTERVAL '5 seconds'", timedelta(seconds=5)),
        ("INTERVAL '1.5' SECOND", timedelta(seconds=1.5)),
        ("INTERVAL -5 SECONDS", timedelta(seconds=-5)),
        ("INTERVAL '-5' SECOND", timedelta(seconds=-5)),
        ("-INTERVAL '5' SECOND", timedelta(seconds=-5)),
        ("INTERVAL '2' WEEKS", timedelta(weeks=2)),
        ("INTERVAL '3' DAY", timedelta(days=3)),
        ("INTERVAL '7' MILLISECONDS", timedelta(milliseconds=7)),
        ("INTERVAL '7' MICROSECOND", timedelta(microseconds=7)),
        ("INTERVAL '1 10' DAY TO HOUR", timedelta(days=1, hours=10)),
        ("INTERVAL '1 10:11' DAY TO MINUTE", timedelta(days=1, hours=10, minutes=11)),
        ("INTERVAL '1 10:11:12.5' DAY TO SECOND", timedelta(days=1, hours=10, minutes=11, seconds=12.5)),
        ("INTERVAL '10:11' HOUR TO MINUTE", timedelta(hours=10, minutes=11)),
        ("INTERVAL '10:11:12' HOUR TO SECOND", timedelta(hours=10, minutes=11, seconds=12)),
        ("INTERVAL '-11:12' MINUTE TO SECOND", timedelta(minutes=-11, seconds=-12)),
        ("INTERVAL 1 HOUR 30 MINUTES", timedelta(minutes=90)),
        ("INTERVAL '1 hour 30 minutes'", timedelta(minutes=90)),
        ("INTERVAL '1' HOUR + INTERVAL '30' MINUTE", timedelta(minutes=90)),
        ("(INTERVAL '1' HOUR - INTERVAL '30' MINUTE)", timedelta(minutes=30)),
    ],
)
def test_a_constant_interval_has_a_length(text: str, length: timedelta) -> None:
    assert interval(parse_expression(text)) == length


@pytest.mark.parametrize(
    "text",
    [
        "INTERVAL '1' MONTH",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL '1 month 2 days'",
        "INTERVAL 'x' SECOND",
        "INTERVAL '1 2' DAY TO MINUTE",
        "INTERVAL '99999999999999' DAY",
        "INTERVAL (a) SECOND",
        "5",
        "a",
    ],
)
def test_what_has_no_fixed_length_has_none(text: str) -> None:
    assert interval(parse_expression(text)) is None


@given(st.timedeltas(min_value=timedelta(days=-100_000), max_value=timedelta(days=100_000)))
def test_a_length_is_spelled_so_that_it_reads_back(length: timedelta) -> None:
    assert interval(parse_expression(spell_interval(length))) == length
