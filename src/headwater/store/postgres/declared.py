"""From headwater.toml to a PostgreSQL store."""

from __future__ import annotations

import psycopg

from headwater.errors import SettingsRefused
from headwater.model import Store as Declared
from headwater.store.options import CHANGES_RETENTION, Options
from headwater.store.postgres import (
    LOCK_TIMEOUT,
    SILENCE_TIMEOUT,
    STATEMENT_TIMEOUT,
    PostgresStore,
)

LIBPQ = (
    "user", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslnegotiation", "channel_binding",
    "require_auth", "gssencmode", "krbsrvname", "target_session_attrs", "connect_timeout", "application_name",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
)  # fmt: skip
"""Parameters of libpq that may stand among the options; those in the URL are not limited to them."""


def open_declared(declared: Declared) -> PostgresStore:
    """The store that headwater.toml declares."""
    own = ("schema", "reader", "changes_retention", "lock_timeout", "statement_timeout", "silence_timeout")
    options = Options(declared, "A PostgreSQL store", (*own, *LIBPQ))
    try:
        return PostgresStore(
            declared.url,
            schema=options.text("schema", "public"),
            parameters=options.given(LIBPQ),
            reader=options.text("reader", "") or None,
            changes_retention=options.duration("changes_retention", CHANGES_RETENTION),
            lock_timeout=options.duration("lock_timeout", LOCK_TIMEOUT),
            statement_timeout=options.duration("statement_timeout", STATEMENT_TIMEOUT),
            silence_timeout=options.duration("silence_timeout", SILENCE_TIMEOUT),
        )
    except psycopg.Error as cause:
        raise SettingsRefused(
            f"store \"{declared.name}\" has a URL that PostgreSQL's client can't read",
            detail=f"{str(cause).strip()}.",
            store=declared.name,
        ) from cause
