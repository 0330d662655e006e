"""Windows that are written as groups, as old Flink and Spark have them: translated to window table functions.

`GROUP BY k, TUMBLE(at, INTERVAL '1' MINUTE)` is read as `FROM TUMBLE(TABLE …, DESCRIPTOR(at), INTERVAL '1' MINUTE) …
GROUP BY k, window_start, window_end`, and what names a bound of it as the column that has it. A query in which
something can't be told is left as it is, and refused where it is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from headwater.sql.interval import interval, interval_node
from headwater.sql.nodes import WindowFunction
from headwater.sql.translation import note

_BOUNDS = {
    "START": "window_start",
    "END": "window_end",
    "ROWTIME": "window_time",
}
_OF_FLINK = {"TUMBLE": (1, 2), "HOP": (2, 3), "SESSION": (1,)}
"""The numbers of lengths that a window of Flink's takes, an offset among them."""
_OF_SPARK = {"WINDOW": (1, 2, 3), "SESSION_WINDOW": (1,)}


@dataclass(frozen=True)
class _GroupWindow:
    """A window that is called as a function: its kind, the name of its column of time, and its lengths in our order."""

    kind: str
    time: str
    lengths: tuple[timedelta, ...]


def translate(query: exp.Select) -> None:
    """Let a query whose groups are windows read a window table function, if it can be told which."""
    group, source = query.args.get("group"), query.args.get("from_")
    if group is None or source is None or any(query.args.get(part) for part in ("joins", "laterals")):
        return
    calls = [(call, window) for call in group.expressions if (window := _window(call)) is not None]
    if len(calls) != 1 or not _is_plain(source.this):
        return
    (call, window) = calls[0]
    keys = [key for key in group.expressions if key is not call]
    bounds = dict(_bounds(query, window, call))
    if None in bounds.values() or (window.kind == "SESSION" and not all(isinstance(key, exp.Column) for key in keys)):
        return
    for node, bound in bounds.items():
        assert bound is not None
        node.replace(_shown(node, bound))
    source.set("this", _read(source.this, call, window, keys))
    times = ("window_time",) if "window_time" in bounds.values() else ()
    ends = [_column(name, call) for name in ("window_start", "window_end", *times)]
    group.set("expressions", [end for key in group.expressions for end in (ends if key is call else [key])])
    spelling = f"{call.name}(…) as a group, as {'Spark' if _is_of_spark(call) else 'old Flink'} has it"
    note(query, spelling, "It is read as a window table function, whose bounds are columns.", call)


def _is_of_spark(call: exp.Expr) -> bool:
    return call.name.upper() in _OF_SPARK


def _window(call: exp.Expr | None, name: str = "") -> _GroupWindow | None:
    """The window that a call is, or would be by another name; None if it isn't one, or one that can't be told."""
    if not isinstance(call, exp.Anonymous) or not call.expressions:
        return None
    name, (time, *rest) = (name or call.name).upper(), call.expressions
    lengths = [interval(_as_interval(length)) for length in rest]
    numbers = {**_OF_FLINK, **_OF_SPARK}.get(name, ())
    if not isinstance(time, exp.Column) or len(lengths) not in numbers or None in lengths:
        return None
    told = tuple(length for length in lengths if length is not None)
    if name == "SESSION_WINDOW":
        return _GroupWindow("SESSION", time.name.lower(), told)
    if name == "WINDOW":
        size, slide, *offset = (*told, told[0])[: max(len(told), 2)]
        kind, told = ("TUMBLE", (size, *offset)) if slide == size else ("HOP", (slide, size, *offset))
        return _GroupWindow(kind, time.name.lower(), told)
    return _GroupWindow(name, time.name.lower(), told)


def _as_interval(length: exp.Expr) -> exp.Expr:
    """A length as an interval; Spark takes a text for one."""
    if isinstance(length, exp.Literal) and length.is_string:
        told = interval(exp.Interval(this=length.copy()))
        return length if told is None else interval_node(told)
    return length


def _is_plain(source: exp.Expr) -> bool:
    """Tells whether a query reads one table by its name, or one query."""
    if isinstance(source, exp.Table):
        return isinstance(source.this, exp.Identifier) and not any(
            source.args.get(part) for part in ("joins", "laterals", "pivots", "sample", "version", "db", "hints")
        )
    return isinstance(source, exp.Subquery) and not source.args.get("pivots") and not source.args.get("sample")


def _bounds(query: exp.Select, window: _GroupWindow, call: exp.Expr) -> Iterator[tuple[exp.Expr, str | None]]:
    """The nodes that name a bound of the window, and the column that has it; None where that can't be told."""
    for node in query.find_all(exp.Anonymous, exp.Dot, exp.Column):
        if node.parent_select is not query or node is call:
            continue
        if isinstance(node, exp.Anonymous):
            kind, _, bound = node.name.upper().rpartition("_")
            if isinstance(node.parent, exp.Dot) and _window(node) == window:
                continue  # the column of it is looked at
            if kind in _OF_FLINK and (bound in _BOUNDS or bound == "PROCTIME"):
                yield node, _BOUNDS.get(bound) if _window(node, kind) == window else None
            elif _window(node) is not None:
                yield node, None
        elif isinstance(node, exp.Dot) and _window(node.this) == window:
            yield node, _BOUNDS.get(node.expression.name.upper())
        elif isinstance(node, exp.Column) and node.table.upper() in _OF_SPARK and _is_of_spark(call):
            yield node, _BOUNDS.get(node.name.upper())


def _shown(node: exp.Expr, bound: str) -> exp.Expr:
    """The column in place of what names a bound; in a SELECT by the name that it had."""
    column = _column(bound, node)
    is_named = isinstance(node, exp.Dot | exp.Column) and isinstance(node.parent, exp.Select)
    name = node.expression.name if isinstance(node, exp.Dot) else node.name
    return exp.alias_(column, name) if is_named else column


def _column(name: str, node: exp.Expr) -> exp.Column:
    """A column in place of a node."""
    column = exp.Column(this=exp.to_identifier(name))
    column.meta.update(node.meta)
    column.this.meta.update(node.meta)
    return column


def _read(source: exp.Expr, call: exp.Expr, window: _GroupWindow, keys: Sequence[exp.Expr]) -> exp.Table:
    """The window table function over what a query reads, by the name that this had."""
    name, data, (time, *_) = source.alias_or_name, source.copy(), call.expressions
    data.set("alias", None)
    function = WindowFunction(
        this=data,
        kind=window.kind,
        time=exp.to_identifier(time.name),
        expressions=_lengths(call, window),
        partition_by=[_column(key.name, key) for key in keys] if window.kind == "SESSION" else [],
    )
    function.meta.update(call.meta)
    return exp.Table(this=function, alias=exp.TableAlias(this=exp.to_identifier(name)) if name else None)


def _lengths(call: exp.Expr, window: _GroupWindow) -> list[exp.Expr]:
    """The intervals of a call, in our order."""
    written = {interval(node): node for node in map(_as_interval, call.expressions[1:])}
    return [written[length].copy() for length in window.lengths]
