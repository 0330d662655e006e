"""Tables of PostgreSQL: Debezium reads a snapshot of them and then the changes, transaction by transaction."""

from headwater.intake.postgres.inlet import PostgresInlet
from headwater.intake.postgres.slot import Slot, slot_of

__all__ = ["PostgresInlet", "Slot", "slot_of"]
