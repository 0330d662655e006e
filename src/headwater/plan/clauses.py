"""Clauses: what the planner understands of a query, node by node. What it would not look at is a finding.

sqlglot reads more SQL than Spark has, and more than a view can mean: `SELECT * REPLACE (…)`, `DISTRIBUTE BY`, `FROM
other.orders`. A part that nobody looks at would be a query with another meaning than its author's. `UNDERSTOOD` says
which parts of which nodes are looked at; every other part that an author wrote is refused by its name and origin.

Calls and operators are not listed: they are written back as they were read (`headwater.sql.calls`), and what has no
type is refused by the typer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from headwater.findings import ClauseIgnored, QueryRefused
from headwater.plan.context import Context
from headwater.sql.nodes import KnownVersion, PatternMatch, WindowFunction
from headwater.sql.spelling import spell


def _parts(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SET_OPERATION = _parts("with_ this expression distinct by_name side kind on order limit offset")
UNDERSTOOD: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: _parts(
        "with_ expressions distinct from_ match laterals joins where group having qualify windows order limit offset"
    ),
    exp.Union: _SET_OPERATION,
    exp.Except: _SET_OPERATION,
    exp.Intersect: _SET_OPERATION,
    exp.Subquery: _parts("this alias joins pivots order limit offset sample"),
    exp.With: _parts("expressions recursive"),
    exp.CTE: _parts("this alias"),
    exp.From: _parts("this"),
    exp.Join: _parts("this on side kind using method"),
    exp.Table: _parts("this alias joins pivots version sample"),
    exp.TableAlias: _parts("this columns"),
    exp.TableSample: frozenset(exp.TableSample.arg_types),  # refused as a whole
    exp.Version: _parts("this kind expression"),
    KnownVersion: frozenset(KnownVersion.arg_types),  # refused as a whole
    exp.Lateral: _parts("this view outer alias"),
    exp.Unnest: _parts("expressions alias offset"),
    exp.Pivot: _parts("alias expressions fields unpivot columns include_nulls"),
    exp.PivotAlias: _parts("this alias"),
    exp.Values: frozenset(exp.Values.arg_types),  # refused as a whole
    WindowFunction: frozenset(WindowFunction.arg_types),
    PatternMatch: frozenset(PatternMatch.arg_types),
    exp.MatchRecognizeMeasure: frozenset(exp.MatchRecognizeMeasure.arg_types),
    exp.Where: _parts("this"),
    exp.Group: _parts("expressions grouping_sets cube rollup all"),
    exp.GroupingSets: _parts("expressions"),
    exp.Cube: _parts("expressions"),
    exp.Rollup: _parts("expressions"),
    exp.Having: _parts("this"),
    exp.Qualify: _parts("this"),
    exp.Order: _parts("this expressions"),
    exp.Ordered: _parts("this desc nulls_first"),
    exp.Limit: _parts("expression limit_options"),
    exp.LimitOptions: _parts("rows with_ties"),
    exp.Offset: _parts("expression"),
    exp.Window: _parts("this partition_by order spec alias"),
    exp.WindowSpec: _parts("kind start start_side end end_side exclude"),
    exp.Distinct: _parts("expressions on"),
    exp.Star: _parts("except_"),
    exp.Column: _parts("this table db catalog"),
    exp.Identifier: _parts("this quoted"),
    exp.Alias: _parts("this alias"),
    exp.Aliases: _parts("this expressions"),
    exp.Filter: _parts("this expression"),
    exp.WithinGroup: _parts("this expression"),
    exp.IgnoreNulls: _parts("this"),
    exp.RespectNulls: _parts("this"),
    exp.Lambda: _parts("this expressions"),
    exp.Kwarg: _parts("this expression"),
    exp.PropertyEQ: _parts("this expression"),
    exp.Tuple: _parts("expressions"),
    exp.Interval: _parts("this unit"),
    exp.IntervalSpan: _parts("this expression"),
    exp.DataType: _parts("this expressions"),
    exp.DataTypeParam: _parts("this"),
    exp.ColumnDef: _parts("this kind constraints"),
    exp.ColumnConstraint: _parts("kind"),
    exp.NotNullColumnConstraint: _parts(""),
    exp.Cast: _parts("this to"),
    exp.TryCast: _parts("this to safe"),
    exp.Between: _parts("this low high symmetric"),
    exp.In: _parts("this expressions query"),
    exp.Bracket: _parts("this expressions"),
    exp.Slice: frozenset(exp.Slice.arg_types),  # refused as a whole
    exp.Hint: frozenset(exp.Hint.arg_types),  # told as a whole
    exp.JoinHint: frozenset(exp.JoinHint.arg_types),
    exp.Var: _parts("this"),
}
"""The parts of each node that the planner looks at, or refuses in words of its own."""

WORDLESS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Cast: _parts("safe"),
    exp.TryCast: _parts("requires_string"),
    exp.DataType: _parts("nested"),
    exp.Window: _parts("over"),
    exp.Pivot: _parts("identify_pivot_strings prefixed_pivot_columns pivot_column_naming value_columns_first"),
    exp.Bracket: _parts("offset safe"),
}
"""The parts that sqlglot notes down for itself: no word of the author's stands behind them."""

_IGNORED: Mapping[type[exp.Expr], frozenset[str]] = {exp.Select: _parts("hint"), exp.CTE: _parts("materialized")}
"""The parts that speak of how a query runs, and not of its rows: the author is told that nobody listens."""

WRITTEN_BACK = (exp.Condition, exp.JSONPath, exp.JSONPathPart)
"""Calls, operators and paths: they are written back as they are, and the typer knows them, or says that it doesn't."""
_CLAUSES = (exp.Order, exp.Limit, exp.Fetch, exp.Offset, exp.HavingMax, exp.Where, exp.Hint)
_IN_CALLS = (exp.Order,)
"""Of the clauses those that mean something among the arguments of an aggregate, which says so itself."""

_NAMES = {
    "by_name": "BY NAME", "catalog": "a catalog", "cluster": "CLUSTER BY", "connect": "CONNECT BY", "cross_apply":
    "APPLY", "db": "the name of a database", "distribute": "DISTRIBUTE BY", "for_": "FOR", "into": "INTO", "joins":
    "a join in parentheses", "kind": "AS STRUCT", "percent": "a share of rows", "locks": "a lock",
    "match_condition": "MATCH_CONDITION", "nullable": "NOT NULL", "ordinality": "WITH ORDINALITY", "partition":
    "PARTITION", "rename": "RENAME", "replace": "REPLACE", "sample": "a sample", "sort": "SORT BY",
    "with_fill": "WITH FILL",
}  # fmt: skip
_HINTS = {
    "db": "Write the name alone: a project's streams, tables and views are in no database.",
    "catalog": "Write the name alone: a project's streams, tables and views are in no catalog.",
    "replace": "Write the columns out, with the expression in the place of the one to be replaced.",
    "rename": "Write the columns out, with AS behind the one to be renamed.",
    "ilike": "Write the columns out.",
    "distribute": "Leave it out: how rows are spread over tasks is the engine's to choose.",
    "cluster": "Leave it out: how rows are spread over tasks is the engine's to choose.",
    "sort": "Leave it out: the rows of a view have no order. Order when you query it.",
    "ordinality": "Write LATERAL VIEW POSEXPLODE(…) t AS position, element.",
    "match_condition": "Not supported yet: write a bound in time in ON, and keep the newest with QUALIFY.",
    "nullable": "Leave NOT NULL out of the type: Spark's CAST says nothing of it.",
    "totals": "Write GROUP BY ROLLUP (…).",
    "direction": "Write ORDER BY … LIMIT and a number.",
    "percent": "Write LIMIT and a number of rows.",
}


def judge_clauses(context: Context, tree: exp.Expr) -> None:
    """Report every part of a query that nobody looks at."""
    refused: set[int] = set()
    for node, part in unused(tree):
        if id(node) in refused:
            continue  # it stands inside what is refused already
        if part in _IGNORED.get(type(node), ()):
            _ignore(context, node, part)
        else:
            at = _first(node.args[part]) or node
            what = _NAMES.get(part, part.strip("_").replace("_", " ").upper())
            hint = _HINTS.get(part) or ("Leave it out." if what[:2] == "a " else f"Leave {what} out.")
            context.refuse(QueryRefused, f"uses {what} in {_name(node)}, which has no meaning here", at, hint=hint)
            refused |= {id(below) for below in node.walk()}
    for clause in _misplaced(tree):
        hint = "Filter with FILTER (WHERE …), or choose the rows in a subquery in FROM."
        what = f"uses {_name(clause)} inside a call, which has no meaning here"
        context.refuse(QueryRefused, what, clause, hint=hint)


def unused(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """The parts of nodes that the planner doesn't look at; all parts of a node that it doesn't know."""
    for node in tree.walk():
        understood = UNDERSTOOD.get(type(node))
        if understood is None and isinstance(node, WRITTEN_BACK):
            continue
        known = (understood or frozenset()) | WORDLESS.get(type(node), frozenset())
        yield from ((node, part) for part, value in node.args.items() if _is_set(part, value) and part not in known)


def _is_set(part: str, value: object) -> bool:
    return value is False if part == "nullable" else value is not None and value is not False and value != []


def _misplaced(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Clauses among the arguments of a call."""
    for node in tree.find_all(*_CLAUSES):
        if isinstance(node.parent, exp.Func) and not isinstance(node, _IN_CALLS):
            yield node


def _ignore(context: Context, node: exp.Expr, part: str) -> None:
    hint = _first(node.args[part])
    words = ", ".join(spell(word) for word in hint.expressions) if hint is not None else part.upper()
    context.refuse(
        ClauseIgnored,
        f"gives the hint {words}, which has no effect",
        node,  # the parser counts characters inside a hint from its own beginning
        detail="How a view runs is chosen from its query: see `headwater graph`.",
        hint="Leave it out.",
    )


def _first(value: object) -> exp.Expr | None:
    node = value[0] if isinstance(value, list) else value
    return node if isinstance(node, exp.Expr) else None


def _name(node: exp.Expr) -> str:
    """A node as SQL calls it."""
    words: dict[type[exp.Expr], str] = {
        exp.Star: "*",
        exp.Table: "FROM",
        exp.CTE: "WITH",
        exp.HavingMax: "HAVING MAX or MIN",
        exp.LimitOptions: "LIMIT",
    }
    spelled = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
    return words.get(type(node), spelled)
