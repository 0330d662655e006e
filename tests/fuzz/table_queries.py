"""Random queries over two tables, made by a grammar: joins, groups, subqueries, windows, sets, first rows.

A query is deterministic: whatever is ranked or cut off is ordered by what tells its rows apart, too. So plain Spark
answers it as a view must.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

TABLES = """
CREATE TABLE products (sku STRING, name STRING, price DECIMAL(12, 2), maker STRING, PRIMARY KEY (sku));
CREATE TABLE stock (id INT, sku STRING, shop STRING, pieces INT, PRIMARY KEY (id));
"""


@dataclass(frozen=True)
class Source:
    """Something to read: its text, its columns by their types, and those that tell its rows apart."""

    text: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    prices: tuple[str, ...]
    key: tuple[str, ...]


class Grammar:
    """Makes queries by chance."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def query(self) -> str:
        """One query."""
        make = self._one_of(
            self._rows, self._rows, self._groups, self._groups, self._groups, self._windows, self._sets, self._nested
        )
        return make()

    def _one_of(self, *choices: Callable[[], str]) -> Callable[[], str]:
        return self.chance.choice(choices)

    def _is(self, share: float) -> bool:
        return self.chance.random() < share

    # Sources

    def _source(self) -> Source:
        products = Source("products p", (), ("p.sku", "p.name", "p.maker"), ("p.price",), ("p.sku",))
        stock = Source("stock s", ("s.id", "s.pieces"), ("s.sku", "s.shop"), (), ("s.id",))
        kind = self.chance.choice(["", "", "LEFT ", "RIGHT ", "FULL "])
        also = self.chance.choice(["", "", " AND s.pieces > 2", " AND p.price < 6"])
        joined = Source(
            f"products p {kind}JOIN stock s ON p.sku = s.sku{also}",
            stock.numbers, products.texts + stock.texts, products.prices, ("p.sku", "s.id"),
        )  # fmt: skip
        itself = Source(
            "stock s JOIN stock o ON s.sku = o.sku AND s.id < o.id",
            ("s.id", "o.id", "s.pieces", "o.pieces"), ("s.shop", "o.shop"), (), ("s.id", "o.id"),
        )  # fmt: skip
        grouped = Source(
            "products p JOIN (SELECT sku, count(*) AS n, max(pieces) AS most FROM stock GROUP BY sku) g "
            "ON g.sku = p.sku",
            ("g.n", "g.most"), ("p.sku", "p.maker"), ("p.price",), ("p.sku",),
        )  # fmt: skip
        return self.chance.choice([products, stock, stock, joined, joined, itself, grouped])

    # Expressions

    def _number(self, of: Source, deep: int = 2) -> str:
        plain = [*of.numbers, str(self.chance.randint(0, 9)), f"length({self.chance.choice(of.texts)})"]
        if not deep or self._is(0.5):
            return self.chance.choice(plain)
        left, right = self._number(of, deep - 1), self._number(of, deep - 1)
        return self.chance.choice(
            [
                f"({left} {self.chance.choice('+-*')} {right})",
                f"coalesce({left}, {right})",
                f"CASE WHEN {self._condition(of, 0)} THEN {left} ELSE {right} END",
                f"abs({left})",
                f"greatest({left}, {right})",
                f"{left} % 7",
            ]
        )

    def _order(self, of: Source) -> str:
        number = self._number(of, 1)
        return of.texts[0] if number.isdigit() else number  # a number alone is the place of a column

    def _text(self, of: Source, deep: int = 1) -> str:
        column = self.chance.choice(of.texts)
        if not deep or self._is(0.5):
            return column
        return self.chance.choice(
            [
                f"upper({column})",
                f"concat({column}, '-', {self._text(of, deep - 1)})",
                f"coalesce({column}, 'none')",
                f"substring({column}, 1, 2)",
                f"nullif({column}, 'acme')",
                f"CAST({self._number(of, 1)} AS STRING)",
            ]
        )

    def _condition(self, of: Source, deep: int = 2) -> str:
        number, text = self._number(of, 0), self.chance.choice(of.texts)
        plain = [
            f"{number} {self.chance.choice(['<', '>', '=', '<>', '<=', '>='])} {self.chance.randint(0, 8)}",
            f"{text} IS {self.chance.choice(['', 'NOT '])}NULL",
            f"{text} {self.chance.choice(['', 'NOT '])}IN ('acme', 'north', 's-1', 's-4')",
            f"{text} LIKE '%{self.chance.choice('ekost')}%'",
            f"{number} BETWEEN 2 AND 6",
            f"{text} IS DISTINCT FROM 'bolt'",
        ]
        if not deep or self._is(0.6):
            return self.chance.choice(plain)
        left, right = self._condition(of, deep - 1), self._condition(of, deep - 1)
        return self.chance.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])

    def _where(self, of: Source) -> str:
        conditions = [self._condition(of)] if self._is(0.5) else []
        skus = [text for text in of.texts if text.endswith(".sku")]
        if skus and self._is(0.35):
            sku = self.chance.choice(skus)
            few = f"i.pieces > {self.chance.randint(0, 5)}"
            conditions.append(
                self.chance.choice(
                    [
                        f"{sku} IN (SELECT i.sku FROM stock i WHERE {few})",
                        f"EXISTS (SELECT 1 FROM stock i WHERE i.sku = {sku} AND {few})",
                        f"NOT EXISTS (SELECT 1 FROM stock i WHERE i.sku = {sku} AND {few})",
                        f"(SELECT count(*) FROM stock i WHERE i.sku = {sku} AND {few}) > 1",
                        f"({self._condition(of, 0)} OR EXISTS (SELECT 1 FROM stock i WHERE i.sku = {sku} AND {few}))",
                    ]
                )
            )
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    # Queries

    def _shown(self, of: Source) -> list[str]:
        shown = [self._number(of), self._text(of), *of.prices][: self.chance.randint(1, 3)]
        return shown + (list(of.key) if self._is(0.5) else [])

    def _rows(self) -> str:
        of = self._source()
        items = ", ".join(f"{item} AS c{number}" for number, item in enumerate(self._shown(of)))
        if self._is(0.2):
            return f"SELECT DISTINCT {items} FROM {of.text}{self._where(of)}"
        first = ""
        if self._is(0.35):
            terms = [self._order(of) + self.chance.choice(["", " DESC"]), *of.key]
            first = f" ORDER BY {', '.join(terms)} LIMIT {self.chance.randint(1, 6)}"
            first += f" OFFSET {self.chance.randint(1, 4)}" if self._is(0.4) else ""
        return f"SELECT {items} FROM {of.text}{self._where(of)}{first}"

    def _aggregate(self, of: Source) -> str:
        number, text = self._number(of, 1), self._text(of, 0)
        return self.chance.choice(
            [
                "count(*)", f"count({text})", f"sum({number})", f"min({text})", f"max({number})",
                f"count(DISTINCT {text})", f"sum({number}) FILTER (WHERE {self._condition(of, 0)})",
                f"bool_or({self._condition(of, 0)})", f"array_sort(collect_set({text}))",
                f"max({number}) - min({number})",
            ]
        )  # fmt: skip

    def _groups(self) -> str:
        of = self._source()
        keys = list(dict.fromkeys([self._text(of), self._number(of, 1)]))[: self.chance.randint(1, 2)]
        keys = [key for key in keys if not key.isdigit()] or [of.texts[0]]
        shown = [key for key in keys if self._is(0.6)]  # a key that isn't shown tells groups apart all the same
        items = [*shown, *(self._aggregate(of) for _ in range(self.chance.randint(1, 2)))]
        written = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
        having = f" HAVING {self._aggregate(of)} IS NOT NULL AND count(*) > {self.chance.randint(0, 2)}"
        query = f"SELECT {written} FROM {of.text}{self._where(of)} GROUP BY {', '.join(keys)}"
        return query + (having if self._is(0.4) else "")

    def _windows(self) -> str:
        of = self._source()
        by, order = self._text(of, 0), ", ".join([self._order(of), *of.key])
        over = f"OVER (PARTITION BY {by} ORDER BY {order})"
        call = self.chance.choice(
            [f"row_number() {over}", f"sum({self._number(of, 1)}) {over}", f"lag({self._text(of, 0)}) {over}",
             f"rank() {over}", f"count(*) OVER (PARTITION BY {by})"]
        )  # fmt: skip
        items = ", ".join([*(f"{part} AS k{number}" for number, part in enumerate(of.key)), f"{call} AS c"])
        query = f"SELECT {items} FROM {of.text}{self._where(of)}"
        if call.startswith("row_number") and self._is(0.6):
            kept = self.chance.choice(["c <= 2", "c = 1", "c = 2", "c BETWEEN 2 AND 3"])
            return f"SELECT k0 FROM ({query}) WHERE {kept}"
        return query

    def _sets(self) -> str:
        word = self.chance.choice(["UNION", "EXCEPT", "INTERSECT"])
        one, other = self._source(), self._source()
        return (
            f"SELECT {self._text(one)} AS a FROM {one.text}{self._where(one)} {word} "
            f"SELECT {self._text(other)} FROM {other.text}{self._where(other)}"
        )

    def _nested(self) -> str:
        return self.chance.choice(
            [
                f"SELECT count(*) AS n, max(c0) AS m FROM ({self._rows()}) t",
                f"SELECT c0 FROM ({self._groups()}) t",
                f"WITH t AS ({self._groups()}) SELECT count(*) AS n FROM t",
            ]
        )
