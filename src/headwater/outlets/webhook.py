"""A service over HTTP as the target of an outlet: every change at least once, and told so.

A request can't be undone, and its answer can be lost: then it is sent again. It carries an `Idempotency-Key` that is
the same each time, by which the service can tell a repetition. The place is kept after each request that was answered.

What an answer means: 2xx, the changes were taken; 408, 425, 429 and 5xx, not now (another attempt, when `Retry-After`
says or after a wait that doubles, and a dead letter after the last one); 401, 403, 404, 405, 407, 410 and redirections,
nobody is there who takes changes (the outlet stops); any other, this one can't be taken (a dead letter). No answer at
all is nothing that the changes are to blame for: the outlet waits for as long as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from headwater.errors import DeliveryRefused, TargetDenied, TargetUnavailable
from headwater.outlets.holding import Holding
from headwater.outlets.message import Message, Messages
from headwater.outlets.protocol import Bury, Delivery, Place, Refused
from headwater.outlets.withdrawn import withdrawn
from headwater.plan import PlannedOutlet
from headwater.waiting import Backoff, Halting

if TYPE_CHECKING:
    import httpx

LATER = frozenset({408, 425, 429, *range(500, 600)})
_NOBODY = frozenset({*range(300, 400), 401, 403, 404, 405, 407, 410})
_BACKOFF = Backoff(longest=timedelta(minutes=1))
_LONGEST_RETRY_AFTER = timedelta(hours=1)
_SHOWN = 200


@dataclass(frozen=True)
class Waiting:
    """Waiting between attempts: the pause itself, the clock, and chance, in [0, 1), that spreads attempts."""

    pause: Halting
    now: Callable[[], datetime]
    chance: Callable[[], float]

    def before(self, attempt: int, retry_after: str | None) -> timedelta:
        """The wait before an attempt, counted from 2."""
        asked = self._asked(retry_after)
        if asked is not None:
            return asked
        return _BACKOFF.after(attempt - 1, self.chance())

    def _asked(self, retry_after: str | None) -> timedelta | None:
        """The wait that the service asks for, in seconds or as an instant."""
        if retry_after is None:
            return None
        try:
            length = timedelta(seconds=float(retry_after))
        except (ValueError, OverflowError):
            try:
                at = parsedate_to_datetime(retry_after)
            except ValueError:
                return None
            length = (at if at.tzinfo else at.replace(tzinfo=UTC)) - self.now()
        return max(timedelta(), min(length, _LONGEST_RETRY_AFTER))


class WebhookTarget:
    """A `Target` that is a URL which takes POST requests. `headers` go with each of them."""

    def __init__(
        self, planned: PlannedOutlet, messages: Messages, headers: Mapping[str, str], holding: Holding, waiting: Waiting
    ) -> None:
        import httpx

        self._outlet = planned.outlet
        self._messages = messages
        self._holding = holding
        self._waiting = waiting
        own = {"Content-Type": messages.content_type, "User-Agent": "headwater"}
        timeout = self._outlet.timeout.total_seconds()
        self._client = httpx.Client(headers={**own, **headers}, timeout=timeout, follow_redirects=False)

    def open(self) -> Place | None:
        """Take the next epoch of the outlet."""
        return self._holding.take()

    def deliver(self, delivery: Delivery, bury: Bury) -> None:
        """Send request after request, and keep the place after each."""
        if self._outlet.envelope == "row" and (gone := withdrawn(delivery)):
            bury(gone)
        for group in self._groups(delivery):
            refused = self._send(group)
            if refused:
                bury(refused)
            if delivery.is_divisible:
                self._holding.keep(_behind(delivery, group[-1]))
        self._holding.keep(delivery.place)

    def _groups(self, delivery: Delivery) -> Iterator[list[Message]]:
        """The messages that share a request; a tombstone is for Kafka."""
        messages = [message for message in self._messages.of(delivery) if message.value is not None]
        for first in range(0, len(messages), self._outlet.per_request):
            yield messages[first : first + self._outlet.per_request]

    def _send(self, group: Sequence[Message]) -> list[Refused]:
        """Send a group; if it is refused, each message alone, so that one doesn't stand in the way of the others."""
        reason = self._post(group)
        if reason is None:
            return []
        if len(group) > 1:
            return [refused for message in group for refused in self._send([message])]
        (message,) = group
        return [Refused(message.change_id, message.key, message.value or b"", reason, DeliveryRefused)]

    def _post(self, group: Sequence[Message]) -> str | None:
        """Send one request until it is answered; why it was refused, None if it was taken."""
        attempts = self._outlet.attempts
        for attempt in range(1, attempts + 1):
            answer = self._answer(group)
            if answer.is_success:
                return None
            if answer.status_code in _NOBODY:
                raise self._denied(answer)
            if answer.status_code not in LATER:
                return told(answer)
            if attempt < attempts:
                self._wait(attempt + 1, answer)
        return f"{told(answer)}, after {attempts} attempts"

    def _answer(self, group: Sequence[Message]) -> httpx.Response:
        import httpx

        self._holding.check()  # an overtaken run shall not send what another sends
        first = group[0]
        key = first.headers["headwater-id"] + (f"+{len(group) - 1}" if len(group) > 1 else "")
        headers = {"Idempotency-Key": key, "traceparent": first.headers["traceparent"]}
        try:
            return self._client.post(self._outlet.to, content=self._body(group), headers=headers)
        except httpx.HTTPError as cause:
            raise TargetUnavailable(
                f'the service of outlet "{self._outlet.name}" did not answer',
                detail=f"{type(cause).__name__}: {cause}, at {self._outlet.to}. What was answered stays; the request "
                "is sent again, and may have been taken.",
                hint="See whether the service runs and can be reached from here.",
                outlet=self._outlet.name,
            ) from cause

    def _body(self, group: Sequence[Message]) -> bytes:
        values = [message.value or b"" for message in group]
        return values[0] if self._outlet.per_request == 1 else self._messages.together(values)

    def _wait(self, attempt: int, answer: httpx.Response) -> None:
        pause = self._waiting.pause
        pause.wait(self._waiting.before(attempt, answer.headers.get("Retry-After")))
        if pause.is_wanted:
            raise TargetUnavailable(
                f'outlet "{self._outlet.name}" was stopped while its service was busy',
                detail=f"{told(answer)}. The request is sent again by the next run.",
                outlet=self._outlet.name,
            )

    def _denied(self, answer: httpx.Response) -> TargetDenied:
        return TargetDenied(
            f'the service of outlet "{self._outlet.name}" takes no changes',
            detail=f"{told(answer)}, from {self._outlet.to}. Nothing was sent since.",
            hint="Correct the URL, or the headers that stand in [webhooks] of headwater.toml.",
            outlet=self._outlet.name,
            status=answer.status_code,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def _behind(delivery: Delivery, message: Message) -> Place:
    """The place behind a message of a delivery, which is in the middle of its batch."""
    return Place(delivery.place.version, delivery.place.batch, int(message.change_id.rpartition(".")[2]) + 1)


def told(answer: httpx.Response) -> str:
    text = " ".join(answer.text.split())
    shown = f": {text[:_SHOWN]}" if text else ""
    return f"the answer was {answer.status_code} {answer.reason_phrase}{shown}"
