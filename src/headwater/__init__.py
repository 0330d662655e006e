"""Headwater: materialized views over event streams, correct, fresh and rebuildable, on Apache Spark.

import headwater as hw

with hw.open("shop") as project:
    project.append("orders", [{"id": "o-1", "at": "2026-01-05T09:00:00Z"}])
"""

from headwater.declare import function, stream, table, view
from headwater.errors import CheckFailed, Finding, HeadwaterError, Origin
from headwater.log.read import Batch, Commit
from headwater.log.reader import Reader
from headwater.model import Bounded, Emit, Punctuated, Quantile
from headwater.plan import Plan
from headwater.project import Progress, Project, Receipt
from headwater.project import open_project as open  # noqa: A004  # read as hw.open

__version__ = "0.1.0"

__all__ = [
    "Batch", "Bounded", "CheckFailed", "Commit", "Emit", "Finding", "HeadwaterError", "Origin", "Plan", "Progress",
    "Project", "Punctuated", "Quantile", "Reader", "Receipt", "function", "open", "stream", "table", "view",
]  # fmt: skip
