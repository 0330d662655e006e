"""From a store's URL in headwater.toml to the store.

The scheme of the URL is the *kind* of the store. Kinds that aren't ours come from installed packages, by an entry point
of the group `headwater.stores` whose name is the scheme: a function that takes what `open_store` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from headwater.errors import SettingsRefused
from headwater.installed import extra, installed, open_installed
from headwater.model import Store as Declared
from headwater.store.options import CHANGES_RETENTION, Options
from headwater.store.protocol import Store
from headwater.store.sqlite import BUSY_TIMEOUT, SqliteStore

OpenStore = Callable[[Declared, Path], Store]
"""The way a project comes to its stores: `open_store`, or something that does more."""
GROUP = "headwater.stores"
_SQLITE = "sqlite:///"


def open_store(declared: Declared, folder: Path) -> Store:
    """The store that a project declares. A relative path in its URL starts at the project's folder."""
    kind = declared.url.partition(":")[0] if ":" in declared.url else ""
    if kind in _KINDS:
        return _KINDS[kind](declared, folder)
    others = installed(GROUP)
    if kind in others:
        opened: Store = open_installed(GROUP, kind, f'store "{declared.name}"', declared, folder, store=declared.name)
        return opened
    raise _unknown(declared, [*_KINDS, *others])


def _sqlite(declared: Declared, folder: Path) -> Store:
    """`sqlite:///views.db` is a file in the folder, `sqlite:////var/lib/views.db` one elsewhere."""
    if not declared.url.startswith(_SQLITE) or declared.url == _SQLITE:
        raise _unknown(declared, _KINDS)
    options = Options(declared, "A SQLite store", ("changes_retention", "busy_timeout"))
    return SqliteStore(
        folder / declared.url.removeprefix(_SQLITE),
        changes_retention=options.duration("changes_retention", CHANGES_RETENTION),
        busy_timeout=options.duration("busy_timeout", BUSY_TIMEOUT),
    )


def _postgres(declared: Declared, _: Path) -> Store:
    """`postgresql://user@host:5432/database?sslmode=verify-full`, or `postgresql://` and PG* variables."""
    with extra("postgres", f'store "{declared.name}"', store=declared.name):
        from headwater.store.postgres.declared import open_declared
    return open_declared(declared)


def _redis(declared: Declared, _: Path) -> Store:
    """`redis://user@host:6379/0`, or `rediss://` with TLS."""
    with extra("redis", f'store "{declared.name}"', store=declared.name):
        from headwater.store.redis.declared import open_declared
    return open_declared(declared)


def _delta(declared: Declared, folder: Path) -> Store:
    """`delta://lake`, or `delta+s3://bucket/lake`."""
    from headwater.store.delta.declared import open_declared

    if not declared.url.partition("://")[2]:
        raise _unknown(declared, _KINDS)
    return open_declared(declared, folder)


_KINDS: Mapping[str, OpenStore] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
    "redis": _redis,
    "rediss": _redis,
    **{f"delta{kind}": _delta for kind in ("", "+s3", "+gs", "+az", "+abfss")},
}


def _unknown(declared: Declared, kinds: Mapping[str, OpenStore] | list[str]) -> SettingsRefused:
    others = [f"{kind}://…" for kind in kinds if kind != "sqlite"]
    return SettingsRefused(
        f'store "{declared.name}" has a URL that no kind of store takes',
        detail=f"Known are {', '.join(['sqlite:///FILE', *others])}.",
        hint=f"Set stores.{declared.name}.url to sqlite:///views.db, for example.",
        store=declared.name,
    )
