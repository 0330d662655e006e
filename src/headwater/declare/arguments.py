"""The arguments of a declaration read, and what is wrong with them, at the line of the call."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar, cast, get_type_hints

from headwater import model, sql
from headwater.declare.fields import column_of
from headwater.errors import DeclarationError, Finding, Origin
from headwater.findings import OptionRefused, UnknownOption

ColumnSpec = Any
"""A column's type: SQL text (`STRING NOT NULL`), a Python type, an Arrow type, or a whole column."""
Names = str | Sequence[str]
Duration = timedelta | str
DeclarationT = TypeVar("DeclarationT", bound=model.Declaration)


def read_columns(columns: Mapping[str, ColumnSpec], origin: Origin) -> tuple[model.Column, ...]:
    """The columns of a declaration, from their names and types."""
    with located(origin):
        return tuple(replace(column_of(name, spec), origin=origin) for name, spec in columns.items())


def read_names(names: Names) -> tuple[str, ...]:
    """One name or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def refuse_unknown(kind: str, options: dict[str, Any], known: type, origin: Origin) -> None:
    """Refuse a keyword that the options of this kind don't have."""
    names = list(get_type_hints(known))
    for option in options:
        if option not in names:
            hint = f"It takes {', '.join(names)}."
            raise UnknownOption(f'{kind}() takes no "{option}"', hint=hint, origin=origin)


def read_duration(option: str, length: Duration, origin: Origin) -> timedelta:
    """A duration as it is, or from text."""
    if isinstance(length, timedelta):
        return length
    try:
        return model.parse_duration(length)
    except (ValueError, OverflowError) as problem:
        raise OptionRefused(f'option "{option}" is no duration', detail=f"{problem}.", origin=origin) from None


def read_distance(option: str, length: Duration | None, origin: Origin) -> timedelta | None:
    """A duration, or None for any."""
    return None if length is None or length == "none" else read_duration(option, length, origin)


def checked(declared: DeclarationT, origin: Origin) -> DeclarationT:
    """The declaration as SQL would have read it; raises the first thing that SQL would have refused."""
    parsed = sql.parse_declarations(sql.render(declared), origin.file)
    for finding in parsed.findings:
        if not isinstance(finding, Finding) or finding.severity == "error":
            raise moved(finding, origin)
    reread: Any = parsed.declarations[0]
    if isinstance(declared, model.View):
        return cast(DeclarationT, replace(reread, query=declared.query, origin=origin))
    if isinstance(declared, model.Topic):
        reread = replace(reread, columns=tuple(replace(column, origin=origin) for column in reread.columns))
    return cast(DeclarationT, replace(reread, origin=origin))


def moved(problem: DeclarationError, origin: Origin) -> DeclarationError:
    """The same problem with another origin."""
    return type(problem)(problem.summary, detail=problem.detail, hint=problem.hint, origin=origin)


@contextmanager
def located(origin: Origin) -> Iterator[None]:
    """Give what is raised inside the origin of the call."""
    try:
        yield
    except DeclarationError as problem:
        raise moved(problem, origin) from None


def caller() -> Origin:
    """The file and line that called into this package."""
    frame = _calling_frame()
    return Origin(frame.f_code.co_filename, frame.f_lineno)


def names_of_caller() -> dict[str, Any]:
    """The values of the names of the calling code, so that annotations kept as text can be read."""
    frame = _calling_frame()
    return {**frame.f_globals, **frame.f_locals}


def _calling_frame() -> FrameType:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return frame
