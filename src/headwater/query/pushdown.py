"""Pushdown: the columns and rows of a view that a statement needs, which the store chooses; the rest is never read.

The statement is answered as a whole all the same; what is left out here can't change its answer. A statement that asks
for columns of one view alone, by conditions that the store knows, is a selection as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import cast

import pyarrow as pa
from sqlglot import exp

from headwater.query.constant import values_of
from headwater.query.statement import Statement
from headwater.store import Condition, Order, Selection
from headwater.store.selection import Comparison

_OPERATORS: Mapping[type[exp.Expr], Comparison] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED: Mapping[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_DIRECT_PARTS = ("expressions", "from_", "where", "order", "limit", "offset")
Can = Callable[[Condition | Order], bool]
Schemas = Mapping[str, pa.Schema]


def needed(statement: Statement, view: str, schemas: Schemas, now: datetime, can: Can) -> Selection:
    """The part of a view that a statement needs at most."""
    tables = [table for table in statement.tables() if table.name.lower() == view]
    columns = _needed_columns(statement.tree, schemas[view])
    if len(tables) != 1:
        return Selection(columns)
    conditions = _conditions(tables[0], schemas, now)
    return Selection(columns, tuple(condition for condition in conditions if can(condition)))


def _needed_columns(tree: exp.Expr, schema: pa.Schema) -> tuple[str, ...] | None:
    """The columns whose name stands anywhere in the statement; all, where it has a star or joins what has one name."""
    starred = any(not isinstance(star.parent, exp.Anonymous) for star in tree.find_all(exp.Star))
    if starred or any(join.text("method") for join in tree.find_all(exp.Join)):
        return None
    names = {part.name.lower() for part in tree.find_all(exp.Identifier)}
    named = tuple(column for column in schema.names if column.lower() in names)
    return named or (_smallest(schema),)


def _smallest(schema: pa.Schema) -> str:
    """A column that is quickly read, where rows are only counted."""
    small = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)]
    return str((small or schema.names)[0])


def _conditions(table: exp.Table, schemas: Schemas, now: datetime) -> Iterator[Condition]:
    """The conditions that every row must meet which the table adds to the rows of its SELECT."""
    select = table.find_ancestor(exp.Select)
    if select is None or not _is_kept(table, select):
        return
    where = select.args.get("where")
    sources = _sources(select)
    for term in _terms(where.this) if where is not None else ():
        yield from _condition(term, table, sources, schemas, now)


def _is_kept(table: exp.Table, select: exp.Select) -> bool:
    """Tells whether WHERE decides about the table's rows: no join makes rows for which it has none."""
    joins = select.args.get("joins") or []
    if any(join.text("side").upper() in ("RIGHT", "FULL") for join in joins):
        return False
    if isinstance(table.parent, exp.From) and table.parent.parent is select:
        return True
    return any(
        join.this is table and not join.text("side") and join.text("kind").upper() not in ("SEMI", "ANTI")
        for join in joins
    )


def _sources(select: exp.Select) -> list[exp.Expr]:
    start = select.args.get("from_")
    return [*([start.this] if start is not None else []), *(join.this for join in select.args.get("joins") or ())]


def _terms(node: exp.Expr) -> Iterator[exp.Expr]:
    plain = node.unnest()
    if isinstance(plain, exp.And):
        yield from _terms(plain.this)
        yield from _terms(plain.expression)
    else:
        yield plain


def _condition(
    term: exp.Expr, table: exp.Table, sources: list[exp.Expr], schemas: Schemas, now: datetime
) -> Iterator[Condition]:
    def field_of(node: exp.Expr) -> pa.Field | None:
        return _field(node.unnest(), table, sources, schemas)

    def compared(node: exp.Expr, operator: Comparison, *values: exp.Expr) -> Iterator[Condition]:
        field = field_of(node)
        array = None if field is None else values_of([value.unnest() for value in values], field.type, now)
        if field is not None and array is not None:
            yield Condition(field.name, operator, array)

    if type(term) in _OPERATORS:
        operator = _OPERATORS[type(term)]
        sides = cast(exp.Binary, term)
        yield from compared(sides.this, operator, sides.expression)
        yield from compared(sides.expression, _TURNED[operator], sides.this)
    elif isinstance(term, exp.Between) and not term.args.get("symmetric"):
        yield from compared(term.this, ">=", term.args["low"])
        yield from compared(term.this, "<=", term.args["high"])
    elif isinstance(term, exp.In) and term.expressions and not term.args.get("query"):
        yield from compared(term.this, "in", *term.expressions)
    else:
        yield from _test(term, field_of)


def _test(term: exp.Expr, field_of: Callable[[exp.Expr], pa.Field | None]) -> Iterator[Condition]:
    negated = isinstance(term, exp.Not)
    inner = term.this.unnest() if negated else term
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        field = field_of(inner.this)
        if field is not None:
            yield Condition(field.name, "not null" if negated else "null")


def _field(node: exp.Expr, table: exp.Table, sources: list[exp.Expr], schemas: Schemas) -> pa.Field | None:
    """The column of the table that a node names; None if it names something else, or might."""
    if not isinstance(node, exp.Column) or len(node.parts) > 2 or isinstance(node.this, exp.Star):
        return None
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        return None
    known = {field.name.lower(): field for field in schemas[table.name.lower()]}
    if len(node.parts) == 2:
        names = [source.alias_or_name.lower() for source in sources]
        owner = node.table.lower()
        return (
            known.get(node.name.lower()) if owner == table.alias_or_name.lower() and names.count(owner) == 1 else None
        )
    others = [source for source in sources if source is not table]
    if any(not isinstance(other, exp.Table) or not other.meta.get("view") for other in others):
        return None
    taken = {name.lower() for other in others for name in schemas[other.name.lower()].names}
    return None if node.name.lower() in taken else known.get(node.name.lower())


def direct(statement: Statement, schemas: Schemas, now: datetime, can: Can) -> tuple[Selection, list[str]] | None:
    """The selection that a statement is, and the columns that it shows in their order; None if it is more."""
    tree = statement.tree
    if not isinstance(tree, exp.Select) or len(schemas) != 1 or len(statement.tables()) != 1:
        return None
    if any(value not in (None, False, []) and part not in _DIRECT_PARTS for part, value in tree.args.items()):
        return None
    (table,) = statement.tables()
    if table.parent is not tree.args.get("from_") or any(
        value not in (None, False, []) and part not in ("this", "alias") for part, value in table.args.items()
    ):
        return None
    shown = _shown(tree, table, schemas)
    order = _orders(tree, table, schemas)
    where = tree.args.get("where")
    terms = list(_terms(where.this)) if where is not None else []
    known = [[*_condition(term, table, [table], schemas, now)] for term in terms]
    if shown is None or order is None or not all(known):
        return None
    conditions = tuple(condition for part in known for condition in part)
    if len(conditions) != sum(2 if isinstance(term, exp.Between) else 1 for term in terms):
        return None
    limit, offset = _count(tree, "limit"), _count(tree, "offset")
    if -1 in (limit, offset) or not all(map(can, conditions)) or not all(map(can, order)):
        return None
    return Selection(tuple(dict.fromkeys(shown)), conditions, tuple(order), limit, offset or 0), shown


def _count(tree: exp.Select, part: str) -> int | None:
    """The number of LIMIT or OFFSET; None if there is no such clause, −1 if it is more than a number."""
    clause = tree.args.get(part)
    if clause is None:
        return None
    text = clause.expression.name if isinstance(clause.expression, exp.Literal) else ""
    others = [value for name, value in clause.args.items() if name != "expression" and value not in (None, False, [])]
    return int(text) if text.isdigit() and not others else -1


def _shown(tree: exp.Select, table: exp.Table, schemas: Schemas) -> list[str] | None:
    """The columns of the view that are selected as they are."""
    schema, shown = schemas[table.name.lower()], list[str]()
    for part in tree.expressions:
        if isinstance(part, exp.Star) and not any(part.args.values()):
            shown += schema.names
            continue
        field = _field(part.this if isinstance(part, exp.Alias) else part, table, [table], schemas)
        if field is None:
            return None
        shown.append(field.name)
    return shown


def _orders(tree: exp.Select, table: exp.Table, schemas: Schemas) -> list[Order] | None:
    order, orders = tree.args.get("order"), list[Order]()
    renamed = {part.alias.lower() for part in tree.expressions if isinstance(part, exp.Alias)}
    for term in order.expressions if order is not None else ():
        field = _field(term.this, table, [table], schemas)
        descends = bool(term.args.get("desc"))
        if field is None or bool(term.args.get("nulls_first")) == descends or term.this.name.lower() in renamed:
            return None
        orders.append(Order(field.name, descends))
    return orders
