"""The note of a version, in every entry of its table: its epoch, position, ledger and changelog.

Each entry carries all of it on, so that the newest one says everything. What readers of other tools are to see of it is
in a `txn` action of the same entry: the number of the newest batch, for the application `headwater`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from headwater.log.entry import Action
from headwater.log.journal import instant, microseconds
from headwater.store.protocol import Batch, Position
from headwater.store.refusals import this_process

APPLICATION = "headwater"


@dataclass(frozen=True)
class Note:
    """A version as of an entry. `trimmed` is the newest batch whose changes are no longer kept, `kept` the first entry
    whose changes are.
    """

    epoch: int = 0
    holder: str = ""
    taken_at: str = ""
    dropped: bool = False
    position: Position | None = None
    ledger: Mapping[str, int] = field(default_factory=dict)
    trimmed: int = -1
    kept: int = 0

    @classmethod
    def read(cls, note: Mapping[str, Any]) -> Note:
        """The note as an entry has it."""
        told = note.get("position")
        position = Position(told[0], tuple(told[1].items()), instant(told[2])) if told else None
        return cls(
            note["epoch"], note["holder"], note["taken_at"], note["dropped"], position, note["ledger"],
            note["trimmed"], note["kept"],
        )  # fmt: skip

    def spell(self, kind: str, **more: Any) -> dict[str, Any]:
        """As it stands in an entry of this kind, with what this entry alone has to say."""
        position = self.position
        told = [position.batch, dict(position.commits), microseconds(position.watermark)] if position else None
        return {
            "kind": kind,
            "epoch": self.epoch,
            "holder": self.holder,
            "taken_at": self.taken_at,
            "dropped": self.dropped,
            "position": told,
            "ledger": dict(self.ledger),
            "trimmed": self.trimmed,
            "kept": self.kept,
        } | more

    def taken(self, at: datetime) -> Note:
        """With the next epoch, held by this process."""
        since = str(at.replace(tzinfo=None))
        return replace(self, epoch=self.epoch + 1, holder=this_process(), taken_at=since)

    def reached(self, batch: Batch) -> Note:
        """After a batch."""
        sums = {name: self.ledger.get(name, 0) + count for name, count in batch.ledger.items()}
        return replace(self, position=batch.position, ledger={**self.ledger, **sums})


def transaction(batch: int, at: int) -> Action:
    """The `txn` action that says which batch a table has come to."""
    return {"txn": {"appId": APPLICATION, "version": batch, "lastUpdated": at}}
