"""A table or an outbox of PostgreSQL as an inlet: its one source is the slot, the position the end of a transaction."""

from __future__ import annotations

from headwater.intake.changes.capture import Capture, join
from headwater.intake.changes.contents import Contents
from headwater.intake.changes.inlet import ChangesInlet
from headwater.intake.changes.tap import Tap
from headwater.intake.positions import SourcePositions
from headwater.intake.postgres.capture import SlotCapture
from headwater.intake.postgres.contents import NUMBERED, contents_of, refuse_other_way
from headwater.intake.postgres.database import Database, spell
from headwater.intake.postgres.slot import Slot
from headwater.model import Topic


class PostgresInlet(ChangesInlet):
    """The changes of one table of a slot."""

    def __init__(self, topic: Topic, slot: Slot) -> None:
        super().__init__(topic, slot.name)
        self._slot = slot
        self._database = Database(slot.address, f'the intake of "{topic.name}"', topic.name)

    def _see(self, positions: SourcePositions) -> Contents:
        with self._database.connected() as connection:
            self._database.check_rights(connection)
        contents = contents_of(self._topic, self._database, positions.log)
        contents.look()
        refuse_other_way(self._database, positions, NUMBERED, "queries")
        return contents

    def _join(self, tap: Tap) -> Capture:
        slot, database = self._slot, self._database
        return join((slot.address, slot.name), lambda: SlotCapture(slot, database), tap)

    def _head(self) -> int:
        with self._database.connected() as connection:
            head = self._database.head(connection)
            self._database.beat(connection)
        return head

    def spell(self, source: str, position: int) -> str:  # noqa: ARG002
        """A position as PostgreSQL writes it."""
        return spell(position)
