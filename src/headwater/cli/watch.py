"""The output of `headwater watch`: the rows of a view that changed last, the newest on top, what is new in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from headwater.cli.output import show_value

if TYPE_CHECKING:
    from headwater.plan import PlannedView

SHOWN = 20
_SIGNS = {"insert": "[green]+[/]", "update": "[yellow]~[/]", "delete": "[red]-[/]"}


class Board:
    """The rows that have changed last, as a table."""

    def __init__(self, name: str, planned: PlannedView) -> None:
        self._name = name
        self._columns = [column.name for column in planned.columns]
        self._key = list(planned.key.columns) or self._columns
        self._changes: dict[tuple[str, ...], dict[str, Any]] = {}
        self._count = 0

    def take(self, change: dict[str, Any]) -> None:
        """Put a change on top."""
        row = change["after"] or change["before"]
        key = tuple(repr(row[name]) for name in self._key)
        self._changes.pop(key, None)
        self._changes[key] = change
        self._count += 1
        while len(self._changes) > SHOWN:
            del self._changes[next(iter(self._changes))]

    def line(self, change: dict[str, Any]) -> str:
        """A change as one line: what happened, the key, and what is new."""
        row = change["after"] or change["before"]
        return " ".join([_SIGNS[change["op"]], *(f"{name}={show_value(row[name])}" for name in self._columns)])

    def __rich__(self) -> Table:
        title = f"{escape(self._name)}: {self._count:,} changes"
        table = Table("", *self._columns, title=title, title_justify="left", box=None, header_style="bold")
        for change in reversed(self._changes.values()):
            before, after = change["before"] or {}, change["after"] or change["before"]
            cells = [
                _cell(after[name], change["op"] == "update" and after[name] != before.get(name))
                for name in self._columns
            ]
            table.add_row(_SIGNS[change["op"]], *cells)
        return table


def _cell(value: Any, is_new: bool) -> str:
    return f"[bold yellow]{show_value(value)}[/]" if is_new else show_value(value)
