"""Whatever a query says, checking it gives a plan and findings, never an exception."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import plan
from tests.plan.planning import declared

QUERIES = [
    "SELECT customer, window_end, sum(amount) / count(*) AS mean FROM TUMBLE(TABLE orders, DESCRIPTOR(at), "
    "INTERVAL '1' MINUTE) WHERE amount > 0 GROUP BY customer, window_end HAVING count(*) > 1",
    "SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id "
    "AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR",
    "SELECT * FROM (SELECT id, at, row_number() OVER (PARTITION BY at ORDER BY amount DESC) AS n FROM orders) "
    "WHERE n < 3",
    "SELECT id, sum(amount) OVER w AS s FROM orders WINDOW w AS (PARTITION BY customer ORDER BY at "
    "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
    "WITH x AS (SELECT id, explode(items) AS item FROM orders) "
    "SELECT DISTINCT item FROM x UNION SELECT id FROM payments",
    "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.at = o.at)",
    "SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.at AS c USING (customer)",
    "SELECT o.id, p.paid FROM orders o JOIN payments p WITHIN (1 HOUR, 5 MINUTES) GRACE PERIOD 1 MINUTE "
    "ON o.id = p.order_id",
    "SELECT customer, count(*) AS n, WINDOWSTART AS began FROM orders "
    "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 1 MINUTE) GROUP BY customer EMIT CHANGES",
    "SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.id "
    "WHERE o.at > CURRENT_WATERMARK(o.at)",
    "SELECT customer, TUMBLE_START(at, INTERVAL '1' HOUR) AS began FROM orders GROUP BY customer, "
    "TUMBLE(at, INTERVAL '1' HOUR)",
]
WORDS = [
    "id", "customer", "amount", "at", "items", "window_end", "orders", "payments", "customers", "clicks", "nowhere",
    "1", "NULL", "count", "sum", "max", "explode", "rank", "now", "upper", "_arrived_at", "o", "p", "x", "n", "LEFT",
    "FULL", "SEMI", "ANTI", "INNER", "AND", "OR", "HOP", "SESSION", "ALL", "DISTINCT", "MINUTE", "MONTH", "DESC",
    "ROWS", "*",
]  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query of the list with some of its words replaced by others."""
    words = re.findall(r"'[^']*'|\w+|[^\w\s]", draw(st.sampled_from(QUERIES)))
    for place in draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=4)):
        words[place] = draw(st.sampled_from(WORDS))
    return " ".join(words)


@settings(max_examples=300, deadline=None)
@given(queries())
def test_a_check_never_raises(query: str) -> None:
    project, _ = declared(f"CREATE MATERIALIZED VIEW v AS {query}")
    checked = plan.check(project)
    assert plan.describe(checked) is not None
    assert len(plan.as_dict(checked)["findings"]) == len(checked.findings)
    assert all(finding.origin is not None for finding in checked.findings)
