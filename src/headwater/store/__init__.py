"""Where views are served from: the protocol of a store, and the stores that implement it."""

from headwater.store.opening import OpenStore, open_store
from headwater.store.protocol import (
    Batch,
    Position,
    Served,
    Snapshot,
    Span,
    Store,
    Target,
    Version,
    changes_schema,
)
from headwater.store.selection import Condition, Order, Selection
from headwater.store.several import SeveralStores

__all__ = [
    "Batch", "Condition", "OpenStore", "Order", "Position", "Selection", "Served", "SeveralStores", "Snapshot", "Span",
    "Store", "Target", "Version", "changes_schema", "open_store",
]  # fmt: skip
