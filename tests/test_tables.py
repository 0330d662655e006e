"""Tables in a project: rows in, deletes, queries of what they are and were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, StatementRefused, StrictLoadRefused

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOP = """
CREATE TABLE customers (
  id STRING, tier STRING, since TIMESTAMP, WATERMARK FOR since AS since - INTERVAL '5' SECOND, PRIMARY KEY (id)
);
CREATE TABLE prices (product STRING, country STRING, price DECIMAL(8, 2), PRIMARY KEY (product, country));
CREATE STREAM orders (id STRING, customer STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW plain AS SELECT id, customer, at FROM orders;
"""


class Wall:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def shop(tmp_path: Path, wall: Wall) -> hw.Project:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SHOP)
    return hw.open(tmp_path, now=wall)


def after(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def customer(name: str, tier: str, since: int) -> dict[str, object]:
    return {"id": name, "tier": tier, "since": after(since)}


def asked(shop: hw.Project, sql: str) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in shop.query(sql).columns), strict=True))


def test_rows_are_upserted_and_deleted_and_asked_as_they_are_and_were(shop: hw.Project) -> None:
    shop.append("customers", [customer("ada", "silver", 0), customer("ben", "gold", 5)])
    shop.append("customers", [customer("ada", "gold", 60)])
    shop.delete("customers", "ben", at=after(70))
    assert asked(shop, "SELECT id, tier FROM customers") == [("ada", "gold")]
    was = "SELECT id, tier FROM customers FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 12:00:{}' ORDER BY id"
    assert asked(shop, was.format("00")) == [("ada", "silver")]
    assert asked(shop, was.format("59")) == [("ada", "silver"), ("ben", "gold")]
    then = "TIMESTAMP '2026-01-01 12:01:05' - INTERVAL '30' SECONDS"
    moved = f"SELECT c.id, b.tier, c.tier FROM customers c JOIN customers FOR SYSTEM_TIME AS OF {then} AS b USING (id)"
    assert asked(shop, moved) == [("ada", "silver", "gold")], "the same table, as it is and was"
    assert shop.query("SELECT * FROM CUSTOMERS WHERE id = 'ada' AND tier <> 'silver' LIMIT 1").num_rows == 1
    assert shop.query("SELECT count(*) AS n FROM customers")["n"].to_pylist() == [1]


def test_a_table_is_asked_as_it_was_known(shop: hw.Project, wall: Wall) -> None:
    shop.append("customers", [customer("ada", "silver", 0)])
    wall.at = after(100)
    shop.append("customers", [customer("ada", "gold", 10), customer("ben", "gold", 200)])
    wall.at = after(200)
    shop.append("customers", [customer("ada", "none", 5)])
    known = "SELECT id, tier FROM customers {}AS KNOWN AT TIMESTAMP '2026-01-01 12:0{}' ORDER BY id"
    assert asked(shop, known.format("", "1:39.999999")) == [("ada", "silver")]
    assert asked(shop, known.format("", "1:40")) == [("ada", "gold"), ("ben", "gold")], "arrived then, of later even"
    was = "FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 12:00:{}' "
    assert asked(shop, known.format(was.format("07"), "1:40")) == [("ada", "silver")]
    assert asked(shop, known.format(was.format("07"), "3:20")) == [("ada", "none")], "a late change is known since then"
    before = f"{was.format('07')}AS KNOWN AT TIMESTAMP '2026-01-01 12:03:20' - INTERVAL 50 SECONDS"
    both = f"SELECT n.tier, k.tier FROM customers {was.format('07')}n JOIN customers {before} AS k USING (id)"
    assert asked(shop, both) == [("none", "silver")], "as it is known now, and was before"


def test_keys_of_several_columns_arrow_and_sequences(shop: hw.Project, wall: Wall) -> None:
    rows = [{"product": p, "country": c, "price": "1.50"} for p in ("cup", "pot") for c in ("DE", "FR")]
    shop.append("prices", rows)
    wall.at = after(10)
    receipt = shop.delete("prices", [{"product": "cup", "country": "DE"}], sequence=("till", 1))
    assert shop.delete("prices", [{"product": "cup", "country": "DE"}], sequence=("till", 1)).commit == receipt.commit
    shop.delete("prices", pa.table({"product": ["pot"], "country": ["FR"], "price": ["ignored"]}))
    pairs = [("cup", "FR"), ("pot", "DE")]
    assert asked(shop, "SELECT product, country FROM prices ORDER BY product") == pairs
    at = "FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 12:00:0{}'"
    assert len(asked(shop, f"SELECT * FROM prices {at.format(9)}")) == 4, "by arrival, where there is no event time"
    assert asked(shop, f"SELECT product FROM prices {at.format(9)} WHERE country = 'DE' ORDER BY 1")[0] == ("cup",)


def test_what_can_not_be_deleted_is_refused(shop: hw.Project) -> None:
    for keys, table, told in (
        (["ada"], "orders", "nothing to delete"),
        (["ada"], "customers", "not told when"),
        (["cup"], "prices", "keys of 2 columns"),
    ):
        with pytest.raises(ArgumentRefused, match=told):
            shop.delete(table, keys)
    with pytest.raises(StrictLoadRefused):
        shop.delete("prices", [{"product": "cup", "country": None}])
    assert shop.read("prices").num_rows == 0
    assert shop.append("prices", {"product": None, "country": "DE"}).became == "dead letters"


def test_what_a_query_can_not_ask_is_refused(shop: hw.Project) -> None:
    for sql, told in (
        ("SELECT * FROM customers FOR SYSTEM_TIME AS OF since", "no instant"),
        ("SELECT * FROM customers AS KNOWN AT since", "AS KNOWN AT something that is no instant"),
        ("SELECT * FROM plain AS KNOWN AT at", "AS KNOWN AT something that is no instant"),
        ("SELECT * FROM plain FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 12:00:00'", "lets go of rows"),
        ("SELECT * FROM orders AS KNOWN AT TIMESTAMP '2026-01-01 12:00:00'", "no table or materialized view"),
        ("SELECT * FROM orders", 'no view "orders"'),
    ):
        with pytest.raises(StatementRefused, match=told):
            shop.query(sql)
