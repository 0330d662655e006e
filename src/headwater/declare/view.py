"""Views, from SQL or from a function on DataFrames."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, TypedDict, Unpack, overload

from headwater import model, sql
from headwater.declare.arguments import (
    ColumnSpec,
    Duration,
    Names,
    caller,
    checked,
    read_columns,
    read_duration,
    read_names,
    refuse_unknown,
)
from headwater.declare.definition import definition, parameters
from headwater.errors import Origin
from headwater.findings import ClauseRefused, OptionRefused


class ViewOptions(TypedDict, total=False):
    """The options of `view`."""

    grace: Duration
    late: model.LatePolicy
    emit: Literal["changes", "final"] | model.Emit | None
    every: Duration | None
    store: str | None
    key: Names
    horizon: Duration | None
    retention: Duration | None
    execution: model.ViewExecution | None
    layout: model.Layout | None
    score: str | None
    group: Names
    ttl: Duration | None
    index: Sequence[Names]
    time: str | None
    gap: Duration | None
    materialized: bool
    comment: str | None


@overload
def view(name: str, /, *, query: str, **options: Unpack[ViewOptions]) -> model.View: ...
@overload
def view(
    name: str | None = None, /, *, columns: Mapping[str, ColumnSpec], **options: Unpack[ViewOptions]
) -> Callable[[Callable[..., Any]], model.View]: ...
def view(
    name: str | None = None,
    /,
    *,
    query: str | None = None,
    columns: Mapping[str, ColumnSpec] | None = None,
    **options: Unpack[ViewOptions],
) -> model.View | Callable[[Callable[..., Any]], model.View]:
    """Declare a view: with `query` an SQL text, with `columns` a function that takes and returns DataFrames.

    The parameters of the function are the names of what it reads; `columns` is what it returns, and `time` names the
    one that says when a row is final. `gap` is the longest gap of the sessions that it makes, '0 seconds' if it makes
    none: without it other views get its rows a horizon later. Its docstring is the view's comment, unless one is given.

    >>> view("big", query="select * from orders where amount > 100", materialized=False).query.sql
    'SELECT * FROM orders WHERE amount > 100'
    """
    origin = caller()
    time, gap = options.pop("time", None), options.pop("gap", None)
    values = _view_options(dict(options), origin)
    if query is not None and (time is not None or gap is not None):
        what = "time" if time is not None else "gap"
        raise OptionRefused(f"a view in SQL has no option {what}", hint="Its query says what it is.", origin=origin)
    longest = None if gap is None else read_duration("gap", gap, origin)
    if query is not None and name is not None and columns is None:
        return checked(model.View(name=name, query=_sql_query(query, origin), **values), origin)
    if query is not None or columns is None:
        hint = "Write view(name, query=…), or @view(columns={…}) above a function."
        raise ClauseRefused("a view is a query or a function with columns", hint=hint, origin=origin)
    returned = read_columns(columns, origin)
    odd = [column.name for column in returned if column.default is not None or column.aliases]
    if odd:
        what = f'view() gives column "{odd[0]}" a DEFAULT or an ALIAS'
        raise ClauseRefused(what, hint="Only columns of streams and tables have them.", origin=origin)

    def declare(made: Callable[..., Any]) -> model.View:
        return _python_view(name, made, returned, time, longest, values, origin)

    return declare


def _sql_query(query: str, origin: Origin) -> model.SqlQuery:
    written = model.SqlQuery("", query, _origin_of(query, origin))
    return replace(written, sql=sql.spell(sql.parse_query(written)))


def _origin_of(query: str, origin: Origin) -> Origin:
    """The origin of a query's text in the file that holds the call; the call itself if it isn't there as it is."""
    lines = linecache.getlines(origin.file)
    text = "".join(lines)
    at = text.find(query, len("".join(lines[: origin.line - 1])))
    if at < 0:
        return origin
    return Origin(origin.file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _view_options(options: dict[str, Any], origin: Origin) -> dict[str, Any]:
    refuse_unknown("view", options, ViewOptions, origin)
    values: dict[str, Any] = {
        key: options[key] for key in ("late", "store", "materialized", "comment", "execution") if key in options
    }
    for key in ("grace", "every", "horizon", "retention"):
        if options.get(key) is not None:
            is_forever = key == "retention" and options[key] == "forever"
            values[key] = model.FOREVER if is_forever else read_duration(key, options[key], origin)
    if options.get("emit") is not None:
        values["emit"] = _emit(options["emit"], origin)
    if "key" in options:
        values["key"] = read_names(options["key"])
    if values.get("late", "keep") not in ("keep", "drop"):
        raise OptionRefused(f"late is {values['late']!r}", hint="It is 'keep' or 'drop'.", origin=origin)
    if values.get("execution") not in (None, "live", "settle", "batch"):
        hint = "It is 'live', 'settle' or 'batch'."
        raise OptionRefused(f"execution is {values['execution']!r}", hint=hint, origin=origin)
    return values | {"serving": _serving(options, origin)}


def _serving(options: dict[str, Any], origin: Origin) -> model.Serving:
    layout, ttl = options.get("layout"), options.get("ttl")
    if layout not in (None, *model.LAYOUTS):
        hint = f"It is one of {', '.join(model.LAYOUTS)}."
        raise OptionRefused(f"layout is {layout!r}", hint=hint, origin=origin)
    return model.Serving(
        layout=layout,
        score=options.get("score"),
        group=read_names(options.get("group", ())),
        ttl=None if ttl is None else read_duration("ttl", ttl, origin),
        indexes=tuple(read_names(columns) for columns in options.get("index", ())),
    )


def _emit(emit: str | model.Emit, origin: Origin) -> model.Emit:
    try:
        return model.Emit(emit)
    except ValueError:
        raise OptionRefused(f"emit is {emit!r}", hint="It is 'changes' or 'final'.", origin=origin) from None


def _python_view(
    name: str | None,
    made: Callable[..., Any],
    columns: tuple[model.Column, ...],
    time: str | None,
    gap: timedelta | None,
    values: dict[str, Any],
    origin: Origin,
) -> model.View:
    source, def_origin = definition("view", made, origin)
    query = model.PythonQuery(
        module=made.__module__,
        qualified_name=made.__qualname__,
        source=source,
        inputs=_inputs(made, def_origin),
        columns=columns,
        function=made,
        time=time,
        gap=gap,
    )
    return model.View(
        name=name or made.__name__, query=query, **{"comment": inspect.getdoc(made), "origin": def_origin} | values
    )


def _inputs(made: Callable[..., Any], origin: Origin) -> tuple[str, ...]:
    names = parameters(made)
    if names is None:
        hint = "Name each stream, table or view that it reads as one parameter."
        raise ClauseRefused(f'view "{made.__name__}" doesn\'t say what it reads', hint=hint, origin=origin)
    return names
