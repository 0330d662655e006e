"""Spellings of others that stand for a call: PostgreSQL's `x = ANY (…)`, and Flink's `MAP['a', 1]`."""

from __future__ import annotations

from sqlglot import exp

_POSITION = ("line", "col", "start", "end")


def translate(query: exp.Select) -> None:
    """Put what the dialect has in place of them: IN or `array_contains`, and `map`."""
    for comparison in list(query.find_all(exp.EQ)):
        asked = comparison.expression
        if isinstance(asked, exp.Anonymous) and asked.name.upper() == "ANY" and len(asked.expressions) == 1:
            _put(_one_of(comparison.this, asked.expressions[0]), comparison, asked)
    for brackets in list(query.find_all(exp.Bracket)):
        name = brackets.this
        if isinstance(name, exp.Column) and not name.table and name.name.upper() == "MAP" and brackets.expressions[1:]:
            _put(exp.Anonymous(this="map", expressions=brackets.expressions), brackets, name.this)


def _one_of(value: exp.Expr, among: exp.Expr) -> exp.Expr:
    if isinstance(among, exp.Query):
        return exp.In(this=value, query=among if isinstance(among, exp.Subquery) else exp.Subquery(this=among))
    return exp.Anonymous(this="array_contains", expressions=[among, value])


def _put(made: exp.Expr, instead_of: exp.Expr, at: exp.Expr) -> None:
    made.meta.update({key: place for key, place in at.meta.items() if key in _POSITION})
    instead_of.replace(made)
