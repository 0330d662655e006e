"""Whatever the parser reads, the planner uses or refuses: shown for every part of every node that a query can have.

A part that is taken out of a query must change its plan or what is found in it. If it changes neither, nobody looked
at it, and the author's query means something else than it says.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from sqlglot import exp

from headwater import model, plan, sql
from headwater.errors import Origin
from headwater.findings import SyntaxRefused
from headwater.operators import Project, Union
from headwater.plan.clauses import UNDERSTOOD, WORDLESS, WRITTEN_BACK, unused
from headwater.sql.nodes import KnownVersion
from tests.plan.planning import STORES

MOST = int(os.environ.get("CLAUSES_TRIED", "4"))
"""How often a part of a kind of node is taken out."""
AS_A_WHOLE = (
    exp.TableSample, exp.Values, exp.Hint, exp.JoinHint, exp.Slice, KnownVersion
)  # fmt: skip
"""Nodes that are refused, or told to have no effect, whatever their parts are."""
REFUSED_AS_A_WHOLE = {exp.Distinct: "on", exp.Subquery: "joins"}
"""Parts that are refused whatever is in them."""
NEVER = {
    (exp.Order, "this"), (exp.Table, "joins"), (exp.Lateral, "view"), (exp.Group, "cube"), (exp.Group, "grouping_sets"),
    (exp.Group, "rollup"), (exp.Version, "this"), (exp.Version, "kind"), (exp.RespectNulls, "this"),
    (exp.Identifier, "quoted"), (exp.Column, "catalog"), (exp.LimitOptions, "rows"),
}  # fmt: skip
"""What no query shows alone: the words of Spark's GROUP BY come as expressions, and others say what would be so."""
HERE = Path(__file__).parents[1]
STREAMS = """
CREATE STREAM orders (
  id STRING NOT NULL, customer STRING, amount DECIMAL(12, 2), weight DOUBLE, n INT, items ARRAY<STRING>,
  place STRUCT<city: STRING, at: STRUCT<x: INT>>, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING NOT NULL, order_id STRING, amount DECIMAL(12, 2), n INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
);
CREATE TABLE customers (
  customer STRING, country STRING, changed_at TIMESTAMP,
  PRIMARY KEY (customer), WATERMARK FOR changed_at AS changed_at
);
"""
HOURS = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)"
BOUND = "p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"


def corpus(name: str) -> list[str]:
    """The queries of a file, one on each line."""
    text = (Path(__file__).parent / "clauses" / f"{name}.sql").read_text("utf-8")
    return text.format(HOURS=HOURS, BOUND=BOUND).splitlines()


QUERIES = corpus("understood")

REFUSED = corpus("refused")

SILENT = {
    (exp.Identifier, "quoted"),  # says how a name was written
    (exp.Lateral, "view"),  # LATERAL VIEW g and LATERAL g are the same
    (exp.RespectNulls, "this"),  # what happens anyway
    (exp.Join, "kind"),  # INNER, OUTER and CROSS say what the other words say; SEMI and ANTI are in the corpus
    (exp.TableAlias, "this"),  # the name of what is not named elsewhere
    (exp.Table, "alias"),
    (exp.Subquery, "alias"),
    (exp.Pivot, "alias"),
    (exp.Lateral, "alias"),
    (exp.Unnest, "alias"),
    (exp.Column, "table"),  # a column that one input alone has
    (exp.Ordered, "nulls_first"),  # that of Spark is set where the author says nothing
    (exp.Select, "windows"),
    (exp.Column, "db"),  # the input that a field of a struct is of
    (exp.Column, "catalog"),
    (exp.WindowSpec, "end"),  # CURRENT ROW, if nothing is said
    (exp.PivotAlias, "alias"),  # which the parser has made the name of a column
    *((kind, part) for kind in (exp.Union, exp.Except, exp.Intersect) for part in ("kind", "on")),  # OUTER; all columns
    *((kind, part) for kind in AS_A_WHOLE for part in kind.arg_types),
    (exp.Boolean, "this"),  # ON TRUE
    (exp.Literal, "is_string"),  # the number of an interval
    (exp.Version, "this"),  # TIMESTAMP AS OF; the parser refuses others
    (exp.Version, "kind"),
    (exp.LimitOptions, "rows"),  # a word
    (exp.Join, "side"),  # LEFT ANTI and ANTI are the same
    (exp.Count, "big_int"),  # notes of sqlglot's own
    (exp.Concat, "safe"),
    (exp.DPipe, "safe"),
    (exp.ArrayAgg, "nulls_excluded"),
}
"""Parts that may be taken out of some queries without changing their meaning. In some other query they matter."""


class Outcome(NamedTuple):
    """What a check makes of a query: its stages, and what is found, without the places."""

    stages: str
    findings: tuple[str, ...]


def outcome(project: model.Project, tree: exp.Query | None = None) -> Outcome:
    """The outcome of a project's view `v`, whose query is read as `tree` where one is given."""
    read = sql.parse_query
    view = next(found for found in project.views if found.name == "v")

    def parse(query: model.SqlQuery) -> exp.Query:
        return tree if tree is not None and query is view.query else read(query)

    with patch.object(sql, "parse_query", parse):
        checked = plan.check(project)
    own = [found for found in checked.findings if found.fields.get("view") == "v"]
    return Outcome(repr(checked.views["v"].root), tuple(sorted(str(found) for found in own)))


def declared(text: str) -> model.Project:
    """A project with a view `v` of this query."""
    streams = sql.parse_declarations(STREAMS, "streams.sql").declarations
    query = model.SqlQuery(text, origin=Origin("v.sql"))
    view = model.View(name="v", query=query, horizon=timedelta(days=1), origin=Origin("v.sql"))
    return model.Project(name="shop", declarations=(*streams, view), stores=STORES)


def flows() -> Iterator[model.Project]:
    """The projects of the flows that are one view in SQL; it is called `v` here."""
    for path in sorted((HERE / "flows").glob("*/project.sql")):
        declarations = sql.parse_declarations(path.read_text("utf-8"), str(path)).declarations
        views = [found for found in declarations if isinstance(found, model.View)]
        if len(views) == 1 and isinstance(views[0].query, model.SqlQuery):
            others = [found for found in declarations if not isinstance(found, model.View | model.Outlet)]
            yield model.Project(name="flow", declarations=(*others, replace(views[0], name="v")), stores=STORES)


def projects() -> list[model.Project]:
    return [*(declared(query) for query in QUERIES), *flows()]


def changes(node: exp.Expr, part: str) -> Iterator[Callable[[exp.Expr], None]]:
    """Ways to take a part out of a node: all of it, and each of several."""
    value = node.args[part]
    yield lambda copy: copy.set(part, None)
    for place in range(len(value) if isinstance(value, list) and len(value) > 1 else 0):
        yield lambda copy, place=place: copy.set(part, [*copy.args[part][:place], *copy.args[part][place + 1 :]])  # type: ignore[misc]


def is_left_out(node: exp.Expr, part: str) -> bool:
    """Whether a node is inside one that is refused as a whole, or among columns of which only some count."""
    if isinstance(node, exp.Select) and part == "expressions" and isinstance(node.parent, exp.SetOperation):
        return bool(node.parent.args.get("by_name"))
    while (around := node.parent) is not None:
        if isinstance(around, AS_A_WHOLE) or REFUSED_AS_A_WHOLE.get(type(around)) == node.arg_key:
            return True
        node = around
    return False


def is_looked_at(project: model.Project, tree: exp.Query, place: int, change: Callable[[exp.Expr], None]) -> bool:
    copy = tree.copy()
    change(list(copy.walk())[place])
    try:
        return outcome(project, copy) != outcome(project, tree.copy())
    except Exception:  # a tree that no parser makes: whoever fails on it has looked
        return True


def test_nothing_can_be_taken_out_of_a_query_without_a_change_of_its_plan_or_a_finding() -> None:
    tried, matters = Counter[tuple[type, str]](), set[tuple[type, str]]()
    ignored = []
    for project in projects():
        view = next(found for found in project.views if found.name == "v")
        assert isinstance(view.query, model.SqlQuery)
        tree = sql.parse_query(view.query)
        for place, node in enumerate(tree.walk()):
            for part in [name for name, value in node.args.items() if value not in (None, False, [])]:
                which = (type(node), part)
                enough = tried[which] >= MOST and (which in matters or which in NEVER)
                if enough or part in WORDLESS.get(type(node), ()) or is_left_out(node, part):
                    continue
                tried[which] += 1
                for change in changes(node, part):
                    if is_looked_at(project, tree, place, change):
                        matters.add(which)
                    elif which not in SILENT:
                        ignored.append(f"{type(node).__name__}.{part} of {view.query.sql}")
    assert not ignored, "\n".join(ignored)
    claimed = {(kind, part) for kind, parts in UNDERSTOOD.items() if kind not in AS_A_WHOLE for part in parts}
    assert sorted(f"{kind.__name__}.{part}" for kind, part in claimed - matters - NEVER) == []


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_understood_is_refused_at_its_place(query: str) -> None:
    project, parsed = declared(query), sql.parse_declarations(f"CREATE MATERIALIZED VIEW v AS {query}", "v.sql")
    found = [*parsed.findings, *plan.check(project).findings]
    errors = [one for one in found if isinstance(one, SyntaxRefused) or one.severity == "error"]
    assert errors, query
    assert all(error.origin is not None for error in errors)


def test_every_part_of_every_node_is_understood_or_refused() -> None:
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)]
    for kind in kinds:
        for part in kind.arg_types:
            node = kind()
            node.args[part] = False if part == "nullable" else exp.Null()
            known = part in UNDERSTOOD.get(kind, frozenset()) | WORDLESS.get(kind, frozenset())
            is_expression = kind not in UNDERSTOOD and issubclass(kind, WRITTEN_BACK)
            assert known or is_expression or any(unused(node)), f"{kind.__name__}.{part}"


def test_a_hint_is_told_to_have_no_effect() -> None:
    query = f"SELECT /*+ BROADCAST(p) */ o.id FROM orders AS o JOIN payments AS p ON {BOUND}"
    (found,) = plan.check(declared(query)).findings
    assert (found.code(), found.severity) == ("clause-ignored", "warning")


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT id, n FROM orders UNION ALL BY NAME SELECT n, id FROM payments", ["id", "n"]),
        ("SELECT id, n, at FROM orders UNION ALL CORRESPONDING SELECT n, at, amount FROM payments", ["n", "at"]),
        ("SELECT id, n FROM orders UNION ALL CORRESPONDING BY (n) SELECT n, at, id FROM payments", ["n"]),
        ("SELECT id, n FROM orders FULL UNION ALL BY NAME SELECT at, id FROM payments", ["id", "n", "at"]),
        ("SELECT id, n FROM orders LEFT UNION ALL BY NAME SELECT at, id FROM payments", ["id", "n"]),
    ],
)
def test_a_union_by_name_pairs_columns_by_their_names(query: str, columns: list[str]) -> None:
    checked = plan.check(declared(query)).checked()
    assert [column.name for column in checked.view("v").columns] == columns
    union = checked.view("v").root
    assert isinstance(union, Union)
    for branch in union.branches:
        assert [field.name for field in branch.columns] == columns
        for named in branch.expressions if isinstance(branch, Project) else ():
            assert named.expression.sql == named.name or named.expression.sql.startswith("CAST(NULL AS ")


def test_a_union_by_name_of_other_columns_is_refused() -> None:
    query = "SELECT id, n FROM orders UNION ALL BY NAME SELECT id, at FROM payments"
    (found,) = plan.check(declared(query)).findings
    assert found.summary == 'view "v" unites the columns of two queries by name, of which only one has "n" and "at"'
    assert found.hint == "Add NULL AS n to the other query, or write FULL UNION … BY NAME to fill in NULL."
