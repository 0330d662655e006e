"""Streams and tables, from keywords or from a dataclass."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypedDict, Unpack, overload

from headwater import model
from headwater.declare.arguments import (
    ColumnSpec,
    Duration,
    Names,
    caller,
    checked,
    located,
    names_of_caller,
    read_columns,
    read_distance,
    read_duration,
    read_names,
    refuse_unknown,
)
from headwater.declare.fields import columns_of_class
from headwater.errors import Origin
from headwater.findings import ClauseRefused, WatermarkRefused


class TopicOptions(TypedDict, total=False):
    """The options of streams and tables. `personal` maps a subject's column to the columns that speak of it."""

    time: str | None
    watermark: Duration | model.WatermarkStrategy | None
    idle: Duration | None
    max_ahead: Duration | None
    personal: Mapping[str, Names]
    intake: model.Intake | None
    version: int
    unknown_fields: str
    comment: str | None


class StreamOptions(TopicOptions, total=False):
    """The options of `stream`."""

    key: Names
    unique: Names
    within: Duration


class TableOptions(TopicOptions, total=False):
    """The options of `table`."""

    primary_key: Names


@overload
def stream(
    what: str | type,
    /,
    *,
    columns: Mapping[str, ColumnSpec] | None = None,
    name: str | None = None,
    **options: Unpack[StreamOptions],
) -> model.Stream: ...
@overload
def stream(*, name: str | None = None, **options: Unpack[StreamOptions]) -> Callable[[type], model.Stream]: ...
def stream(
    what: str | type | None = None,
    /,
    *,
    columns: Mapping[str, ColumnSpec] | None = None,
    name: str | None = None,
    **options: Unpack[StreamOptions],
) -> model.Stream | Callable[[type], model.Stream]:
    """Declare a stream: by name and columns, or from a dataclass, by call or as its decorator.

    `watermark` is a delay, or `Bounded`, `Quantile` or `Punctuated`; without one it is zero. A dataclass gives its name
    in snake case and its docstring as comment, unless they are given.

    >>> print(stream("clicks", columns={"user": str, "at": "TIMESTAMP"}, time="at", watermark="5 seconds").watermark)
    Bounded(delay=datetime.timedelta(seconds=5))
    """
    origin = caller()
    values = _topic_options("stream", dict(options), StreamOptions, origin)

    def declare(target: str | type) -> model.Stream:
        return checked(model.Stream(**values | _shape(target, columns, name, values, origin)), origin)

    return declare if what is None else declare(what)


@overload
def table(
    what: str | type,
    /,
    *,
    columns: Mapping[str, ColumnSpec] | None = None,
    name: str | None = None,
    **options: Unpack[TableOptions],
) -> model.Table: ...
@overload
def table(*, name: str | None = None, **options: Unpack[TableOptions]) -> Callable[[type], model.Table]: ...
def table(
    what: str | type | None = None,
    /,
    *,
    columns: Mapping[str, ColumnSpec] | None = None,
    name: str | None = None,
    **options: Unpack[TableOptions],
) -> model.Table | Callable[[type], model.Table]:
    """Declare a table, like `stream`, with `primary_key` in place of `key` and `unique`.

    >>> table("rates", columns={"currency": str, "rate": float}, primary_key="currency").versioned
    False
    """
    origin = caller()
    values = _topic_options("table", dict(options), TableOptions, origin)
    if not values.get("primary_key"):
        raise ClauseRefused("a table has no primary key", hint="Say primary_key=….", origin=origin)

    def declare(target: str | type) -> model.Table:
        return checked(model.Table(**values | _shape(target, columns, name, values, origin)), origin)

    return declare if what is None else declare(what)


def _topic_options(kind: str, options: dict[str, Any], known: type, origin: Origin) -> dict[str, Any]:
    refuse_unknown(kind, options, known, origin)
    values: dict[str, Any] = {"comment": options.get("comment"), "intake": options.get("intake")}
    values |= {key: options[key] for key in ("version", "unknown_fields") if key in options}
    values |= {key: read_names(options[key]) for key in ("key", "unique", "primary_key") if key in options}
    values |= {key: read_distance(key, options[key], origin) for key in ("idle", "max_ahead") if key in options}
    values |= {key: read_duration(key, options[key], origin) for key in ("within",) if key in options}
    values |= _time(kind, options.get("time"), options.get("watermark"), origin)
    personal = options.get("personal") or {}
    return values | {
        "personal": tuple(model.Personal(read_names(names), subject) for subject, names in personal.items())
    }


def _shape(
    target: str | type,
    columns: Mapping[str, ColumnSpec] | None,
    name: str | None,
    values: dict[str, Any],
    origin: Origin,
) -> dict[str, Any]:
    if isinstance(target, str):
        if columns is None:
            raise ClauseRefused(f'"{target}" is declared without columns', hint="Say columns={…}.", origin=origin)
        return {"name": name or target, "columns": read_columns(columns, origin)}
    with located(origin):
        fields = columns_of_class(target, names_of_caller())
    comment = values["comment"] or (inspect.cleandoc(target.__doc__ or "") if not _is_generated(target) else None)
    return {"name": name or _snake_case(target.__name__), "columns": fields, "comment": comment or None}


def _is_generated(target: type) -> bool:
    """Tells whether the docstring is the signature that `dataclass` writes."""
    return bool(target.__doc__ and target.__doc__.startswith(f"{target.__name__}("))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _time(
    kind: str, time: str | None, watermark: Duration | model.WatermarkStrategy | None, origin: Origin
) -> dict[str, Any]:
    if time is None:
        if watermark is not None:
            hint = "Say time=… with the event-time column."
            raise WatermarkRefused(f"a {kind} has a watermark but no time", hint=hint, origin=origin)
        return {}
    if isinstance(watermark, (timedelta, str)):
        return {"time": time, "watermark": model.Bounded(read_duration("watermark", watermark, origin))}
    return {"time": time, "watermark": watermark or model.Bounded()}
