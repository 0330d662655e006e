"""Every node of a query has a place in the user's file."""

from __future__ import annotations

import pytest
from sqlglot import exp

from headwater import errors, findings, model
from headwater.sql import canonical, origin_of, parse_declarations, parse_expression, parse_query
from headwater.sql.nodes import WindowFunction

TEXT = """-- Spending.
CREATE MATERIALIZED VIEW v AS
  SELECT card_id, sum(amount) AS spent, CAST(a AS INT) + 1.5,
    CASE WHEN b THEN 'x' END, current_timestamp(), count(*) OVER (ORDER BY at), now, CURRENT_DATE
  FROM TUMBLE(TABLE transactions, DESCRIPTOR(at), INTERVAL '1' MINUTE)
  LEFT JOIN customers AS c ON c.id = card_id, other
  WHERE x IN (SELECT y FROM z) AND extract(YEAR FROM at) > 2000
  GROUP BY card_id
  EMIT CHANGES;
"""


@pytest.fixture(scope="module")
def query() -> model.SqlQuery:
    (view,) = parse_declarations(TEXT, "views/v.sql").declarations
    assert isinstance(view, model.View)
    assert isinstance(view.query, model.SqlQuery)
    return view.query


@pytest.mark.parametrize(
    ("kind", "index", "place"),
    [
        (exp.Select, 0, (3, 3)),
        (exp.Column, 0, (3, 10)),
        (exp.Sum, 0, (3, 19)),
        (exp.Alias, 0, (3, 19)),
        (exp.Cast, 0, (3, 41)),
        (exp.Add, 0, (3, 41)),
        (exp.Case, 0, (4, 5)),
        (exp.CurrentTimestamp, 0, (4, 31)),
        (exp.Window, 0, (4, 52)),
        (exp.Count, 0, (4, 52)),
        (exp.CurrentDate, 0, (4, 86)),
        (WindowFunction, 0, (5, 8)),
        (exp.Interval, 0, (5, 51)),
        (exp.Join, 0, (6, 3)),
        (exp.Join, 1, (6, 47)),
        (exp.EQ, 0, (6, 31)),
        (exp.In, 0, (7, 9)),
        (exp.Select, 1, (7, 15)),
        (exp.Extract, 0, (7, 36)),
        (exp.Literal, 0, (3, 58)),
    ],
)
def test_a_node_has_the_place_where_it_was_written(
    query: model.SqlQuery, kind: type[exp.Expr], index: int, place: tuple[int, int]
) -> None:
    found = sorted(parse_query(query).find_all(kind), key=lambda node: origin_of(node, query))
    assert origin_of(found[index], query) == errors.Origin("views/v.sql", *place)


def test_every_node_has_a_place_inside_the_query(query: model.SqlQuery) -> None:
    places = [origin_of(node, query) for node in parse_query(query).walk()]
    assert min(places) == query.origin
    assert max(places).line <= 8


def test_a_node_that_was_added_has_the_place_of_what_it_stands_in(query: model.SqlQuery) -> None:
    tree = parse_query(query)
    added = exp.column("added")
    tree.find(exp.Sum).set("this", added)  # type: ignore[union-attr]
    assert origin_of(added, query) == errors.Origin("views/v.sql", 3, 19)
    assert origin_of(exp.column("alone"), query) == query.origin


def test_places_survive_a_copy(query: model.SqlQuery) -> None:
    join = parse_query(query).copy().find(exp.Join)
    assert join is not None
    assert origin_of(join, query) == errors.Origin("views/v.sql", 6, 3)


def test_a_query_without_its_authors_text_is_read_from_its_canonical_one() -> None:
    query = model.SqlQuery("SELECT a FROM t")
    assert parse_query(query).sql() == "SELECT a FROM t"
    assert str(origin_of(parse_query(query), query)) == "<text>:1:1"


@pytest.mark.parametrize("text", ["", "SELECT", "a + 1", "DELETE FROM t", "SELECT 1; SELECT 2", "SELECT 'a"])
def test_what_is_no_query_is_refused(text: str) -> None:
    with pytest.raises(findings.SyntaxRefused):
        canonical(text)


@pytest.mark.parametrize("text", ["", "a b", "SELECT 1", "1 +"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(findings.SyntaxRefused):
        parse_expression(text)


def test_a_refusal_in_a_query_points_into_the_file() -> None:
    written = "SELECT *\nFROM TUMBLE(t, at, x)"
    with pytest.raises(findings.WindowRefused) as refused:
        parse_query(model.SqlQuery("", written, errors.Origin("a.sql", 7, 5)))
    assert refused.value.origin == errors.Origin("a.sql", 8, 20)
