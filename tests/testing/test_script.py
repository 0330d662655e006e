"""Scripts: from items, or lines of a file, to what is done."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater.errors import ArgumentRefused
from headwater.testing import COMMIT, CRASH, Crash, Now, Tick, read_script
from headwater.testing.script import Append, steps_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SCRIPT = """\
{"now": "2026-01-05T12:00:00Z"}
{"orders": {"id": "o-1"}}
{"orders": {"id": "o-2"}}
{"payments": {"id": "p-1"}, "source": "till-2"}

{"orders": {"id": "o-3"}}
{"tick": "orders", "to": "2026-01-05T12:00:00"}
{"tick": "payments"}
{"crash": "before apply", "time": 2}
"""


def appended(topic: str, *ids: str, source: str = "local") -> Append:
    return Append(topic, source, tuple({"id": found} for found in ids))


def test_a_file_has_a_line_for_each_row_and_a_paragraph_for_each_commit(tmp_path: Path) -> None:
    (tmp_path / "input.jsonl").write_text(SCRIPT)
    script = read_script(tmp_path / "input.jsonl")
    assert script == [
        Now(NOON),
        {"orders": {"id": "o-1"}},
        {"orders": {"id": "o-2"}},
        {"payments": {"id": "p-1"}, "source": "till-2"},
        COMMIT,
        {"orders": {"id": "o-3"}},
        Tick("orders", NOON),
        Tick("payments"),
        Crash("before apply", 2),
    ]
    assert list(steps_of(script)) == [
        Now(NOON),
        appended("orders", "o-1", "o-2"),
        appended("payments", "p-1", source="till-2"),
        appended("orders", "o-3"),
        Tick("orders", NOON),
        Tick("payments"),
        Crash("before apply", 2),
    ]


def test_rows_are_committed_before_whatever_is_not_a_row() -> None:
    rows = [{"orders": {"id": "1"}}, Tick("orders", NOON), {"orders": {"id": "2"}}, CRASH]
    assert list(steps_of(rows)) == [appended("orders", "1"), Tick("orders", NOON), appended("orders", "2"), CRASH]


def test_a_commit_has_rows_of_one_source() -> None:
    rows = [{"orders": {"id": "1"}}, {"orders": {"id": "2"}, "source": "b"}, {"orders": {"id": "3"}, "source": "b"}]
    assert list(steps_of(rows)) == [appended("orders", "1"), appended("orders", "2", "3", source="b")]


@pytest.mark.parametrize("item", [{}, {"orders": 1}, {"a": {}, "b": {}}, {"orders": {}, "sauce": "till-1"}])
def test_what_is_no_row_is_refused(item: dict[str, object]) -> None:
    with pytest.raises(ArgumentRefused, match="neither a row nor anything else"):
        list(steps_of([item]))


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"orders": 1}', '{"tick": "orders", "to": "noon"}', '{"now": "noon"}', '{"crash": "at once"}']
)
def test_a_line_that_says_nothing_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "input.jsonl"
    path.write_text(f'{{"orders": {{"id": "1"}}}}\n{line}\n')
    with pytest.raises(ArgumentRefused) as refused:
        read_script(path)
    assert refused.value.origin is not None
    assert refused.value.origin.line == 2
