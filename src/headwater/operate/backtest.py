"""Backtests: a view over all of history as it is declared, and with other conditions, side by side.

A condition is set by what stands on its left: `large.amount > 300` takes the place of the one comparison that the query
has of `large.amount` by that operator; in a pattern, of `amount` in the condition of `large`. Several that belong
together are joined with AND. Nothing is stored, and the view that is served doesn't know of it.

*Labels* are rows of a file that should have been found, told by columns that the view has too. *Precision* is the share
of the view's rows that have a label, *recall* the share of the labels that a row has.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.errors import ArgumentRefused
from headwater.operate.verify import differences
from headwater.operate.why import typed_row
from headwater.plan import Plan, PlannedView, check
from headwater.sql.refusal import did_you_mean

EXAMPLES = 5
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)


@dataclass(frozen=True)
class Labelled:
    """The number of labels, of those that a row has, and of rows that have one; among so many rows."""

    labels: int
    hits: int
    right: int
    rows: int

    @property
    def precision(self) -> float | None:
        """The share of the rows that have a label; None without rows."""
        return self.right / self.rows if self.rows else None

    @property
    def recall(self) -> float | None:
        """The share of the labels that a row has; None without labels."""
        return self.hits / self.labels if self.labels else None


@dataclass(frozen=True)
class Variant:
    """A view with some conditions in place of others (as declared, without any): its rows, and what it has gained and
    lost by them, with examples.
    """

    conditions: str
    rows: int
    gained: int
    lost: int
    examples: Mapping[str, Sequence[Mapping[str, Any]]]
    labelled: Labelled | None

    def as_dict(self) -> dict[str, Any]:
        """The same as a record."""
        shares = self.labelled and {"precision": self.labelled.precision, "recall": self.labelled.recall}
        return {**asdict(self), "labelled": {**asdict(self.labelled), **(shares or {})} if self.labelled else None}


@dataclass(frozen=True)
class Backtested:
    """A view as it is declared, and its variants, over the same commits."""

    view: str
    commits: Mapping[str, int]
    variants: tuple[Variant, ...]


def backtested(
    plan: Plan,
    planned: PlannedView,
    rows_of: Callable[[PlannedView], tuple[pa.Table, Mapping[str, int]]],
    conditions: Sequence[str],
    labels: Path | None,
    examples: int,
) -> Backtested:
    """The rows of a view as declared, and with each of some conditions; `rows_of` computes those of a plan of it."""
    wanted = labels_in(labels, planned) if labels is not None else None
    plans = [(text, varied(plan, planned, text)) for text in conditions]  # what is wrong is told before all is computed
    declared, commits = rows_of(planned)
    variants = [_variant("", declared, declared, planned, wanted, examples)]
    for text, other in plans:
        variants.append(_variant(text, declared, rows_of(other)[0], planned, wanted, examples))
    return Backtested(planned.name, commits, tuple(variants))


def _variant(
    text: str, declared: pa.Table, rows: pa.Table, planned: PlannedView, wanted: Labels | None, examples: int
) -> Variant:
    gained, lost = differences(declared, rows, planned.root.tolerances)
    shown = {name: several[:examples] for name, several in (("gained", gained), ("lost", lost)) if several}
    return Variant(text, rows.num_rows, len(gained), len(lost), shown, None if wanted is None else wanted.judge(rows))


def varied(plan: Plan, planned: PlannedView, text: str) -> PlannedView:
    """The plan of a view with other conditions; `ArgumentRefused` if it has none in whose place they could stand."""
    query = planned.view.query
    if not isinstance(query, model.SqlQuery):
        what = f'view "{planned.name}" has no conditions that could be set'
        raise ArgumentRefused(what, detail="A function in Python makes its rows.", hint="Backtest a view in SQL.")
    view = replace(planned.view, query=model.SqlQuery(with_conditions(planned.name, query.sql, text)))
    project = plan.project
    others = [view if one is planned.view else one for one in project.declarations]
    return check(replace(project, declarations=tuple(others))).checked().view(planned.name)


def with_conditions(view: str, query: str, text: str) -> str:
    """A query with other conditions.

    >>> with_conditions("v", "SELECT a FROM t WHERE a > 5 AND b < 2", "a > 7")
    'SELECT a FROM t WHERE a > 7 AND b < 2'
    """
    tree, asked = sql.parse_query(model.SqlQuery(query)), sql.parse_expression(text)
    parts = list(asked.flatten()) if isinstance(asked, exp.And) else [asked]
    for part in parts:
        if not isinstance(part, _COMPARISONS):
            raise ArgumentRefused(f'"{text}" is no condition', hint="Write a comparison, like large.amount > 300.")
        places = list(_comparisons(tree))
        same = [node for left, node in places if type(node) is type(part) and left == sql.spell(part.this).lower()]
        if len(same) != 1:
            known = [f"{left} {sql.spell(node).removeprefix(sql.spell(node.this)).strip()}" for left, node in places]
            what = f'view "{view}" has {len(same) or "no"} conditions on the left side of "{sql.spell(part)}"'
            hint = did_you_mean(sql.spell(part), known) or "Set one that it has, by the same left side and operator."
            raise ArgumentRefused(what, detail=f"It has {', '.join(known) or 'none'}.", hint=hint)
        same[0].set("expression", part.expression.copy())
    return sql.spell(tree)


def _comparisons(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The comparisons of a query, each with its left side; in a pattern with the variable whose condition it is."""
    for node in tree.find_all(*_COMPARISONS):
        match = node.find_ancestor(exp.MatchRecognize)
        part: exp.Expr = node
        while match is not None and part.parent is not match and part.parent is not None:
            part = part.parent
        left = sql.spell(node.this).lower()
        if match is not None and part.arg_key == "subset":
            continue
        if match is not None and part.arg_key == "define" and isinstance(node.this, exp.Column) and not node.this.table:
            left = f"{part.alias}.{left}".lower()
        yield left, node


@dataclass(frozen=True)
class Labels:
    """Values that some columns should have had, of the view's own types."""

    columns: tuple[str, ...]
    values: frozenset[tuple[Any, ...]]

    def judge(self, rows: pa.Table) -> Labelled:
        """The labels that rows have, and the rows that have one."""
        shown = list(zip(*(rows[name].to_pylist() for name in self.columns), strict=True))
        right = [values for values in shown if values in self.values]
        return Labelled(len(self.values), len(set(right)), len(right), rows.num_rows)


def labels_in(file: Path, planned: PlannedView) -> Labels:
    """The labels of a CSV file, by its columns that the view has too."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            records = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError) as failure:
        raise ArgumentRefused(f'labels "{file}" can\'t be read', detail=f"{failure}.") from failure
    names = list(records[0]) if records else []
    known = [column.name for column in planned.columns if column.name in names]
    if not known:
        shown = ", ".join(column.name for column in planned.columns)
        detail = f"The file has {', '.join(names) or 'no columns'}; the view has {shown}."
        raise ArgumentRefused(f'labels "{file}" have no column of view "{planned.name}"', detail=detail)
    typed = [typed_row(planned.name, planned.columns, {name: record[name] for name in known}) for record in records]
    return Labels(tuple(known), frozenset(tuple(row[name] for name in known) for row in typed))
