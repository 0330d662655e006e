"""Rows that a query makes itself, for each row before them: the constants of VALUES, and elements with their number.

Both are structs in an array, whose fields are columns: `(VALUES ('a', 1)) AS v(k, n) ON o.k = v.k` is
`INLINE(FILTER(ARRAY(NAMED_STRUCT('k', 'a', 'n', 1)), v -> o.k = v.k))`, so that a join with constants keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import cast

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.findings import QueryRefused
from headwater.plan.context import Context
from headwater.plan.item import unique_name
from headwater.plan.positions import columns_of, locate
from headwater.plan.scope import Scope

_ELEMENT, _INDEX = "element", "index"
ORDINALITY = "ordinality"
"""The name of the number of an element of UNNEST … WITH ORDINALITY, unless it is given another."""


def of_values(context: Context, node: exp.Join, scope: Scope) -> exp.Lateral | None:
    """The LATERAL item that a join with VALUES is; None where it was refused."""
    values = node.this
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    alias = values.args.get("alias")
    names = [column.name for column in alias.columns] if alias else []
    names = names or [f"col{number}" for number in range(1, len(rows[0]) + 1)]
    if (refused := _refused(node, rows, names)) is not None:
        what, hint = refused
        context.refuse(QueryRefused, what, values, hint=hint)
        return None
    structs = [_struct(names, row) for row in rows]
    array: exp.Expr = exp.Array(expressions=structs)
    condition = node.args.get("on")
    if condition is not None:
        row = unique_name("row", [field.name for field in scope.stage.columns])
        fits = _of_element(condition, values.alias.lower(), row, {name.lower() for name in names}, scope)
        array = exp.ArrayFilter(this=array, expression=_lambda([row], fits))
    made = exp.Lateral(this=locate(exp.Inline(this=array), values), alias=_alias(values.alias, names))
    made.set("outer", node.side.upper() == "LEFT")
    return made


def _refused(node: exp.Join, rows: Sequence[Sequence[exp.Expr]], names: Sequence[str]) -> tuple[str, str] | None:
    """The fault of a join with VALUES, and what to do; None if it has none."""
    if any(len(row) != len(names) for row in rows):
        return "reads VALUES of rows that have not as many values as columns", f"Write {len(names)} values in each row."
    if node.args.get("using"):
        return "joins VALUES with USING", "Write ON, with the columns of both sides."
    if node.method or node.side.upper() not in ("", "LEFT") or node.kind.upper() not in ("", "INNER", "CROSS", "OUTER"):
        return "joins VALUES from the other side", "Write JOIN, LEFT JOIN or CROSS JOIN."
    return None


def _of_element(condition: exp.Expr, alias: str, row: str, names: Set[str], scope: Scope) -> exp.Expr:
    """A condition whose columns of VALUES are fields of a row, which is called like no column before it."""
    root = exp.Paren(this=condition.copy())
    for column in columns_of(root):
        is_own = column.table.lower() == alias if column.table else not scope.find(column.name, None)
        if is_own and column.name.lower() in names:
            column.set("table", exp.to_identifier(row))
    return cast(exp.Expr, root.this)


def with_ordinality(array: exp.Expr, kind: pa.DataType, alias: exp.TableAlias | None, number: str) -> exp.Lateral:
    """The LATERAL item that gives the elements of an array and their numbers, from 1."""
    is_of_structs = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    fields = [field.name for field in kind.value_type] if is_of_structs else []
    names = [column.name for column in alias.columns] if alias else []
    names = names or fields or ["col"]
    element = exp.column(_ELEMENT)
    values: list[exp.Expr] = [
        exp.Dot(this=element.copy(), expression=exp.to_identifier(name, quoted=True)) for name in fields
    ]
    index = sql.cast(exp.Add(this=exp.column(_INDEX), expression=exp.Literal.number(1)), pa.int64())
    struct = _struct([*names, number], [*(values or [element]), index])
    numbered = exp.Transform(this=array.copy(), expression=_lambda([_ELEMENT, _INDEX], struct))
    return exp.Lateral(this=exp.Inline(this=numbered), alias=_alias(alias.name if alias else "", [*names, number]))


def _struct(names: Sequence[str], values: Sequence[exp.Expr]) -> exp.Expr:
    pairs = [
        part for name, value in zip(names, values, strict=True) for part in (exp.Literal.string(name), value.copy())
    ]
    return exp.Anonymous(this="NAMED_STRUCT", expressions=pairs)


def _lambda(parameters: Sequence[str], body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in parameters])


def _alias(name: str, columns: Sequence[str]) -> exp.TableAlias:
    quoted = [exp.to_identifier(column, quoted=True) for column in columns]
    return exp.TableAlias(this=exp.to_identifier(name) if name else None, columns=quoted)
