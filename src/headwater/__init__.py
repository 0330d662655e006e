"""Headwater: materialized views over event streams, correct, fresh and rebuildable, on Apache Spark.

import headwater as hw

with hw.open("shop") as project:
    project.append("orders", [{"id": "o-1", "at": "2026-01-05T09:00:00Z"}])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.declare.function import function
    from headwater.declare.outlet import outlet
    from headwater.declare.topic import stream, table
    from headwater.declare.upcast import upcast
    from headwater.declare.view import view
    from headwater.errors import CheckFailed, Finding, HeadwaterError, Origin
    from headwater.log.read import Batch, Commit
    from headwater.log.reader import Reader
    from headwater.model import Bounded, Connector, Emit, Folder, Kafka, Mysql, Postgres, Punctuated, Quantile
    from headwater.operators.apply.lowering.inputs import cumulate, hop, session, tumble
    from headwater.outbox import Outbox
    from headwater.plan import Plan
    from headwater.project import Listeners, Progress, Project, Receipt
    from headwater.project import open_project as open  # noqa: A004  # read as hw.open

__version__ = "0.1.0"

__all__ = [
    "Batch", "Bounded", "CheckFailed", "Commit", "Connector", "Emit", "Finding", "Folder", "HeadwaterError", "Kafka",
    "Listeners", "Mysql", "Origin", "Outbox", "Plan", "Postgres", "Progress", "Project", "Punctuated", "Quantile",
    "Reader", "Receipt", "cumulate", "function", "hop", "open", "outlet", "session", "stream", "table", "tumble",
    "upcast", "view",
]  # fmt: skip

_HOMES = {
    "declare": ("function", "outlet", "stream", "table", "upcast", "view"),
    "operators.apply.lowering.inputs": ("cumulate", "hop", "session", "tumble"),
    "errors": ("CheckFailed", "Finding", "HeadwaterError", "Origin"),
    "log.read": ("Batch", "Commit"),
    "log.reader": ("Reader",),
    "model": ("Bounded", "Connector", "Emit", "Folder", "Kafka", "Mysql", "Postgres", "Punctuated", "Quantile"),
    "outbox": ("Outbox",),
    "plan": ("Plan",),
    "project": ("Listeners", "Progress", "Project", "Receipt", "open"),
}
_RENAMED = {"open": "open_project"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: Spark's workers read logs and need none of them."""
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"headwater.{home}"), _RENAMED.get(name, name))
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
