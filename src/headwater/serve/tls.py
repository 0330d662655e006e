"""TLS: the certificate that the server shows, and its key."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from headwater.config import ServeSettings
from headwater.errors import SettingsRefused
from headwater.serve.guard import LOOPBACK


def refuse_in_the_clear(settings: ServeSettings) -> None:
    """Refuse to serve others without TLS, unless a proxy is said to end it: tokens could be read on the way."""
    if settings.host in LOOPBACK or settings.tls_cert is not None or settings.behind_proxy:
        return
    raise SettingsRefused(
        f"the project can't be served on {settings.host} without TLS",
        detail="Whoever is on the way could read tokens and rows. Nothing was started.",
        hint="Give a certificate (--tls-cert FILE --tls-key FILE), or say --behind-proxy if a proxy in front ends TLS.",
    )


def certificate(folder: Path, settings: ServeSettings) -> dict[str, Any]:
    """The settings by which the server speaks TLS, none if it doesn't; paths are relative to the project.

    `SettingsRefused` if the files can't be read, or don't belong together.
    """
    if settings.tls_cert is None and settings.tls_key is None:
        return {}
    if settings.tls_cert is None or settings.tls_key is None:
        raise SettingsRefused(
            "TLS needs a certificate and its key",
            detail="One of them is given and the other is not.",
            hint="Give both: --tls-cert FILE --tls-key FILE, or tls_cert and tls_key of [serve] in headwater.toml.",
        )
    cert, key = folder / settings.tls_cert, folder / settings.tls_key
    _check(cert, key, settings.tls_key_password)
    return {"ssl_certfile": str(cert), "ssl_keyfile": str(key), "ssl_keyfile_password": settings.tls_key_password}


def _check(cert: Path, key: Path, password: str | None) -> None:
    try:
        # an empty password instead of none: else the key's is asked for in the terminal
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password or "")
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, FileNotFoundError | PermissionError) else str(cause)
        raise SettingsRefused(
            "the certificate can't be used for TLS",
            detail=f"{cert} with the key {key}: {reason}. Nothing was started.",
            hint="Both are files in PEM format; the key must be the certificate's, and tls_key_password its password.",
        ) from cause
