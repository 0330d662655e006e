"""The promise of an outlet's target: it knows how far it was sent to, and only one run sends to it.

A *target* is what an outlet sends to. A *delivery* is what it is given at once: changes of a view in their
order, with the *place* in the view's changelog that comes after them. Where a target can, it keeps the place in the
same transaction as what was delivered: then each change is there once, whenever a process stops. Whoever opens a
target takes it over: an older run that goes on is *fenced*, and sends nothing more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import pyarrow as pa

from headwater.errors import DataError, Fenced


@dataclass(frozen=True, order=True)
class Place:
    """A place in the changelog of a view: behind a batch of a version or, with `changes`, so many changes into it.

    Version 0 is what there is before the view has any.
    """

    version: int
    batch: int
    changes: int | None = None

    def as_json(self) -> str:
        """The place as a target keeps it.

        >>> Place(1, 7).as_json()
        '{"version": 1, "batch": 7, "changes": null}'
        """
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str | bytes) -> Place:
        """The place that a target has kept; what else stands there is passed by."""
        kept = json.loads(text)
        return cls(kept["version"], kept["batch"], kept["changes"])

    def __str__(self) -> str:
        part = "" if self.changes is None else f", change {self.changes}"
        return f"version {self.version}, batch {self.batch}{part}"


@dataclass(frozen=True)
class Delivery:
    """Changes in their order, and the place behind them; `first` is the number of the first one within its batch.

    `changes` has the columns of `changes_schema`, and `timing`. It may be empty: then only the place moves. One that
    isn't divisible has no place between its changes.
    """

    changes: pa.Table
    place: Place
    first: int = 0
    is_divisible: bool = True

    def change_id(self, index: int) -> str:
        """The identity of a change of this delivery, the same whenever and however often it is sent."""
        return f"{self.place.version}.{self.place.batch}.{self.first + index}"


@dataclass(frozen=True)
class Refused:
    """A change that the target can't take: a dead letter of the outlet."""

    change_id: str
    key: bytes | None
    value: bytes
    reason: str
    error: type[DataError]


Bury = Callable[[Sequence[Refused]], None]
"""Keeps what can't be delivered; when it returns that is durable, and repeating it adds nothing."""


class Target(Protocol):
    """The place that an outlet sends to, as one run has it. Called from one thread.

    Whatever goes wrong is an `OperatorError`. After a transient one the target is closed, and opened again later by a
    new object: it then tells how far the delivery came. The others stop the outlet.
    """

    def open(self) -> Place | None:
        """Take the target over, and tell the place behind what was delivered to it; None if nothing ever was.

        Called once, first. Every older run is fenced from here on: nothing that it sends is taken.
        """

    def deliver(self, delivery: Delivery, bury: Bury) -> None:
        """Send changes, and keep the place behind them. What can't be taken is buried before that, the rest is sent.

        When it returns, changes and place survive a crash of this process and of the target. Before, a target that
        keeps the place with the changes has both or neither. Raises `Fenced` if another run has taken over.
        """

    def close(self) -> None:
        """Let go of connections; what was not delivered is undone."""


def fenced(outlet: str, holder: str, detail: str) -> Fenced:
    """The refusal of a run whose outlet another run has taken over."""
    return Fenced(
        f'outlet "{outlet}" was taken over by another run',
        detail=f"{holder} {detail}",
        hint="Let the other run go on, or stop it and start this one again.",
        outlet=outlet,
        holder=holder,
    )
