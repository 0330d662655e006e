"""Columns that no input has: what their author probably meant."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
from sqlglot import exp

from headwater.findings import UnknownColumn
from headwater.operators import Role, Stage
from headwater.plan.context import Context
from headwater.plan.scope import Scope
from headwater.sql import WINDOW_COLUMNS
from headwater.sql.refusal import did_you_mean

_TIMES = ("rowtime", "row_time", "event_time", "eventtime", "proctime", "timestamp", "_timestamp", "ts", "time")
"""The names of other systems for the time of a row."""
_WINDOWS = (*WINDOW_COLUMNS, "windowstart", "windowend", "window")


def refuse_unknown_column(context: Context, column: exp.Expr, parts: Sequence[str], scopes: Collection[Scope]) -> None:
    """Report that no input has a column, with the one that was probably meant."""
    known = list(dict.fromkeys(name for scope in scopes for name in scope.names()))
    sources = {source.name.lower() for scope in scopes for source in scope.sources if source.name}
    unnamed = len(parts) > 1 and parts[0].lower() not in sources
    what = f'reads "{".".join(parts)}", but no input is named "{parts[0]}"'
    context.refuse(
        UnknownColumn,
        what if unnamed and sources else f'reads an unknown column "{".".join(parts)}"',
        column,
        detail=f"Its inputs have the columns {', '.join(known)}." if known else None,
        hint=_hint(context, column, parts, scopes, known),
        column_name=parts[-1],
    )


def _hint(
    context: Context, column: exp.Expr, parts: Sequence[str], scopes: Collection[Scope], known: Sequence[str]
) -> str:
    name = parts[-1]
    owners = [source.name for scope in scopes for source in scope.sources if name.lower() in source.columns]
    if len(parts) > 1 and owners:
        return f"Write {' or '.join(f'{owner}.{name}' if owner else name for owner in owners)}."
    near = did_you_mean(name, known)
    return (
        near
        or _hint_of_time(name, [scope.stage for scope in scopes])
        or _hint_of_window(context, name, scopes)
        or _hint_of_field(name, scopes)
        or _hint_of_hyphen(column)
        or _hint_of_input(name, scopes)
        or f'Name one of these, or add "{name}" to what it reads.'
    )


def _hint_of_time(name: str, stages: Sequence[Stage]) -> str | None:
    times = (field.name for stage in stages for field in stage.visible if field.role is Role.EVENT_TIME)
    time = next(times, None)
    return f"Write {time}: it is the event time." if name.lower() in _TIMES and time is not None else None


def _hint_of_window(context: Context, name: str, scopes: Collection[Scope]) -> str | None:
    if name.lower() not in _WINDOWS:
        return None
    time = next(
        (field.name for scope in scopes for field in scope.stage.visible if field.role is Role.EVENT_TIME), "at"
    )
    source = context.first_source()
    return f"Make windows in FROM: FROM TUMBLE(TABLE {source}, DESCRIPTOR({time}), INTERVAL '1' MINUTE)."


def _hint_of_field(name: str, scopes: Collection[Scope]) -> str | None:
    """A struct that has a field of the name."""
    fields = (field for scope in scopes for field in scope.stage.visible if pa.types.is_struct(field.type))
    owner = next((field.name for field in fields if name.lower() in {part.name.lower() for part in field.type}), None)
    return f"Write {owner}.{name}." if owner is not None else None


def _hint_of_hyphen(column: exp.Expr) -> str | None:
    """`order-id`, which is read as a difference."""
    parent = column.parent
    if not isinstance(parent, exp.Sub) or not all(isinstance(side, exp.Column) for side in parent.iter_expressions()):
        return None
    return f"A name with a hyphen in it is written in backquotes: `{parent.this.name}-{parent.expression.name}`."


def _hint_of_input(name: str, scopes: Collection[Scope]) -> str | None:
    sources = [source for scope in scopes for source in scope.sources]
    source = next((source for source in sources if source.name.lower() == name.lower()), None)
    return f"{name} is what is read: write a column of it, like {name}.{source.visible[0]}." if source else None
