"""A function of the project's own: a name for an SQL expression, or a Python function of Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.errors import Origin
from headwater.model.column import Column


@dataclass(frozen=True)
class PythonBody:
    """A Python function: given one Arrow array for each parameter, it returns an array of as many values.

    Its author has declared that it is deterministic: each value follows from the arguments of its own row alone.
    """

    module: str
    qualified_name: str
    source: str
    function: Callable[..., Any] = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Function:
    """`CREATE FUNCTION name(parameter TYPE, …) RETURNS TYPE RETURN expression`; `body` in its canonical spelling.

    With a `PythonBody` it is what `@hw.function` declares.
    """

    name: str
    parameters: tuple[Column, ...]
    returns: pa.DataType
    body: str | PythonBody
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
