"""What the page of a view asks of its store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.serve.dashboard.asking import newest, over_time, width_of
from tests.serve.conftest import NOON, Bank, serve


@pytest.mark.parametrize("store", ["sqlite:///views.db", "delta://lake"])
def test_stores_are_asked_alike_whether_they_answer_sql_or_not(tmp_path: Path, store: str) -> None:
    for bank in serve(tmp_path / "bank", store):
        _check(bank)


def _check(bank: Bank) -> None:
    bank.write([("c1", "1.50", 1), ("c2", "4.00", 3)])
    planned = bank.project.plan().view("spend")
    assert sorted(newest(bank.project, planned, 10)["card"].to_pylist()) == ["c1", "c2"]
    assert newest(bank.project, planned, 1).num_rows == 1
    drawn = [over_time(bank.project, planned, "spent", fold) for fold in ("sum", "avg", "max", "min")]
    assert drawn == [[(NOON, 5.5)], [(NOON, 2.75)], [(NOON, 4.0)], [(NOON, 1.5)]]
    assert over_time(bank.project, planned, None, "count") == [(NOON, 2.0)]


def test_a_while_is_as_wide_as_the_times_need() -> None:
    for span, width in ((0, 1), (59, 1), (61, 5), (3600, 60), (10**9, 86_400)):
        assert width_of([NOON, NOON + timedelta(seconds=span)]) == timedelta(seconds=width)
    assert width_of([]) == timedelta(seconds=1)
