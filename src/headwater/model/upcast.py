"""An upcast: how rows of an earlier version of a stream or table become rows of the next one."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.errors import Origin
from headwater.model.column import Column
from headwater.model.function import PythonBody


@dataclass(frozen=True, kw_only=True)
class Upcast:
    """A function from a table of version `from_version` to one of the version after it, as `@hw.upcast` declares it.

    `columns` are those of that version, which the function is given. It returns a row for each row, in their order;
    a column that it leaves out is NULL, or its default.
    """

    topic: str
    from_version: int
    columns: tuple[Column, ...]
    body: PythonBody
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name that tells it from others."""
        return f"{self.topic} from version {self.from_version}"
