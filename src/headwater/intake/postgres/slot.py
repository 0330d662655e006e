"""The slot of a table: which it is, where it is, and which other tables of the project are read by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.intake.postgres.database import address_of
from headwater.model import Postgres, Topic


@dataclass(frozen=True)
class Slot:
    """A slot of a project. `tables` are those of the database by the topics that take them in.

    `log` is the file for Debezium's own words, and `java` finds the home of Java.
    """

    address: str
    name: str
    publication: str
    tables: Mapping[str, str]
    log: Path
    java: Callable[[], Path]

    @property
    def published(self) -> list[str]:
        """The tables, each once: several streams may take their events from one outbox."""
        return list(dict.fromkeys(self.tables.values()))

    @property
    def of_snapshot(self) -> str:
        """The name of the slot that there is for the time of a snapshot."""
        return f"{self.name[:54]}_snapshot"


def slot_of(topic: Topic, topics: Iterable[Topic], project: str, state: Path, java: Callable[[], Path]) -> Slot:
    """The slot by which a topic is taken in; `topics` are all of the project, and `state` is its folder for that."""
    postgres = topic.intake
    assert isinstance(postgres, Postgres)
    assert postgres.has_slot
    tables = {topic.name: whole_name(postgres.table)}
    for other in topics:
        if isinstance(other.intake, Postgres) and _shares(other.intake, postgres):
            tables[other.name] = whole_name(other.intake.table)
    name = postgres.slot or f"headwater_{re.sub('[^a-z0-9_]', '_', project.lower())[:44]}"
    return Slot(address_of(topic), name, postgres.publication or name, tables, state / "debezium" / f"{name}.log", java)


def whole_name(table: str) -> str:
    """The name of a table with its schema.

    >>> whole_name("customers"), whole_name("crm.customers")
    ('public.customers', 'crm.customers')
    """
    return table if "." in table else f"public.{table}"


def _shares(one: Postgres, other: Postgres) -> bool:
    return one.has_slot and (one.url, one.slot) == (other.url, other.slot)
