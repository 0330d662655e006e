"""The page about the language says what the language does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater import model
from headwater.sql import OPTIONS, parse_declarations, parse_type
from headwater.sql.query_parser import WINDOW_SLOTS

PAGE = (Path(__file__).parents[2] / "docs" / "concepts" / "sql.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = PAGE.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"^\|.*?\n\n", section, re.MULTILINE | re.DOTALL)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].strip().splitlines()[2:]]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.strip().splitlines()[0])
def test_an_example_parses(example: str) -> None:
    parsed = parse_declarations(example, "sql.md")
    assert parsed.findings == ()
    assert parsed.declarations


def test_the_four_spellings_of_a_window_are_one_query() -> None:
    example = next(text for text in EXAMPLES if "CREATE VIEW d AS" in text)
    queries = {view.query for view in parse_declarations(example, "a.sql").declarations if isinstance(view, model.View)}
    assert len(queries) == 1


def test_the_options_are_those_of_the_parser() -> None:
    written = [tuple(cell.replace("`", "") for cell in row) for row in rows_of("## Options")]
    assert written == [
        (kind, option.name, option.takes, option.meaning, option.default)
        for kind, options in OPTIONS.items()
        for option in options
    ]


def test_the_types_are_read_and_logged_as_written() -> None:
    samples = {
        "DECIMAL(p, s)": "DECIMAL(9, 2)",
        "ARRAY<T>": "ARRAY<INT>",
        "MAP<K, V>": "MAP<INT, INT>",
        "STRUCT<name: T, …>": "STRUCT<a: INT>",
    }
    for name, _, logged in rows_of("## Types"):
        plain = name.strip("`")
        kind = parse_type(samples.get(plain, plain))
        assert model.can_be_logged(kind) == logged.startswith("yes"), name


def test_the_arguments_of_windows_are_those_of_the_parser() -> None:
    written = {row[0].strip("`"): tuple(re.findall(r"[A-Z]+", row[2])) for row in rows_of("## Windows")}
    assert written == WINDOW_SLOTS
