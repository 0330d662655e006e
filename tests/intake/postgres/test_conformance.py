"""An outbox that is read by queries as an inlet, held against the suite."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import headwater as hw
from headwater.intake import Inlet
from headwater.intake.postgres.outbox import OutboxEvent
from headwater.intake.postgres.polled import PolledOutbox
from headwater.model import Column, Postgres
from headwater.testing import IntakeConformance, payments
from headwater.testing.conformance.intake import World
from tests.intake.postgres.shop import Database

OUTBOX = hw.Outbox()


class OutboxFeed:
    """Each time that something is sent it is a transaction."""

    def __init__(self, database: Database) -> None:
        soon = timedelta(milliseconds=10)
        way = Postgres(
            url=database.url, table="outbox", outbox="payment", poll=soon, commit_every=soon, message_id="event_id"
        )
        declared = payments(way)
        self.topic = replace(declared, columns=(*declared.columns, Column("event_id", pa.string())))
        self._database = database
        database.run(OUTBOX.definition.replace("jsonb NOT NULL", "text"))

    def send(self, *values: bytes) -> None:
        with psycopg.connect(self._database.url) as connection:
            for value in values:
                OUTBOX.send(connection, "payment", 1, "made", value.decode())

    def inlet(self) -> Inlet:
        return PolledOutbox(self.topic)


class TestPolledOutbox(IntakeConformance):
    @pytest.fixture
    def feed(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> OutboxFeed:
        def payloads(world: World) -> list[bytes]:
            return [OutboxEvent.read(row).payload.encode() for row in whole.fget(world)]

        whole: Any = World.poison  # a dead letter keeps all that the row said
        monkeypatch.setattr(World, "poison", property(payloads))
        return OutboxFeed(database)
