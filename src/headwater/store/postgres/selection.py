"""Selections as PostgreSQL's SQL: values of its own types, text by its bytes, and NULLs where Spark has them."""

# ruff: noqa: S608  # names are ours, or quoted; values are spelled as texts of their types
from __future__ import annotations

import pyarrow as pa

from headwater.store.postgres.values import codec_of
from headwater.store.postgres.version_tables import VersionTables
from headwater.store.selection import Condition, Order, Selection, is_comparable
from headwater.store.spelling import comma, literal, quoted

_TESTS = {"null": "IS NULL", "not null": "IS NOT NULL"}


def can(kind: pa.DataType, part: Condition | Order) -> bool:
    """Tells whether PostgreSQL does this part of a selection as Spark would."""
    if isinstance(part, Condition):
        if part.operator in _TESTS:
            return True
        if pa.types.is_string(kind) and any("\0" in (text or "") for text in part.values.to_pylist()):
            return False
    return is_comparable(kind)


def select(tables: VersionTables, selection: Selection) -> str:
    """The SELECT."""
    kinds = {column.name: column.type for column in tables.target.columns}
    needed = {column.name for column in tables.target.columns if not column.nullable}
    names = [quoted(column.name) for column in selection.of(tables.target.columns)]
    conditions = [_condition(condition) for condition in selection.conditions]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    order = comma(_order(part, kinds[part.column], part.column in needed) for part in selection.order)
    text = f"SELECT {comma(names)} FROM {tables.table}{where}{f' ORDER BY {order}' if order else ''}"
    if selection.limit is not None:
        text += f" LIMIT {selection.limit}"
    return f"{text} OFFSET {selection.offset}" if selection.offset else text


def _order(part: Order, kind: pa.DataType, needed: bool) -> str:
    nulls = "" if needed else " NULLS LAST" if part.descends else " NULLS FIRST"
    return f"{_bytewise(quoted(part.column), kind)}{' DESC' if part.descends else ''}{nulls}"


def _bytewise(name: str, kind: pa.DataType) -> str:
    return f'{name} COLLATE "C"' if pa.types.is_string(kind) else name


def _condition(condition: Condition) -> str:
    name, kind = quoted(condition.column), condition.values.type
    if condition.operator in _TESTS:
        return f"{name} {_TESTS[condition.operator]}"
    codec = codec_of(kind)
    texts = codec.encode(condition.values).cast(pa.string()).to_pylist()
    values = ["NULL" if text is None else f"{literal(text)}::{codec.declared}" for text in texts]
    if condition.operator == "in":
        return f"{name} IN ({comma(values)})" if values else "FALSE"
    if condition.operator in ("=", "<>"):
        return f"{name} {condition.operator} {values[0]}"
    return f"{_bytewise(name, kind)} {condition.operator} {values[0]}"
