"""Telling a webhook of alerts: in a thread of its own, so that nothing waits for a service that doesn't answer.

A message is repeated as an outlet's request is, with the same `Idempotency-Key`, and given up after some attempts. With
a secret it is signed: `Headwater-Signature: sha256=` and the HMAC of the body. The address may hold a secret itself, as
those of chat services do: it is told nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headwater.operate.alert import Alert
from headwater.outlets.webhook import LATER, Waiting, told

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
TIMEOUT = timedelta(seconds=10)
_logger = logging.getLogger("headwater.run")


@dataclass(frozen=True)
class Webhook:
    """The address that alerts are sent to, with which headers, and what they are signed with."""

    to: str
    headers: Mapping[str, str]
    secret: str | None = None


class Notifier:
    """Sends alerts within a `with` block. `undelivered` is why the last one could not be delivered, if it couldn't."""

    def __init__(self, project: str, webhook: Webhook, waiting: Waiting) -> None:
        self._project = project
        self._webhook = webhook
        self._waiting = waiting
        self._queue: queue.SimpleQueue[Alert | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._go_on, name="headwater-alerts-sent", daemon=True)
        self.undelivered: str | None = None

    def __enter__(self) -> Notifier:
        logging.getLogger("httpx").addFilter(self._is_unsaid)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Attempts what is still to be sent once more: a pause that is wanted ends the waits."""
        self._queue.put(None)
        self._thread.join()
        logging.getLogger("httpx").removeFilter(self._is_unsaid)

    def _is_unsaid(self, record: logging.LogRecord) -> bool:
        """Tells whether a record of the client's own may be logged: it tells the address of each request."""
        return self._webhook.to not in record.getMessage()

    def send(self, alert: Alert) -> None:
        """Send an alert, soon."""
        self._queue.put(alert)

    def _go_on(self) -> None:
        import httpx

        with httpx.Client(timeout=TIMEOUT.total_seconds(), follow_redirects=False) as client:
            while (alert := self._queue.get()) is not None:
                try:
                    self.undelivered = self._deliver(client, alert)
                except Exception as cause:  # its words may tell the address, or a header
                    self.undelivered = f"it could not be sent ({type(cause).__name__}); look at the webhook's settings"
                if self.undelivered is not None:
                    _logger.warning("an alert could not be delivered: %s", self.undelivered)

    def _deliver(self, client: httpx.Client, alert: Alert) -> str | None:
        """Send one alert until it is taken; why it was not, None if it was."""
        import httpx

        body, reason = self._body(alert), None
        headers = self._headers(alert, body)
        for attempt in range(1, ATTEMPTS + 1):
            retry_after = None
            try:
                answer = client.post(self._webhook.to, content=body, headers=headers)
            except (httpx.HTTPError, httpx.InvalidURL) as cause:
                reason = f"the webhook did not answer ({type(cause).__name__})"
            else:
                if answer.is_success:
                    return None
                reason, retry_after = told(answer), answer.headers.get("Retry-After")
                if answer.status_code not in LATER:
                    return reason
            if self._waiting.pause.is_wanted or attempt == ATTEMPTS:
                break
            self._waiting.pause.wait(self._waiting.before(attempt + 1, retry_after))
        return f"{reason}, after {attempt} attempts"

    def _body(self, alert: Alert) -> bytes:
        message = {"project": self._project, **alert.as_dict()}
        return json.dumps(message, default=_spelled, ensure_ascii=False).encode()

    def _headers(self, alert: Alert, body: bytes) -> dict[str, str]:
        identity = (alert.rule, alert.kind, alert.name, alert.state, alert.since.isoformat())
        key = hashlib.sha256("\0".join(identity).encode()).hexdigest()
        own = {"Content-Type": "application/json", "User-Agent": "headwater", "Idempotency-Key": key}
        if self._webhook.secret is not None:
            signed = hmac.new(self._webhook.secret.encode(), body, hashlib.sha256).hexdigest()
            own["Headwater-Signature"] = f"sha256={signed}"
        return {**own, **self._webhook.headers}


def _spelled(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
