"""Deletes: the changes of a table that take rows away, from the keys of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused
from headwater.intake.convert import convert
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.rows import as_table
from headwater.model import Table, Topic, spell_type


def deletes_of(topic: Topic, keys: Any, at: datetime | None) -> Any:
    """The changes that delete keys of a table: values of its one key column, or rows that have all of them.

    A row may tell its event time; to all others it is `at`.

    >>> from headwater.model import Column
    >>> rates = Table(name="rates", columns=(Column("code", pa.string()),), primary_key=("code",))
    >>> deletes_of(rates, ["EUR", {"code": "USD"}], None)
    [{'_op': 'delete', 'code': 'EUR'}, {'_op': 'delete', 'code': 'USD'}]
    """
    if not isinstance(topic, Table):
        raise ArgumentRefused(
            f'stream "{topic.name}" has nothing to delete',
            detail="Its events are facts; only the rows of a table can be gone.",
            hint="Append an event that says what has changed, or declare CREATE TABLE … PRIMARY KEY (…).",
        )
    told = {OPERATION: DELETE} | ({} if topic.time is None or at is None else {topic.time: at})
    table = None if isinstance(keys, str | bytes | Mapping) else as_table(keys)
    if table is not None:
        _check_time(topic, {*table.column_names, *told})
        return _table(topic, table, told)
    listed = [keys] if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable) else list(keys)
    rows = [told | _row(topic, key) for key in listed]
    for row in rows:
        _check_time(topic, row)
    return rows


def read_keys(topic: Topic, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Keys of a table as a command names them: the values of its one key column, or one key as column=value.

    >>> from headwater.model import Column
    >>> prices = (Column("product", pa.string()), Column("year", pa.int32()))
    >>> read_keys(Table(name="prices", columns=prices, primary_key=("product", "year")), ["product=tea", "year=2026"])
    [{'product': 'tea', 'year': 2026}]
    """
    names = topic.primary_key if isinstance(topic, Table) else ()
    if len(names) < 2:
        return [{name: _value(topic, name, text) for name in names} for text in texts]
    told = dict(text.partition("=")[::2] for text in texts)
    if set(told) != set(names):
        shown = " ".join(f"{name}=…" for name in names)
        raise ArgumentRefused(f'"{" ".join(texts)}" is no key of table "{topic.name}"', hint=f"Name one key: {shown}.")
    return [{name: _value(topic, name, told[name]) for name in names}]


def _value(topic: Topic, name: str, text: str) -> Any:
    """A value of a column from its text."""
    kind = next(column.type for column in topic.columns if column.name == name)
    read = convert(pa.array([text]), kind, text=True)
    if read.values.null_count:
        raise ArgumentRefused(f'"{text}" is no value of column "{name}"', hint=f"The column is {spell_type(kind)}.")
    return read.values[0].as_py()


def _table(topic: Table, keys: pa.Table, told: Mapping[str, Any]) -> pa.Table:
    rows = keys.select([name for name in (*topic.primary_key, topic.time) if name in keys.column_names])
    for name, value in told.items():
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.repeat(pa.scalar(value), rows.num_rows))
    return rows


def _row(topic: Table, key: Any) -> dict[str, Any]:
    if isinstance(key, Mapping):
        return {name: value for name, value in key.items() if name in (*topic.primary_key, topic.time)}
    if len(topic.primary_key) > 1:
        raise ArgumentRefused(
            f'table "{topic.name}" has keys of {len(topic.primary_key)} columns',
            hint=f"Give each key as a row with {', '.join(topic.primary_key)}.",
        )
    return {topic.primary_key[0]: key}


def _check_time(topic: Table, names: Iterable[str]) -> None:
    if topic.time is not None and topic.time not in names:
        raise ArgumentRefused(
            f'table "{topic.name}" is not told when its rows were deleted',
            detail=f'Its changes have an event time, "{topic.time}", and deletes are changes. Nothing was appended.',
            hint="Say when it happened: at=… in Python, --at in the command, ?at= over HTTP.",
        )
