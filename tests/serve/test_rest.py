"""How often a page asks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headwater.log.read import Commit
from headwater.serve.dashboard.rest import Rest
from headwater.serve.dashboard.stream import newest_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_page_rests_nine_times_as_long_as_it_was_answered() -> None:
    now = [100.0]
    rest = Rest(lambda: now[0])
    assert rest.is_over
    with pytest.raises(KeyError), rest.after():
        now[0] += 2
        raise KeyError
    assert not rest.is_over
    now[0] += 17.9
    assert not rest.is_over
    now[0] += 0.1
    assert rest.is_over


def test_as_many_commits_are_read_as_are_drawn() -> None:
    commits = [
        Commit(number, "append", NOON, rows, None, NOON, ()) for number, rows in ((5, 900), (6, 0), (7, 80), (8, 30))
    ]
    assert [newest_of(commits, rows) for rows in (20, 100, 111, 5000)] == [8, 7, 5, 5]
    assert newest_of([], 10) == 0
