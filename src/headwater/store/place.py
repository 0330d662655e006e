"""From a store's URL in headwater.toml to the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from headwater.errors import SettingsRefused
from headwater.model import Store as Declared
from headwater.model import parse_duration
from headwater.store.protocol import Store
from headwater.store.sqlite import BUSY_TIMEOUT, CHANGES_RETENTION, SqliteStore

OpenStore = Callable[[Declared, Path], Store]
"""How a project comes to its stores: `open_store`, or something that does more."""
_SQLITE = "sqlite:///"


def open_store(declared: Declared, folder: Path) -> Store:
    """The store that a project declares. A relative path in its URL starts at the project's folder.

    `sqlite:///views.db` is a file in the folder, `sqlite:////var/lib/views.db` one elsewhere. Options:
    `changes_retention` (how long the changelog is kept), `busy_timeout` (how long a writer waits for another process).
    """
    if not declared.url.startswith(_SQLITE) or declared.url == _SQLITE:
        raise SettingsRefused(
            f'store "{declared.name}" has a URL that no kind of store takes',
            detail="Known is sqlite:///FILE.",
            hint=f"Set stores.{declared.name}.url to sqlite:///views.db, for example.",
            store=declared.name,
        )
    durations = _durations(declared)
    return SqliteStore(
        folder / declared.url.removeprefix(_SQLITE),
        changes_retention=durations.get("changes_retention", CHANGES_RETENTION),
        busy_timeout=durations.get("busy_timeout", BUSY_TIMEOUT),
    )


def _durations(declared: Declared) -> dict[str, timedelta]:
    found = {}
    for name, text in declared.options:
        if name not in ("changes_retention", "busy_timeout"):
            raise SettingsRefused(
                f'store "{declared.name}" has an unknown option "{name}"',
                detail="A SQLite store takes changes_retention and busy_timeout.",
                store=declared.name,
            )
        try:
            found[name] = parse_duration(text)
        except ValueError as cause:
            raise SettingsRefused(
                f'store "{declared.name}" has an option "{name}" that is not a duration', detail=f"{cause}."
            ) from cause
    return found
