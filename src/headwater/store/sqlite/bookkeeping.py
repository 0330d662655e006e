"""The bookkeeping of a store in a SQLite file."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa

from headwater.model import INSTANT
from headwater.store import instants
from headwater.store.bookkeeping import Bookkeeping


def spell_instant(at: datetime) -> str:
    """An instant as it stands in the database."""
    return str(instants.encode(pa.array([at], INSTANT))[0])


def read_instant(text: str) -> datetime:
    """An instant from the database."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


BOOKS = Bookkeeping("?", "statements", spell_instant, read_instant, json.loads)
