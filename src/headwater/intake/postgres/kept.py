"""The state of a slot in its database: how far it was read, how much WAL is held back for it, and how it is dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from psycopg.conninfo import conninfo_to_dict

from headwater.errors import HeadwaterError, SourceRefused
from headwater.intake.postgres.database import Database, spell
from headwater.intake.postgres.slot import Slot
from headwater.model import Postgres

_SHORTLY = 2
State = Literal["read", "at rest", "lost", "missing"]


@dataclass(frozen=True)
class SlotStatus:
    """A slot as its database has it, for the `topics` that it is read for.

    It is `read` by a process, `at rest`, `lost` if PostgreSQL has let go of what it needs, or `missing`. `confirmed` is
    the position up to which all logs have everything. `held` are the bytes of WAL that are kept for it, and `left`
    those that may still come before it is lost, if the server has a limit. `unpublished` are the tables that the
    publication doesn't have; all of them, if it isn't there.
    """

    slot: str
    database: str
    publication: str
    topics: tuple[str, ...]
    state: State
    confirmed: str | None = None
    held: int | None = None
    left: int | None = None
    unpublished: tuple[str, ...] = ()


def status_of(slot: Slot, wait: int | None = None) -> SlotStatus:
    """The status of a slot; `wait` is how many seconds the server has to answer."""
    database = _database(slot)
    with database.connected(wait) as connection:
        known = database.slot(connection, slot.name)
        missing = tuple(database.unpublished(connection, slot.publication, slot.published))
    named = slot.name, _place(slot), slot.publication, tuple(slot.tables)
    if known is None:
        return SlotStatus(*named, "missing", unpublished=missing)
    state: State = "lost" if known.is_lost else "at rest" if known.reader is None else "read"
    return SlotStatus(*named, state, spell(known.confirmed), known.held, known.left, missing)


def drop(slot: Slot) -> Sequence[str]:
    """Drop a slot that nobody reads, with its publication, as far as they are there; returns what was dropped."""
    database = _database(slot)
    with database.connected() as connection:
        known = database.slot(connection, slot.name)
        if known is not None and known.reader is not None:
            raise SourceRefused(
                f'the slot "{slot.name}" can\'t be dropped while it is read',
                detail=f"PostgreSQL has it in use by the process {known.reader} of its own.",
                hint="End the run or the intake that reads it.",
                slot=slot.name,
            )
        database.drop_slot(connection, slot.of_snapshot)
        dropped = [f"slot {slot.name}"] if known is not None else []
        database.drop_slot(connection, slot.name)
        if database.drop_publication(connection, slot.publication):
            dropped.append(f"publication {slot.publication}")
    return dropped


class Held:
    """The bytes of WAL that are held back for slots. A database is asked at most every so often, and not waited for."""

    def __init__(self, every: timedelta = timedelta(seconds=10)) -> None:
        self._every = every
        self._known: dict[tuple[str, str | None], tuple[float, int | None]] = {}

    def of(self, postgres: Postgres, slot_of: Callable[[], Slot]) -> int | None:
        """The bytes that are held back for the slot of an intake; None if its database can't tell."""
        key = postgres.url, postgres.slot
        asked_at, held = self._known.get(key, (None, None))
        if asked_at is None or time.monotonic() - asked_at > self._every.total_seconds():
            try:
                held = status_of(slot_of(), wait=_SHORTLY).held
            except HeadwaterError:
                held = None
            self._known[key] = time.monotonic(), held
        return held


def _database(slot: Slot) -> Database:
    return Database(slot.address, f'the slot "{slot.name}"', next(iter(slot.tables)))


def _place(slot: Slot) -> str:
    """The database without the name and the password of its user."""
    told = conninfo_to_dict(slot.address)
    return (
        f"{told.get('host') or 'localhost'}:{told.get('port') or 5432}/{told.get('dbname') or told.get('user') or ''}"
    )
