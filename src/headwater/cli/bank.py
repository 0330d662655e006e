"""The payments of the demo: a bank's cards in several countries, second by second, the same for the same seed.

Most payments come from tills and the web shop as they happen. Phones send theirs when they have a connection, late and
out of order. A kiosk falls silent now and then. Some payments come twice, some lines can't be read, one till has a
wrong clock, and now and then somebody goes shopping with a stolen card, far from where it was used before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

CARDS = 400
RATE = 40
"""Payments a second, but for fraud."""
COUNTRIES = ("DE", "FR", "ES", "IT", "PL", "SE")
MERCHANTS = (
    "Bäckerei Blum", "Café Central", "Elektro Nord", "Kino Eden", "Librairie du Port", "Mercado Sol", "Taxi 24", "Viva"
)  # fmt: skip
FRAUD_EVERY, BURST = 12, 12
WRONG_CLOCK = timedelta(seconds=75)
"""The old till is so far ahead: further than the stream takes, until some seconds have passed."""
_KIOSK_ON, _KIOSK_CYCLE = 15, 40
_POISON = (
    b'{"id": "p-broken", "card": "card-',
    b'{"id": "p-free", "card": "card-7", "amount": "free", "at": "2026-01-01T00:00:00Z"}',
    b'{"id": "p-timeless", "card": "card-9", "amount": "4.20"}',
)
Event = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """The events of one source in a second: readable ones, and lines that are not."""

    source: str
    events: tuple[Event, ...]
    poison: tuple[bytes, ...] = ()

    @property
    def lines(self) -> bytes:
        """All of it as JSON lines."""
        return b"\n".join([*(json.dumps(event).encode() for event in self.events), *self.poison])


@dataclass(frozen=True)
class Bank:
    """The payments of a bank; the second with a number has the same ones whenever it is asked for."""

    seed: int = 7

    def second(self, number: int, at: datetime) -> Iterator[Sent]:
        """The events of the second that begins at an instant, source by source."""
        chance = np.random.default_rng([self.seed, number])
        payments = [self._payment(chance, number, index, at) for index in range(RATE)]
        sources = chance.choice(["till", "web", "phone", "kiosk"], RATE, p=[0.5, 0.25, 0.15, 0.1])
        if number % _KIOSK_CYCLE >= _KIOSK_ON:
            sources[sources == "kiosk"] = "web"
        for source in ("till", "web", "phone", "kiosk"):
            mine = [payment for payment, sender in zip(payments, sources, strict=True) if sender == source]
            if source == "phone":
                delays = chance.exponential(4, len(mine))
                mine = [_delayed(payment, at, delay) for payment, delay in zip(mine, delays, strict=True)]
                mine += mine[:1] if chance.random() < 0.3 else []  # nobody told the phone
            if source == "web":
                mine += self._fraud(number, at)
            poison = (_POISON[number % len(_POISON)],) if source == "phone" and chance.random() < 0.15 else ()
            if mine or poison:
                yield Sent(source, tuple(mine), poison)
        if number % 7 == 3:
            yield Sent("old till", (_delayed(payments[0] | {"id": f"o-{number}"}, at, -WRONG_CLOCK.total_seconds()),))

    def _payment(self, chance: np.random.Generator, number: int, index: int, at: datetime) -> Event:
        card = int(chance.integers(1, CARDS + 1))
        country = COUNTRIES[card % len(COUNTRIES)]
        moment = at + timedelta(milliseconds=int(chance.integers(0, 1000)))
        amount = round(float(chance.lognormal(3, 0.8)), 2)
        merchant = MERCHANTS[int(min(chance.zipf(1.6), len(MERCHANTS))) - 1]
        return _event(f"p-{number}-{index}", card, merchant, country, amount, moment)

    def _fraud(self, number: int, at: datetime) -> list[Event]:
        """A burst of payments with one card, in a country that is not its own; spread over two seconds."""
        burst, step = divmod(number, FRAUD_EVERY)
        if step > 1 or burst == 0:
            return []
        chance = np.random.default_rng([self.seed, burst, 1])
        card = int(chance.integers(20, CARDS))
        country = COUNTRIES[(card + 1 + int(chance.integers(0, len(COUNTRIES) - 1))) % len(COUNTRIES)]
        indexes = range(step * BURST // 2, (step + 1) * BURST // 2)
        moments = [at + timedelta(milliseconds=70 * index) for index in indexes]
        return [
            _event(f"f-{burst}-{index}", card, "Elektro Nord", country, 499.0 + index, moment)
            for index, moment in zip(indexes, moments, strict=True)
        ]


def _event(name: str, card: int, merchant: str, country: str, amount: float, at: datetime) -> Event:
    return {
        "id": name, "card": f"card-{card}", "merchant": merchant, "country": country, "amount": f"{amount:.2f}",
        "at": at.isoformat(),
    }  # fmt: skip


def _delayed(payment: Event, at: datetime, seconds: float) -> Event:
    """A payment that was made so long before it is sent; or, by a wrong clock, after it."""
    return payment | {"at": (at - timedelta(seconds=min(seconds, 60))).isoformat()}
