"""PIVOT and UNPIVOT: values become columns, and columns become rows.

`PIVOT (sum(amount) FOR shop IN ('a', 'b'))` groups by every column that it doesn't name, and makes one column per
value: an aggregate with a FILTER. As in Spark, a column is NULL where no row has its value.
`UNPIVOT (amount FOR shop IN (a, b))` makes one row per column, those that are NULL left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from headwater.findings import NotSupportedYet
from headwater.plan.calls import call_of, is_aggregate
from headwater.plan.context import Context, Relation
from headwater.plan.positions import columns_of, locate

Lower = Callable[[Context, exp.Query], Relation]
_INPUT = "__pivot"
_NULL_OF_NOTHING = {"sum", "avg", "mean", "min", "max", "min_by", "max_by", "first", "last", "any_value", "median"}
_NULL_OF_NOTHING |= {"first_value", "last_value", "bool_and", "bool_or", "every", "some", "any", "stddev", "variance"}


def pivoted(context: Context, pivot: exp.Pivot, name: str, relation: Relation, lower: Lower) -> Relation:
    """The relation of an item of FROM with a PIVOT or an UNPIVOT behind it."""
    if not relation.complete:
        return relation
    if len(pivot.args.get("fields") or ()) != 1 or not all(_lists_values(field) for field in pivot.args["fields"]):
        hint = "Write FOR column IN ('a', 'b'), with the values."
        context.refuse(NotSupportedYet, "uses a PIVOT without a list of values", pivot, hint=hint)
        return Relation(relation.stage, complete=False)
    known = [field.name for field in relation.stage.visible]
    select = _unpivoted(context, pivot, known) if pivot.args.get("unpivot") else _pivoted(pivot, known)
    source = exp.Table(this=exp.to_identifier(_INPUT), alias=exp.TableAlias(this=exp.to_identifier(name or _INPUT)))
    select.set("from_", exp.From(this=source))
    return lower(context.with_cte(_INPUT, relation), locate(select, pivot))  # type: ignore[arg-type]


def _lists_values(field: exp.Expr) -> bool:
    return isinstance(field, exp.In) and not any(isinstance(value, exp.PivotAny) for value in field.expressions)


def _pivoted(pivot: exp.Pivot, known: list[str]) -> exp.Select:
    field = pivot.args["fields"][0]
    calls = [item.this if isinstance(item, exp.Alias) else item for item in pivot.expressions]
    named = {column.name.lower() for node in [*calls, field.this] for column in columns_of(node)}
    rest: list[exp.Expr] = [exp.column(exp.to_identifier(name)) for name in known if name.lower() not in named]
    names = iter(pivot.args["columns"])
    shown: list[exp.Expr] = [
        exp.alias_(_of_value(call, condition), next(names).copy()) for condition in _conditions(field) for call in calls
    ]
    group = exp.Group(expressions=[node.copy() for node in rest])
    return exp.Select(expressions=[*rest, *shown], group=group)


def _conditions(field: exp.In) -> Iterator[exp.Expr]:
    """For each value, the condition of rows that have it."""
    columns = field.this.expressions if isinstance(field.this, exp.Tuple) else [field.this]
    for item in field.expressions:
        value = item.this if isinstance(item, exp.PivotAlias) else item
        values = value.expressions if isinstance(value, exp.Tuple) else [value]
        pairs = zip(columns, values, strict=True)
        equal = [exp.NullSafeEQ(this=column.copy(), expression=wanted.copy()) for column, wanted in pairs]
        yield exp.and_(*equal) if len(equal) > 1 else equal[0]


def _of_value(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The aggregates of a call over the rows that fulfil a condition, NULL if there is none."""
    root = exp.Paren(this=call.copy())
    aggregates = [node for node in root.walk(prune=is_aggregate) if is_aggregate(node)]
    known = {info.info.name for node in aggregates if (info := call_of(node)) is not None}
    for node in aggregates:
        inner, own = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
        both = exp.and_(own.copy(), condition.copy()) if own is not None else condition.copy()
        node.replace(locate(exp.Filter(this=inner.copy(), expression=exp.Where(this=both)), node))
    if known <= _NULL_OF_NOTHING:
        return locate(root.this, call)
    rows = exp.Filter(this=exp.Count(this=exp.Star(), big_int=True), expression=exp.Where(this=condition.copy()))
    some = exp.GT(this=rows, expression=exp.Literal.number(0))
    return locate(exp.Case(ifs=[exp.If(this=some, true=root.this)]), call)


def _unpivoted(context: Context, pivot: exp.Pivot, known: list[str]) -> exp.Select:
    field, value = pivot.args["fields"][0], pivot.expressions[0]
    if len(pivot.expressions) != 1 or isinstance(value, exp.Tuple):
        context.refuse(NotSupportedYet, "unpivots several columns at once", pivot, hint="Unpivot one column at a time.")
    pairs = []
    for item in field.expressions:
        column = item.this if isinstance(item, exp.PivotAlias) else item
        pairs.append((column.name, item.alias if isinstance(item, exp.PivotAlias) else column.name))
    taken = {column.lower() for column, _ in pairs}
    label, shown = field.this.name, value.name
    rows = [_struct({label: exp.Literal.string(text), shown: exp.column(column)}) for column, text in pairs]
    names = exp.TableAlias(this=exp.to_identifier("t"), columns=[exp.to_identifier(label), exp.to_identifier(shown)])
    generated = exp.Lateral(this=exp.Inline(this=exp.Array(expressions=rows)), view=True, outer=False, alias=names)
    columns = [*(name for name in known if name.lower() not in taken), label, shown]
    select = exp.Select(expressions=[exp.column(name) for name in columns], laterals=[generated])
    if not pivot.args.get("include_nulls"):
        is_null = exp.Is(this=exp.column(shown), expression=exp.Null())
        select.set("where", exp.Where(this=exp.Not(this=is_null)))
    return select


def _struct(values: dict[str, exp.Expr]) -> exp.Struct:
    pairs = [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in values.items()]
    return exp.Struct(expressions=pairs)
