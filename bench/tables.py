"""Views of tables: a step with 100 changed rows, against the whole query, as the tables grow.

`python -m bench.tables 100000 1000000 5000000`: a table of so many orders, of as many customers as a fifth of them, and
100 orders that are changed, given to another customer or deleted before each step. What is measured is that of
`bench.maintained`. Rows that are joined with those of a large table are measured by `python -m bench.freshness`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import headwater as hw
from bench.maintained import KEYS, SIZES, measured, tell

VIEWS = {
    "per_customer": "SELECT customer, count(*) AS n, sum(total) AS total FROM orders GROUP BY customer",
    "named": "SELECT o.id, o.total, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer",
    "largest": "SELECT customer, id, total FROM orders "
    "QUALIFY row_number() OVER (PARTITION BY customer ORDER BY total DESC, id) = 1",
    "spent": "SELECT c.id, c.name, p.total FROM customers c JOIN per_customer p ON p.customer = c.id",
    "idle": "SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
}
TABLES = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, total BIGINT);
CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING);
"""


def orders(ids: np.typing.NDArray[np.int64], customers: int, chance: np.random.Generator) -> pa.Table:
    """An order of each id, by any customer."""
    bought = {"customer": chance.integers(0, customers, len(ids)), "total": chance.integers(0, 1000, len(ids))}
    return pa.table({"id": ids} | bought)


@contextmanager
def project_of(rows: int, chance: np.random.Generator) -> Iterator[hw.Project]:
    """A project with so many orders in its table."""
    with tempfile.TemporaryDirectory() as name:
        folder, customers = Path(name), rows // 5
        views = [f"CREATE MATERIALIZED VIEW {view} AS {query};" for view, query in VIEWS.items()]
        (folder / "headwater.toml").write_text('name = "bench"\n')
        (folder / "project.sql").write_text(TABLES + "\n".join(views))
        with hw.open(folder) as project:
            ids = np.arange(customers)
            project.append("customers", pa.table({"id": ids, "name": [f"customer {number}" for number in ids]}))
            for some in np.array_split(np.arange(rows), max(1, rows // 500_000)):
                project.append("orders", orders(some, customers, chance))
            yield project


def _change(project: hw.Project, rows: int, chance: np.random.Generator, _number: int) -> None:
    ids = chance.choice(rows, KEYS, replace=False)
    project.append("orders", orders(ids[10:], rows // 5, chance))
    project.delete("orders", [{"id": int(number)} for number in ids[:10]])


def main(sizes: tuple[int, ...]) -> None:
    """Tell a line for each view and size."""
    print(f"{'view':<18} {'rows':>10} {'step':>9} {'whole':>9} {'ratio':>6}")
    for rows in sizes:
        chance = np.random.default_rng(rows)
        with project_of(rows, chance) as project:
            change = partial(_change, project, rows, chance)
            for view in VIEWS:
                tell(view, rows, *measured(project, view, change))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
