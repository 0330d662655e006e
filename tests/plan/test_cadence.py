"""`every`: which views can show what isn't final at a cadence, and how they are executed then."""

from __future__ import annotations

import pytest

from headwater.findings import OptionRefused
from tests.plan.planning import planned, view

TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)"
COUNTS = f"SELECT customer, window_end, count(*) AS n FROM {TUMBLE} GROUP BY customer, window_end"


def test_a_cadence_is_kept_by_settling() -> None:
    assert view(COUNTS, "WITH (execution = 'live')").execution.kind == "live"
    found = view(COUNTS, "WITH (every = '10 seconds')")
    assert (found.execution.kind, found.emit.value) == ("settle", "changes")
    assert found.execution.why == "Spark's streaming shows what is not final whenever it changes"
    assert found.fingerprint != view(COUNTS, "WITH (every = '20 seconds')").fingerprint


def test_a_leaderboard_may_have_a_cadence() -> None:
    query = "SELECT customer, count(*) AS n FROM orders GROUP BY customer ORDER BY n DESC LIMIT 3"
    assert view(query, "WITH (retention = '7 days', every = '1 minute')").execution.kind == "settle"


@pytest.mark.parametrize(
    ("options", "query", "detail", "hint"),
    [
        ("every = '0 seconds'", COUNTS, "It states 0 seconds.", "Write how often, like every = '10 seconds'."),
        ("every = '10 seconds', emit = 'final'", COUNTS, "It emits a row once, when it is final.",
         "Leave every out, or write emit = 'changes'."),
        ("every = '10 seconds'", "SELECT id FROM orders", "Every row is computed from one row, and is final at once.",
         "Leave every out."),
        ("every = '10 seconds'",
         "SELECT o.id FROM orders o LEFT ANTI JOIN payments p ON o.id = p.order_id AND p.at = o.at",
         "Its rows have no key by which a change could find them.", "Declare what tells them apart with key = '…'."),
        ("every = '10 seconds'", "SELECT window_end, max(n) AS n FROM counts GROUP BY window_end",
         "It reads a view, whose rows come to it when they are final.", "State every for the view that it reads."),
        ("every = '10 seconds', execution = 'live'", COUNTS,
         "Spark's streaming shows what is not final whenever it changes.",
         "Write execution = 'settle' or 'batch', or leave it out."),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_at_a_cadence_is_refused(options: str, query: str, detail: str, hint: str) -> None:
    found = planned(
        f"CREATE MATERIALIZED VIEW counts AS {COUNTS}; CREATE MATERIALIZED VIEW v WITH ({options}) AS {query}"
    )
    (finding,) = found.errors
    assert (type(finding), finding.detail, finding.hint) == (OptionRefused, detail, hint)
