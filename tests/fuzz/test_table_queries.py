"""Whatever `check` passes runs, and gives the rows of plain Spark: random queries over tables that change.

FUZZ_QUERIES says how many are made, FUZZ_SEED which. Each that passes is a view, which is maintained commit by commit
and computed in batch; both are held against Spark's answer over the rows that the tables have in the end.
"""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa
from pyspark.sql import SparkSession

from headwater import model, plan, sql, testing
from tests.fuzz.table_queries import TABLES, Grammar
from tests.plan.planning import STORES

WANTED = int(os.environ.get("FUZZ_QUERIES", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
TOGETHER = 12
"""How many views share a project."""
MAKERS, NAMES = ("acme", "bolt", None), ("cup", "pot", "kettle", "spoon")
Rows = list[dict[str, object]]


def changes(chance: Random) -> tuple[Rows, Rows]:
    """New rows of products and of stock; those of a key that is there already take its place."""
    products: Rows = [
        {
            "sku": f"s-{chance.randrange(9)}",
            "name": chance.choice(NAMES),
            "price": f"{chance.randrange(12)}.50",
            "maker": chance.choice(MAKERS),
        }
        for _ in range(chance.randint(0, 8))
    ]
    stock: Rows = [
        {
            "id": chance.randrange(14),
            "sku": chance.choice([None, *(f"s-{number}" for number in range(7))]),
            "shop": chance.choice(["north", "south"]),
            "pieces": chance.choice([None, *range(8)]),
        }
        for _ in range(chance.randint(0, 8))
    ]
    return products, stock


def is_passed(query: str) -> bool:
    parsed = sql.parse_declarations(f"{TABLES} CREATE MATERIALIZED VIEW v AS {query}", "views.sql")
    project = model.Project(name="fuzz", declarations=parsed.declarations, stores=STORES)
    found = [*parsed.findings, *plan.check(project, parsed.refused).findings]
    return not any(getattr(one, "severity", "error") == "error" for one in found)


def newest(rows: Rows, key: str) -> Rows:
    """The rows of a table after all of its changes."""
    return list({row[key]: row for row in rows}.values())


def test_whatever_check_passes_runs_and_gives_the_rows_of_plain_spark(spark: SparkSession) -> None:
    passed = made = 0
    for start in range(0, WANTED, TOGETHER):
        chance = Random(SEED * 1_000_003 + start)
        queries = [Grammar(chance).query() for _ in range(min(TOGETHER, WANTED - start))]
        kept = [query for query in queries if is_passed(query)]
        made, passed = made + len(queries), passed + len(kept)
        compare(spark, kept, [changes(chance) for _ in range(4)])
    assert passed >= made * 0.7, f"{passed} of {made} passed"


def compare(spark: SparkSession, queries: list[str], commits: list[tuple[Rows, Rows]]) -> None:
    views = {f"v{number}": query for number, query in enumerate(queries)}
    text = "".join(f"CREATE MATERIALIZED VIEW {view} AS {query};\n" for view, query in views.items())
    with testing.scenario(TABLES + text) as found:
        for products, stock in commits:
            for topic, rows in (("products", products), ("stock", stock)):
                if rows:
                    found.append(topic, rows)
            found.run()
        answers = plain(spark, views, *([row for part in commits for row in part[place]] for place in (0, 1)))
        for view, query in views.items():
            for rows in (found.rows(view), found.batch(view)):
                difference = testing.compare(rows, answers[view].rename_columns(rows.column_names).to_pylist())
                assert not difference, f"{query}\n{difference}"


def plain(spark: SparkSession, views: dict[str, str], products: Rows, stock: Rows) -> dict[str, pa.Table]:
    """The answers of Spark, over the rows that the tables have."""
    session = spark.newSession()
    kinds = "sku STRING, name STRING, price STRING, maker STRING"
    found = session.createDataFrame(newest(products, "sku"), kinds)
    found.selectExpr("sku", "name", "CAST(price AS DECIMAL(12, 2)) AS price", "maker").createTempView("products")
    session.createDataFrame(newest(stock, "id"), "id INT, sku STRING, shop STRING, pieces INT").createTempView("stock")
    return {view: session.sql(query).toArrow() for view, query in views.items()}
