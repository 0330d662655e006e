"""What a changed declaration does to the rows of its view and of those that read it, told before anything runs."""

from __future__ import annotations

import pytest

from headwater.plan.change import Difference, differences
from tests.plan.planning import known, planned

SPEND = """CREATE MATERIALIZED VIEW spend WITH (emit = 'final') AS SELECT customer, window_end, sum(amount) AS spent
FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) WHERE amount > 1 AND id <> 'x'
GROUP BY customer, window_end"""
HOURS = """CREATE MATERIALIZED VIEW hours AS SELECT window_end, sum(spent) AS spent
FROM TUMBLE(TABLE spend, DESCRIPTOR(window_end), INTERVAL '1' HOUR) GROUP BY window_end"""
CASES = {
    "nothing": (SPEND, "none", ()),
    "names and comments": (
        SPEND.replace("TABLE orders", "TABLE orders /* all */").replace(" AS spent", "  as spent"), "none", (),
    ),
    "the order of conditions": (
        SPEND.replace("amount > 1 AND id <> 'x'", "id <> 'x' AND amount > 1"),
        "same rows", ("how it is computed and kept",),
    ),
    "another execution": (
        SPEND.replace("'final'", "'final', execution = 'live'"), "same rows", ("execution settle → live",),
    ),
    "another store": (
        SPEND.replace("'final'", "'final', store = 'archive'"), "same rows", ("store default → archive",),
    ),
    "a column more": (
        SPEND.replace("AS spent", "AS spent, count(*) AS n"),
        "additive",
        ("column n added",),
    ),
    "HAVING": (SPEND + " HAVING sum(amount) > 5", "other rows", ("having spent > 5 added",)),
    "another condition": (
        SPEND.replace("amount > 1", "amount > 2"), "other rows",
        ("Filter amount > 1 AND id <> 'x' → amount > 2 AND id <> 'x'",),
    ),
    "grace": (
        SPEND.replace("'final'", "'final', grace = '1 minute'"), "other rows", ("grace 0 seconds → 1 minute",),
    ),
    "a column less": (SPEND.replace(", sum(amount) AS spent", ""), "other rows", ("column spent gone",)),
}  # fmt: skip


def told(before: str, after: str) -> dict[str, Difference]:
    return differences(known(planned(before)), known(planned(after)))


@pytest.mark.parametrize("case", CASES)
def test_the_effect_of_a_change_is_told_and_why(case: str) -> None:
    after, effect, why = CASES[case]
    difference = told(SPEND, after)["spend"]
    assert difference.effect == effect
    assert set(why) <= set(difference.why), difference.why


READERS = {
    "nothing": "none",
    "names and comments": "none",
    "the order of conditions": "same rows",
    "another store": "none",
    "a column more": "same rows",
    "HAVING": "other rows",
    "grace": "other rows",
}


@pytest.mark.parametrize("case", READERS)
def test_a_reader_has_other_rows_only_if_what_it_reads_has(case: str) -> None:
    assert told(f"{SPEND};{HOURS}", f"{CASES[case][0]};{HOURS}")["hours"].effect == READERS[case]


def test_a_reader_that_takes_up_a_new_column_has_other_rows() -> None:
    more = CASES["a column more"][0]
    counted = HOURS.replace("sum(spent) AS spent", "sum(n) AS spent")
    assert told(f"{SPEND};{HOURS}", f"{more};{counted}")["hours"].effect == "other rows"
