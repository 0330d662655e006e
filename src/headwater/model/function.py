"""A function of the project's own: a name for an SQL expression."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from headwater.errors import Origin
from headwater.model.column import Column


@dataclass(frozen=True, kw_only=True)
class Function:
    """`CREATE FUNCTION name(parameter TYPE, …) RETURNS TYPE RETURN expression`; `body` in its canonical spelling."""

    name: str
    parameters: tuple[Column, ...]
    returns: pa.DataType
    body: str
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
