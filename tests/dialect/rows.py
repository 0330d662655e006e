"""Rows for the streams and tables of `cases/shop.sql`: few values, so that there are ties, NULLs and empty windows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb

from tests.flows.oracle import MACROS

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
CUSTOMERS = ("ada", "bob", "cem", None)


def _at(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _order(n: int) -> dict[str, Any]:
    return {
        "id": f"o-{n:02}",
        "customer": CUSTOMERS[n * 7 % 4] if n % 11 else "dan",
        "amount": f"{n * 37 % 19}.{n * 13 % 4 * 25:02}",
        "weight": None if n % 5 == 0 else n * 29 % 17 / 4,
        "quantity": n * 3 % 5,
        "items": [f"i-{part}" for part in range(n % 4)],
        "address": {"city": ("Graz", "Linz", "Wien")[n % 3], "zip": f"{8000 + n % 3}"},
        "body": json.dumps({"a": {"b": n % 3}, "n": n, "kind": "gift" if n % 4 else None, "l": [n, "x"]}),
        "made_at": _at(n * 411),
    }


ROWS: dict[str, list[dict[str, Any]]] = {
    "orders": [_order(n) for n in range(48)],
    "payments": [
        {
            "id": f"p-{n:02}",
            "order_id": f"o-{n * 5 % 60:02}",
            "customer": CUSTOMERS[n % 4],
            "paid": f"{n * 11 % 23}.50",
            "made_at": _at(n * 613),
        }
        for n in range(32)
    ],
    "clicks": [
        {"customer": CUSTOMERS[n % 4], "page": ("home", "cart", "help")[n * 5 % 3], "n": n * 7 % 6} for n in range(24)
    ],
    "customers": [
        {"customer": name, "country": country, "changed_at": _at(seconds)}
        for seconds, name, country in [(0, "ada", "AT"), (1, "bob", "DE"), (1800, "cem", "FR"), (9000, "ada", "IT")]
    ],
    "products": [
        {
            "sku": f"s-{n}",
            "name": ("cup", "pot", "kettle", "spoon")[n % 4],
            "price": f"{n * 7 % 11}.50",
            "maker": ("acme", "bolt", None)[n % 3],
        }
        for n in range(12)
    ],
    "stock": [
        {"id": n, "sku": f"s-{n % 7}", "shop": ("north", "south")[n % 2], "pieces": n * 5 % 8} for n in range(16)
    ],
}
END = START + timedelta(days=14)

_TYPES = {
    "orders": "id VARCHAR, customer VARCHAR, amount DECIMAL(12, 2), weight DOUBLE, quantity INT, items VARCHAR[], "
    "address STRUCT(city VARCHAR, zip VARCHAR), body VARCHAR, made_at TIMESTAMP",
    "payments": "id VARCHAR, order_id VARCHAR, customer VARCHAR, paid DECIMAL(12, 2), made_at TIMESTAMP",
    "clicks": "customer VARCHAR, page VARCHAR, n INT",
    "changes": "customer VARCHAR, country VARCHAR, changed_at TIMESTAMP",
    "products": "sku VARCHAR, name VARCHAR, price DECIMAL(12, 2), maker VARCHAR",
    "stock": "id INT, sku VARCHAR, shop VARCHAR, pieces INT",
}


def connect() -> duckdb.DuckDBPyConnection:
    """DuckDB with the rows; `changes` has every row that table `customers` had, `customers` the newest of each."""
    connection = duckdb.connect()
    connection.execute(MACROS)
    for table, columns in _TYPES.items():
        connection.execute(f"CREATE TABLE {table} ({columns})")
        for row in ROWS["customers" if table == "changes" else table]:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' for _ in row)})", list(row.values()))
    connection.execute("CREATE VIEW customers AS SELECT DISTINCT ON (customer) * FROM changes ORDER BY changed_at DESC")
    return connection
