"""From headwater.toml to a Redis store."""

from __future__ import annotations

from headwater.errors import SettingsRefused
from headwater.model import LAYOUTS
from headwater.model import Store as Declared
from headwater.store.options import CHANGES_RETENTION, Options
from headwater.store.redis import NO_TTL, TIMEOUT, RedisStore
from headwater.store.redis.rows import Layout


def open_declared(declared: Declared) -> RedisStore:
    """The store that headwater.toml declares."""
    known = ("layout", "score", "group", "prefix", "ttl", "cluster", "timeout", "changes_retention")
    options = Options(declared, "A Redis store", known)
    layout = options.text("layout", "json")
    cluster = options.text("cluster", "false")
    if layout not in LAYOUTS or cluster not in ("true", "false"):
        name, allowed = ("layout", LAYOUTS) if layout not in LAYOUTS else ("cluster", ("true", "false"))
        raise SettingsRefused(
            f'store "{declared.name}" has an option "{name}" that can\'t be used',
            detail=f"It is one of: {', '.join(allowed)}.",
            store=declared.name,
        )
    group = tuple(name.strip() for name in options.text("group", "").split(",") if name.strip())
    try:
        return RedisStore(
            declared.url,
            prefix=options.text("prefix", ""),
            layout=Layout(layout, options.text("score", ""), group),
            ttl=options.duration("ttl", NO_TTL),
            cluster=cluster == "true",
            timeout=options.duration("timeout", TIMEOUT),
            changes_retention=options.duration("changes_retention", CHANGES_RETENTION),
        )
    except ValueError as cause:
        raise SettingsRefused(
            f'store "{declared.name}" has a URL that the client of Redis can\'t read',
            detail=f"{cause}.",
            store=declared.name,
        ) from cause
