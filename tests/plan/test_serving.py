"""What a view says to its stores: taken where a store and the view's columns bear it out, else found."""

from __future__ import annotations

import pytest

from headwater import model, plan, sql

STREAM = """CREATE STREAM sales (shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND);"""
QUERY = """SELECT window_end, shop, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end, shop"""
STORES = (
    model.Store(name="main", url="sqlite:///views.db"),
    model.Store(name="live", url="redis://localhost"),
    model.Store(name="lake", url="delta+s3://bucket/lake"),
    model.Store(name="mine", url="mine://somewhere"),
)


def planned(options: str) -> plan.Plan:
    source = f"{STREAM} CREATE MATERIALIZED VIEW top WITH ({options}) AS {QUERY};"
    declared = sql.parse_declarations(source, "project.sql")
    assert not declared.findings
    return plan.check(model.Project(name="shop", declarations=declared.declarations, stores=STORES))


@pytest.mark.parametrize(
    "options",
    [
        "store = 'live', layout = 'sorted set', score = 'total', group = 'window_end', ttl = '1 day'",
        "store = 'main, live', layout = 'hash', ttl = '1 day', index = 'shop; total, shop'",
        "index = 'total'",
        "store = 'mine', layout = 'stream', index = 'total'",
    ],
)
def test_what_a_store_knows_is_taken(options: str) -> None:
    assert planned(options).findings == ()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("layout = 'hash'", "states layout, and none of its stores is Redis"),
        ("store = 'main, lake', ttl = '1 day'", "states ttl, and none of its stores is Redis"),
        ("store = 'lake, live', index = 'shop'", "none of its stores is a database with indexes"),
        ("index = 'shops'", 'states an index on "shops", which is none of its columns'),
        ("store = 'live', layout = 'sorted set'", "needs a column of numbers as its score, and none is named"),
        ("store = 'live', layout = 'sorted set', score = 'shop'", 'as its score, and "shop" is none'),
        (
            "store = 'live', layout = 'sorted set', score = 'total', group = 'shop, window_end'",
            "whose groups are not a part of its key",
        ),
        ("store = 'live', layout = 'sorted set', score = 'total', group = 'total'", "not a part of its key"),
        ("store = 'live', layout = 'hash', score = 'total'", "states a score or a group, and has the layout hash"),
        ("store = 'live', layout = 'stream', ttl = '1 day'", "nothing of the layout stream can expire"),
    ],
)
def test_what_is_not_borne_out_is_found(options: str, told: str) -> None:
    (found,) = planned(options).findings
    assert told in str(found)
    assert found.hint


def test_another_layout_is_another_plan_and_an_index_is_not() -> None:
    def fingerprint(options: str) -> str:
        return planned(f"store = 'main, live'{options}").view("top").fingerprint

    plain = fingerprint("")
    assert fingerprint(", layout = 'hash'") not in (plain, fingerprint(", layout = 'stream'"))
    assert fingerprint(", index = 'shop', ttl = '1 day'") == plain
