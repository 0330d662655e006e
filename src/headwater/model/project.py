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
    upcasts = sorted((one for one in every if isinstance(one, Upcast)), key=lambda upcast: upcast.from_version)
    if not upcasts:
        return every
    return tuple(
        replace(one, upcasts=tuple(upcast for upcast in upcasts if upcast.topic.lower() == one.name.lower()))
        if isinstance(one, Topic)
        else one
        for one in every
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
        return (declaration for declaration in self.declarations if isinstance(declaration, Topic))

    @property
    def views(self) -> Iterator[View]:
        """The views, materialized or not."""
        return (declaration for declaration in self.declarations if isinstance(declaration, View))

    @property
    def functions(self) -> Iterator[Function]:
        """The functions."""
        return (declaration for declaration in self.declarations if isinstance(declaration, Function))

    @property
    def outlets(self) -> Iterator[Outlet]:
        """The outlets."""
        return (declaration for declaration in self.declarations if isinstance(declaration, Outlet))

    @property
    def upcasts(self) -> Iterator[Upcast]:
        """The upcasts."""
        return (declaration for declaration in self.declarations if isinstance(declaration, Upcast))

    def find(self, name: str) -> Declaration | None:
        """The declaration of that name; names are compared without regard to case."""
        return next((one for one in self.declarations if one.name.lower() == name.lower()), None)
