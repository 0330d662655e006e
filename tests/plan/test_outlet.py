"""What is found about outlets, and where."""

from __future__ import annotations

import pytest

from headwater import plan
from tests.plan.planning import FILE, declared, marked, planned

VIEWS = """
CREATE MATERIALIZED VIEW spent AS
  SELECT customer, window_end, sum(amount) AS total
  FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
CREATE MATERIALIZED VIEW final WITH (emit = 'final') AS
  SELECT customer, window_end, sum(amount) AS total
  FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
CREATE MATERIALIZED VIEW large AS SELECT id, customer, amount FROM orders WHERE amount > 100;
CREATE MATERIALIZED VIEW largest AS
  SELECT customer, window_end, count(*) AS n, max(amount) AS most
  FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
CREATE MATERIALIZED VIEW weights AS
  SELECT customer, window_end, sum(weight) AS total
  FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
CREATE VIEW plain AS SELECT id FROM orders;
"""


def findings(outlet: str) -> list[tuple[str, str]]:
    found = planned(f"{VIEWS}{outlet}").findings
    return [(type(one).__name__, one.summary) for one in found if one.severity == "error"]


@pytest.mark.parametrize(
    ("outlet", "key"),
    [
        ("CREATE OUTLET o FROM spent TO 'kafka://t'", ("customer", "window_end")),
        ("CREATE OUTLET o FROM SPENT TO 'kafka://t' WITH (envelope = 'upsert')", ("customer", "window_end")),
        ("CREATE OUTLET o FROM spent TO 'kafka://t' WITH (key = 'CUSTOMER')", ("customer",)),
        ("CREATE OUTLET o FROM final TO 'kafka://t' WITH (envelope = 'row')", ("customer", "window_end")),
        ("CREATE OUTLET o FROM large TO 'kafka://t' WITH (envelope = 'row')", ()),
        (
            "CREATE OUTLET o FROM spent TO 'delta://t' WITH (envelope = 'row', accumulation = 'discard')",
            ("customer", "window_end"),
        ),
        ("CREATE OUTLET o FROM large TO 'kafka://t' WITH (envelope = 'row', accumulation = 'discard')", ()),
        ("CREATE OUTLET o FROM large TO 'kafka://t' WITH (envelope = 'row', key = 'customer')", ("customer",)),
    ],
)
def test_messages_are_keyed_by_what_tells_the_rows_apart_or_as_declared(outlet: str, key: tuple[str, ...]) -> None:
    assert planned(f"{VIEWS}{outlet}").checked().outlet("O").key == key


@pytest.mark.parametrize(
    ("outlet", "kind", "summary"),
    [
        (
            "CREATE OUTLET o FROM spend TO 'kafka://t'",
            "UnknownName",
            'outlet "o" sends "spend", which is declared nowhere',
        ),
        (
            "CREATE OUTLET o FROM orders TO 'kafka://t'",
            "OutletRefused",
            'outlet "o" sends "orders", which is a stream',
        ),
        (
            "CREATE OUTLET o FROM plain TO 'kafka://t'",
            "OutletRefused",
            'outlet "o" sends "plain", which isn\'t materialized and so has no changes',
        ),
        (
            "CREATE OUTLET o FROM spent TO 'kafka://t' WITH (envelope = 'row')",
            "OutletRefused",
            'outlet "o" sends rows of "spent", which change',
        ),
        (
            "CREATE OUTLET o FROM large TO 'kafka://t' WITH (envelope = 'upsert')",
            "OutletRefused",
            'outlet "o" upserts rows of "large", which have no key',
        ),
        (
            "CREATE OUTLET o FROM spent TO 'kafka://t' WITH (envelope = 'upsert', key = 'customer')",
            "OutletRefused",
            'outlet "o" upserts rows of "spent" under a key that isn\'t theirs',
        ),
        (
            "CREATE OUTLET o FROM spent TO 'kafka://t' WITH (key = 'custmer')",
            "UnknownColumn",
            'outlet "o" has a key with an unknown column "custmer"',
        ),
        (
            "CREATE OUTLET o FROM spent TO 'kafka://t' WITH (accumulation = 'discard')",
            "OutletRefused",
            'outlet "o" discards totals of "spent" and sends envelope = \'change\'',
        ),
        (
            "CREATE OUTLET o FROM largest TO 'kafka://t' WITH (accumulation = 'discard', envelope = 'row')",
            "OutletRefused",
            'outlet "o" discards totals of "largest", whose column "most" doesn\'t add up',
        ),
        (
            "CREATE OUTLET o FROM weights TO 'kafka://t' WITH (accumulation = 'discard', envelope = 'row')",
            "OutletRefused",
            'outlet "o" discards totals of "weights", whose column "total" doesn\'t add up',
        ),
        (
            "CREATE OUTLET spent FROM spent TO 'kafka://t'",
            "DuplicateName",
            'outlet "spent" has a name that is taken',
        ),
    ],
)
def test_what_an_outlet_cannot_send_is_found(outlet: str, kind: str, summary: str) -> None:
    assert findings(outlet) == [(kind, summary)]


def test_a_view_that_is_not_there_is_found_where_it_is_named() -> None:
    text = """
CREATE OUTLET o
  FROM spend TO 'kafka://t';
--     ^ here"""
    (finding,) = planned(f"{text}\n{VIEWS}").errors
    assert (finding.origin, finding.hint) == (marked(text), 'Did you mean "spent"?')


def test_nothing_is_said_of_an_outlet_whose_view_has_findings() -> None:
    text = (
        "CREATE MATERIALIZED VIEW v AS SELECT nothing FROM orders; CREATE OUTLET o FROM v TO 'kafka://t' WITH (key='a')"
    )
    assert [type(found).__name__ for found in planned(text).findings] == ["UnknownColumn"]


def test_a_view_cannot_read_an_outlet() -> None:
    text = f"{VIEWS}CREATE OUTLET o FROM spent TO 'kafka://t'; CREATE MATERIALIZED VIEW w AS SELECT * FROM o"
    assert [type(found).__name__ for found in planned(text).errors] == ["UnknownName"]


def test_an_outlet_is_declared_in_its_file() -> None:
    project, found = declared(f"{VIEWS}CREATE OUTLET o FROM spent TO 'kafka://t' COMMENT 'to the shop'")
    (outlet,) = project.outlets
    assert found == ()
    assert (outlet.kind, outlet.address, outlet.comment) == ("kafka", "t", "to the shop")
    assert outlet.origin is not None and outlet.origin.file == FILE


def test_an_outlet_is_part_of_the_plan() -> None:
    outlets = "CREATE OUTLET o FROM spent TO 'delta://t' WITH (envelope = 'row', accumulation = 'discard');"
    found = planned(f"{VIEWS}{outlets} CREATE OUTLET p FROM large TO 'https://host/hook'")
    assert plan.describe(found).endswith(
        'outlet "o"\n  sends      row of spent, differences\n  to         delta://t\n'
        "  key        customer, window_end\n\n"
        'outlet "p"\n  sends      change of large\n  to         https://host/hook'
    )
    assert 'outlet "o"' not in plan.describe(found, "large")
    assert plan.as_dict(found)["outlets"][0] == {
        "outlet": "o", "view": "spent", "to": "delta://t", "envelope": "row", "format": "json",
        "accumulation": "discard", "start": "earliest", "key": ["customer", "window_end"],
    }  # fmt: skip
