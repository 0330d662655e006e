"""Rows that were sent as rows, and are no longer in the view.

That happens where the view was built anew and gives other rows. An envelope that sends rows alone can't say that one is
gone, so it is told as a dead letter of the outlet.
"""

from __future__ import annotations

from headwater.errors import RowWithdrawn
from headwater.json_text import spell
from headwater.outlets.protocol import Delivery, Refused

_REASON = "the row is no longer in the view, which an outlet that sends rows can't say"


def withdrawn(delivery: Delivery) -> list[Refused]:
    """The deletions of a delivery."""
    operations = delivery.changes["op"].to_pylist()
    gone = [index for index, operation in enumerate(operations) if operation == "delete"]
    rows = delivery.changes["before"].take(gone).to_pylist(maps_as_pydicts="strict") if gone else []
    return [
        Refused(delivery.change_id(index), None, spell(row).encode(), _REASON, RowWithdrawn)
        for index, row in zip(gone, rows, strict=True)
    ]
