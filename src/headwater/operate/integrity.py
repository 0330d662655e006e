"""The integrity of a project: its last good backup, and what the last scrub has found.

Whoever makes a backup or scrubs writes it down below the project; `status` tells it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.operate.record import tell

FILE = "integrity.json"


@dataclass(frozen=True)
class Integrity:
    """The last good backup (`at`, `url`), and the last scrub (`at`, `share`, `hurt`); None if there was none."""

    backup: dict[str, Any] | None = None
    scrub: dict[str, Any] | None = None


class IntegrityRecord:
    """The record below a project."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def read(self) -> Integrity:
        """The record that was written down; nothing if that can't be read."""
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
            return Integrity(record.get("backup"), record.get("scrub"))
        except (OSError, ValueError, AttributeError):
            return Integrity()

    def note(self, **records: dict[str, Any]) -> None:
        """Write down a `backup` or a `scrub`; the other stays."""
        known = self.read()
        tell("what a backup or a scrub has found", self._path, {"backup": known.backup, "scrub": known.scrub} | records)
