"""Grouping by several sets of columns at once."""

from __future__ import annotations

import pytest

from headwater.findings import QueryRefused, UnboundedState, WindowRefused
from headwater.operators import Aggregate, Expand
from tests.plan.planning import planned, stages, view

TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
SETS = {
    "window_end, ROLLUP (id, customer)": {("id", "customer"): 0, ("id",): 1, (): 3},
    "window_end, CUBE (id, customer)": {("id", "customer"): 0, ("id",): 1, ("customer",): 2, (): 3},
    "window_end, GROUPING SETS ((customer), (id))": {("customer",): 1, ("id",): 2},
    "GROUPING SETS ((window_end, id, customer), (window_end))": {("id", "customer"): 0, (): 3},
    "window_end, ROLLUP (id), ROLLUP (customer)": {("id", "customer"): 0, ("id",): 1, ("customer",): 2, (): 3},
}


@pytest.mark.parametrize("by", SETS)
def test_a_row_is_copied_once_per_set_with_the_number_that_spark_gives_it(by: str) -> None:
    planned = view(
        f"SELECT window_end, id, customer, grouping_id() AS level, count(*) AS n FROM {TUMBLE} GROUP BY {by}"
    )
    (expand,) = [stage for stage in planned.stages if isinstance(stage, Expand)]
    rows = [
        [name if name in chosen else "CAST(NULL AS STRING)" for name in _order(by)] + [f"CAST({number} AS BIGINT)"]
        for chosen, number in SETS[by].items()
    ]
    names = [f"{name}_of_set" for name in _order(by)] + ["grouping_id"]
    structs = (", ".join(f"{value} AS {name}" for value, name in zip(row, names, strict=True)) for row in rows)
    assert expand.generator.sql == f"INLINE(ARRAY({', '.join(f'STRUCT({struct})' for struct in structs)}))"
    assert (planned.key.columns, planned.execution.kind) == (("window_end", *_order(by), "level"), "settle")


def _order(by: str) -> list[str]:
    return ["customer", "id"] if "((customer), (id))" in by else ["id", "customer"]


def test_what_can_not_be_null_needs_no_number_to_be_told_apart() -> None:
    query = (
        f"SELECT window_end, id, grouping(id) AS every, count(*) AS n FROM {TUMBLE} GROUP BY window_end, ROLLUP (id)"
    )
    assert view(query).key.columns == ("window_end", "id")
    assert stages(query) == [
        "Project window_end, id, CAST(IF(id IS NULL, 1, 0) AS TINYINT) AS every, n",
        "└─ Aggregate by window_end, id_of_set AS id: COUNT(*) AS n",
        "   └─ Expand INLINE(ARRAY(STRUCT(id AS id_of_set), STRUCT(CAST(NULL AS STRING) AS id_of_set))) AS id_of_set",
        "      └─ Assign TUMBLE of 1 minute over at",
        "         └─ Scan stream orders: id, at",
    ]


def test_hive_spells_it_behind_the_columns() -> None:
    query = f"SELECT window_end, id, count(*) AS n FROM {TUMBLE} GROUP BY {{}}"
    new = query.format("GROUPING SETS ((window_end, id), (window_end))")
    assert stages(query.format("window_end, id GROUPING SETS ((window_end, id), (window_end))")) == stages(new)


def test_an_aggregate_sees_the_column_as_it_is_in_the_rows() -> None:
    query = f"SELECT window_end, id, max(id) AS most FROM {TUMBLE} GROUP BY window_end, ROLLUP (id)"
    assert stages(query)[0] == "Aggregate by window_end, id_of_set AS id: MAX(id) AS most"


@pytest.mark.parametrize(
    ("query", "kind", "summary"),
    [
        ("SELECT window_end, id, count(*) AS n FROM {} GROUP BY CUBE (window_end, id)",
         UnboundedState, 'view "v" groups rows for ever'),
        ("SELECT window_end, id, count(*) AS n FROM {} GROUP BY window_end, GROUPING SETS ((id), (id))",
         QueryRefused, 'view "v" groups by the same set twice'),
        ("SELECT window_end, id, count(*) AS n FROM {} "
         "GROUP BY window_end, id, CUBE (id, customer, amount, weight, at, window_start, items, length(id), upper(id))",
         QueryRefused, 'view "v" groups by more than 256 sets'),
        ("SELECT window_end, grouping(id) AS g, count(*) AS n FROM {} GROUP BY window_end",
         QueryRefused, 'view "v" calls "grouping" without sets of columns'),
        ("SELECT window_end, id, grouping(customer) AS g, count(*) AS n FROM {} GROUP BY window_end, ROLLUP (id)",
         QueryRefused, 'view "v" asks "grouping" for something that it isn\'t grouped by'),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(query: str, kind: type[Exception], summary: str) -> None:
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query.format(TUMBLE)}").errors
    assert (kind, summary) in [(type(finding), finding.summary) for finding in found]
    assert all(finding.hint for finding in found)


def test_sessions_are_not_grouped_by_sets() -> None:
    session = "SESSION(TABLE orders PARTITION BY id, DESCRIPTOR(at), INTERVAL '5' MINUTE)"
    query = f"SELECT window_end, id, count(*) AS n FROM {session} GROUP BY window_end, ROLLUP (id)"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors
    assert [type(finding) for finding in found] == [WindowRefused]


JOINED = f"{TUMBLE} AS a {{}} JOIN {TUMBLE} AS b ON a.id = b.id AND a.window_end = b.window_end"
BY = ["{}.window_end", "{}.window_end, ROLLUP (a.customer)", "{}.window_end, CUBE (a.customer, b.id)"]


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(("kind", "side"), [("RIGHT", "a"), ("FULL", "a"), ("FULL", "b"), ("LEFT", "b")])
def test_groups_by_the_window_of_rows_that_may_lack_a_partner_have_no_end(by: str, kind: str, side: str) -> None:
    by = by.format(side)
    shown = [name for name in (f"{side}.window_end", "a.customer", "b.id") if name in by]
    level = ", grouping_id() AS level" if "(" in by else ""
    query = f"SELECT {', '.join(shown)}{level}, count(*) AS n FROM {JOINED.format(kind)} GROUP BY {by}"
    for emit in ("", "WITH (emit = 'changes')"):
        (finding,) = planned(f"CREATE MATERIALIZED VIEW v {emit} AS {query}").errors
        assert (type(finding), finding.summary) == (UnboundedState, 'view "v" groups rows for ever')
        assert "window_end" in (finding.detail or "") and "without a partner" in (finding.detail or "")
    retained = view(query, "WITH (retention = '1 hour')")
    aggregate = next(stage for stage in retained.stages if isinstance(stage, Aggregate))
    assert aggregate.is_endless and not aggregate.ends and aggregate.window is None


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(("kind", "side"), [("LEFT", "a"), ("RIGHT", "b"), ("INNER", "a"), ("INNER", "b")])
def test_groups_by_the_window_of_rows_that_all_stay_end_with_it(by: str, kind: str, side: str) -> None:
    by = by.format(side)
    shown = [name for name in (f"{side}.window_end", "a.customer", "b.id") if name in by]
    level = ", grouping_id() AS level" if "(" in by else ""
    query = f"SELECT {', '.join(shown)}{level}, count(*) AS n FROM {JOINED.format(kind)} GROUP BY {by}"
    aggregate = next(stage for stage in view(query).stages if isinstance(stage, Aggregate))
    assert aggregate.ends and not aggregate.is_endless
