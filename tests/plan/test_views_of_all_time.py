"""Views on views over all of time: they take in the stages of what they read, and hold every row as it does."""

from __future__ import annotations

import pytest

from headwater.plan import PlannedView
from tests.plan.planning import planned

BALANCES = (
    "CREATE MATERIALIZED VIEW balances WITH (retention = 'forever') AS "
    "SELECT customer, count(*) AS n FROM orders GROUP BY customer;"
)
HELD = "Hold every row for ever here, too: WITH (retention = 'forever')."


def found(*declarations: str) -> PlannedView:
    """The last view that is declared, which has no findings."""
    checked = planned("".join(declarations))
    assert checked.errors == ()
    return list(checked.views.values())[-1]


def read(view: PlannedView) -> list[tuple[str, str]]:
    return [(scan.kind, scan.relation) for scan in view.scans]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n, count(*) AS customers FROM balances GROUP BY n",
        "SELECT customer, n FROM balances ORDER BY n DESC LIMIT 3",
        "SELECT b.customer, c.country, b.n FROM balances b JOIN customers c ON c.customer = b.customer",
    ],
)
def test_a_view_of_nothing_but_tables_and_such_views_holds_every_row_without_saying_so(query: str) -> None:
    view = found(BALANCES, f"CREATE MATERIALIZED VIEW v AS {query};")
    assert (view.view.is_forever, view.execution.kind) == (True, "maintained")
    assert ("stream", "orders") in read(view)
    assert all(kind != "view" for kind, _ in read(view))


def test_views_without_a_store_between_them_are_taken_in_as_well() -> None:
    view = found(
        BALANCES,
        "CREATE VIEW many AS SELECT customer, n FROM balances WHERE n > 1;",
        "CREATE VIEW more AS SELECT customer, n + 1 AS n FROM many;",
        "CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS customers FROM more GROUP BY n;",
    )
    assert (view.execution.kind, read(view)) == ("maintained", [("stream", "orders")])


def test_what_is_read_beside_a_stream_says_that_it_holds_every_row() -> None:
    query = "SELECT p.id, p.at, b.n FROM payments p JOIN orders o ON o.id = p.order_id JOIN balances b USING (customer)"
    checked = planned(BALANCES + f"CREATE MATERIALIZED VIEW v WITH (key = 'id') AS {query}")
    assert 'reads view "balances", whose rows are never final' in str([finding.summary for finding in checked.errors])
    held = f"CREATE MATERIALIZED VIEW v WITH (key = 'id', retention = 'forever') AS {query}"
    assert found(BALANCES, held).execution.kind == "maintained"


@pytest.mark.parametrize("between", ["", "CREATE VIEW many AS SELECT customer, n FROM balances WHERE n > 1;"])
def test_a_view_that_lets_go_of_rows_reads_none_that_are_never_final(between: str) -> None:
    name = "many" if between else "balances"
    query = f"CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS SELECT max(n) AS n FROM {name}"
    (finding,) = planned(BALANCES + between + query).errors
    assert (finding.fields["view"], finding.hint) == ("v", HELD)


@pytest.mark.parametrize("instant", ["p.at", "p._arrived_at"])
def test_a_view_has_no_versions_to_be_asked_for(instant: str) -> None:
    joined = f"payments p JOIN balances FOR SYSTEM_TIME AS OF {instant} AS b ON b.customer = p.order_id"
    (finding,) = planned(BALANCES + f"CREATE MATERIALIZED VIEW v AS SELECT p.id, p.at, b.n FROM {joined}").errors
    assert finding.summary == 'view "v" asks view "balances" for its rows as of an instant'
    assert "JOIN balances AS b ON …, for its rows as they are" in (finding.hint or "")


def test_another_query_below_is_another_plan_above() -> None:
    above = "CREATE MATERIALIZED VIEW v AS SELECT max(n) AS n FROM balances;"
    assert found(BALANCES, above).fingerprint != found(BALANCES.replace("count(*)", "count(id)"), above).fingerprint


def test_views_that_read_each_other_in_a_circle_are_refused() -> None:
    one = "CREATE MATERIALIZED VIEW one AS SELECT country FROM two JOIN countries USING (country);"
    two = "CREATE MATERIALIZED VIEW two AS SELECT country FROM one;"
    assert any("depends on itself" in finding.summary for finding in planned(one + two).errors)


def test_groups_are_found_by_a_key_that_every_row_has() -> None:
    view = found(
        "CREATE TABLE shops (id STRING, country STRING, PRIMARY KEY (id));"
        "CREATE MATERIALIZED VIEW v AS SELECT k.name, s.country, count(*) AS n FROM shops s "
        "LEFT JOIN countries k ON k.country = s.country GROUP BY k.name, s.country;"
    )
    assert view.physical.step is not None
    assert view.physical.step.trace is not None
    assert view.physical.step.trace.shown == ("country",)


def test_a_chain_of_left_joins_is_traced_through_rows_without_a_partner() -> None:
    view = found(
        "CREATE TABLE shops (id STRING, country STRING, PRIMARY KEY (id));"
        "CREATE MATERIALIZED VIEW v AS SELECT s.id, k.name, c.country FROM shops s "
        "LEFT JOIN customers c ON c.customer = s.country LEFT JOIN countries k ON k.country = c.country;"
    )
    assert view.physical.step is not None
    assert view.physical.step.trace is not None
