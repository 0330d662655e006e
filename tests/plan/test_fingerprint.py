"""A plan doesn't depend on how its text is laid out; it does depend on what the text says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import model, plan, sql
from tests.plan.planning import STORES, STREAMS

VIEWS = [
    """CREATE MATERIALIZED VIEW per_minute WITH ( grace = '1 minute' ) AS
       SELECT customer , window_start , window_end , sum ( amount ) AS spent , count ( * ) AS n
       FROM TUMBLE ( TABLE orders , DESCRIPTOR ( at ) , INTERVAL '1' MINUTE )
       WHERE amount > 0 AND ( weight < 5 OR customer = 'it is' )
       GROUP BY customer , window_start , window_end HAVING count ( * ) > 1 ;""",
    """CREATE MATERIALIZED VIEW paid AS
       SELECT o . id , p . paid FROM orders AS o LEFT JOIN payments AS p
       ON o . id = p . order_id AND p . at BETWEEN o . at AND o . at + INTERVAL '1' HOUR ;""",
    """CREATE MATERIALIZED VIEW best AS
       SELECT * FROM ( SELECT customer , window_end , spent , row_number ( ) OVER (
       PARTITION BY window_end ORDER BY spent DESC ) AS place FROM per_minute ) WHERE place <= 3 ;""",
]
WHOLE = ["'it is'", "'1 minute'", "GROUP BY", "PARTITION BY", "ORDER BY"]
KEYWORDS = {
    "select",
    "from",
    "where",
    "group",
    "by",
    "having",
    "and",
    "or",
    "as",
    "with",
    "on",
    "between",
    "left",
    "join",
}


def plan_of(*views: str) -> plan.Plan:
    parsed = sql.parse_declarations("\n".join([STREAMS, *views]), "project.sql")
    assert parsed.findings == ()
    project = model.Project(name="shop", declarations=parsed.declarations, stores=STORES)
    return plan.check(project).checked()


def fingerprints(found: plan.Plan) -> dict[str, str]:
    return {name: view.fingerprint for name, view in found.views.items()}


PLAIN = plan_of(*VIEWS)


def laid_out(text: str, chance: random.Random) -> str:
    """The same tokens with other space, comments and capitals between them."""
    gaps = [" ", "\n", "\t  ", " /* a comment */ ", " -- a remark\n", "\n\n   "]
    for whole in WHOLE:
        text = text.replace(whole, whole.replace(" ", "~"))
    words = text.split()
    changed = [chance.choice([word.upper(), word.lower()]) if word.lower() in KEYWORDS else word for word in words]
    return "".join(word + chance.choice(gaps) for word in changed).replace("~", " ")


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_layout_comments_and_the_order_of_declarations_change_nothing(chance: random.Random) -> None:
    views = [laid_out(text, chance) for text in VIEWS]
    chance.shuffle(views)
    other = plan_of(*views)
    assert fingerprints(other) == fingerprints(PLAIN)
    assert {name: view.root for name, view in other.views.items()} == {
        name: view.root for name, view in PLAIN.views.items()
    }
    assert plan.describe(other) == plan.describe(PLAIN)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT orders.id, amount FROM orders WHERE amount > 1",
        "SELECT `id`, `amount` FROM `orders` WHERE (amount > 1)",
        "SELECT x.id, x.amount FROM ORDERS AS x WHERE x.Amount > 1",
        "SELECT o.id, o.amount FROM (SELECT * FROM orders) o WHERE o.amount > 1",
        "WITH o AS (SELECT id, amount FROM orders) SELECT * FROM o WHERE amount > 1",
    ],
)
def test_names_of_inputs_and_ways_to_nest_change_nothing(query: str) -> None:
    (plain,) = plan_of("CREATE MATERIALIZED VIEW v AS SELECT id, amount FROM orders WHERE amount > 1;").views.values()
    (other,) = plan_of(f"CREATE MATERIALIZED VIEW v AS {query};").views.values()
    assert other.root == plain.root
    assert other.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("amount > 0", "amount > 1"),
        ("'1' MINUTE", "'2' MINUTE"),
        ("sum ( amount )", "max ( amount )"),
        ("count ( * ) > 1", "count ( * ) > 2"),
        ("grace = '1 minute'", "grace = '2 minutes'"),
        ("grace = '1 minute'", "grace = '1 minute', emit = 'final'"),
        ("AS spent", "AS spending"),
    ],
)
def test_what_decides_rows_or_state_changes_the_fingerprint(old: str, new: str) -> None:
    changed = plan_of(VIEWS[0].replace(old, new))
    assert changed.view("per_minute").fingerprint != PLAIN.view("per_minute").fingerprint


def test_the_store_and_comments_of_a_view_dont_change_it() -> None:
    stored = VIEWS[0].replace("grace", "store = 'main', late = 'drop', grace")
    assert plan_of(f"-- what customers spend\n{stored}").view("per_minute").fingerprint == (
        PLAIN.view("per_minute").fingerprint
    )


def test_a_changed_type_of_a_column_changes_the_views_that_use_it() -> None:
    streams = STREAMS.replace("amount DECIMAL(12, 2)", "amount DECIMAL(14, 2)")
    parsed = sql.parse_declarations("\n".join([streams, *VIEWS]), "project.sql")
    project = model.Project(name="shop", declarations=parsed.declarations, stores=STORES)
    changed = fingerprints(plan.check(project).checked())
    plain = fingerprints(PLAIN)
    assert {name for name in plain if plain[name] != changed[name]} == {"per_minute", "best"}


def test_a_default_or_a_former_name_of_a_column_changes_the_views_that_use_it() -> None:
    plain = fingerprints(PLAIN)
    for clause in ("DEFAULT 1", "DEFAULT 2", "ALIAS price"):
        streams = STREAMS.replace("amount DECIMAL(12, 2)", f"amount DECIMAL(12, 2) {clause}")
        parsed = sql.parse_declarations("\n".join([streams, *VIEWS]), "project.sql")
        project = model.Project(name="shop", declarations=parsed.declarations, stores=STORES)
        changed = fingerprints(plan.check(project).checked())
        assert {name for name in plain if plain[name] != changed[name]} == {"per_minute", "best"}, clause
        plain = plain | {"per_minute": changed["per_minute"], "best": changed["best"]}
