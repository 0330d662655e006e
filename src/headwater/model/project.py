"""A project: everything that is declared in one folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headwater.model.function import Function
from headwater.model.outlet import Outlet
from headwater.model.store import Store
from headwater.model.stream import Stream
from headwater.model.table import Table
from headwater.model.topic import Topic
from headwater.model.upcast import Upcast
from headwater.model.view import View

Declaration = Stream | Table | View | Function | Outlet | Upcast


def assembled(declarations: Iterable[Declaration]) -> tuple[Declaration, ...]:
    """The declarations, each stream and table with the upcasts of its earlier versions, the first of them first."""
    every = tuple(declarations)
    upcasts = sorted((found for found in every if isinstance(found, Upcast)), key=lambda found: found.from_version)
    if not upcasts:
        return every
    return tuple(
        replace(found, upcasts=tuple(one for one in upcasts if one.topic.lower() == found.name.lower()))
        if isinstance(found, Topic)
        else found
        for found in every
    )


@dataclass(frozen=True, kw_only=True)
class Project:
    """The declarations of a project, in the order in which they were read; names may still clash until checked."""

    name: str
    declarations: tuple[Declaration, ...] = ()
    stores: tuple[Store, ...] = ()

    @property
    def topics(self) -> Iterator[Topic]:
        """The streams and tables."""
        return (found for found in self.declarations if isinstance(found, Topic))

    @property
    def views(self) -> Iterator[View]:
        """The views, materialized or not."""
        return (found for found in self.declarations if isinstance(found, View))

    @property
    def functions(self) -> Iterator[Function]:
        """The functions."""
        return (found for found in self.declarations if isinstance(found, Function))

    @property
    def outlets(self) -> Iterator[Outlet]:
        """The outlets."""
        return (found for found in self.declarations if isinstance(found, Outlet))

    @property
    def upcasts(self) -> Iterator[Upcast]:
        """The upcasts."""
        return (found for found in self.declarations if isinstance(found, Upcast))

    def find(self, name: str) -> Declaration | None:
        """The declaration of that name; names are compared without regard to case."""
        return next((found for found in self.declarations if found.name.lower() == name.lower()), None)
