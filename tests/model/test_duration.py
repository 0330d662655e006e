from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model import parse_duration, spell_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("10 minutes", timedelta(minutes=10)),
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("1h 30m", timedelta(minutes=90)),
        ("1h, 30min", timedelta(minutes=90)),
        ("90s", timedelta(seconds=90)),
        ("1.5 seconds", timedelta(milliseconds=1500)),
        ("250ms", timedelta(milliseconds=250)),
        ("7 µs", timedelta(microseconds=7)),
        ("2 WEEKS", timedelta(weeks=2)),
        ("0 seconds", timedelta()),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "10", "minutes", "10 month", "ten minutes", "10 minutes x", "-5 s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=100_000)))
def test_a_duration_is_spelled_so_that_it_reads_back(length: timedelta) -> None:
    assert parse_duration(spell_duration(length)) == length
