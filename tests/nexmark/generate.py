"""Events as the Nexmark benchmark makes them: of 50 events one is a person, three are auctions, 46 are bids.

They are the same for the same seed. Event time goes by 10 ms an event, so that no two events have the same; they arrive
up to 3 seconds late, which the watermark of 4 seconds allows for: nothing is left out.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 1, 7, 59, tzinfo=UTC)
STEP = timedelta(milliseconds=10)
STATES = ("az", "ca", "id", "or", "wa", "wy")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")

Event = dict[str, Any]


def events(count: int, seed: int = 7) -> list[tuple[str, Event]]:
    """So many events with their topics, in the order of their arrival."""
    chosen = random.Random(seed)
    made = [_event(chosen, number) for number in range(count)]
    late = [
        (event["made_at"] + timedelta(seconds=chosen.choice((0, 0, 0, 1, 3))), topic, event) for topic, event in made
    ]
    return [(topic, event) for _, topic, event in sorted(late, key=lambda found: found[0])]


def _event(chosen: random.Random, number: int) -> tuple[str, Event]:
    at, (round_, place) = START + number * STEP, divmod(number, 50)
    if place == 0:
        return "persons", _person(chosen, round_, at)
    if place <= 3:
        return "auctions", _auction(chosen, round_ * 3 + place - 1, round_, at)
    return "bids", _bid(chosen, round_, at)


def _person(chosen: random.Random, number: int, at: datetime) -> Event:
    name = f"{chosen.choice('ABCDEFG')}. {chosen.choice(('Shultz', 'Abrams', 'Spencer', 'White'))}"
    mail = f"{name[3:].lower()}{number}@example.com"
    return {"id": number, "name": name, "email": mail, "city": "Boise", "state": chosen.choice(STATES), "made_at": at}


def _auction(chosen: random.Random, number: int, people: int, at: datetime) -> Event:
    price = _price(chosen)
    return {
        "id": number,
        "item": f"item {number % 17}",
        "initial_bid": price,
        "reserve": price + _price(chosen),
        "made_at": at,
        "expires": at + timedelta(seconds=chosen.randint(2, 20)),
        "seller": chosen.randint(max(0, people - 100), people),
        "category": chosen.randint(10, 14),
    }


def _bid(chosen: random.Random, round_: int, at: datetime) -> Event:
    auctions, people = round_ * 3 + 2, round_
    hot = chosen.random() < 0.5
    auction = auctions // 20 * 20 if hot else chosen.randint(max(0, auctions - 30), auctions)
    channel = chosen.choice(CHANNELS) if chosen.random() < 0.5 else f"channel-{chosen.randint(0, 50)}"
    query = (
        f"query=1&channel_id={channel[8:]}" if channel.startswith("channel") and chosen.random() < 0.5 else "query=1"
    )
    return {
        "auction": auction,
        "bidder": people // 10 * 10 if chosen.random() < 0.5 else chosen.randint(max(0, people - 30), people),
        "price": _price(chosen),
        "channel": channel,
        "url": f"https://www.nexmark.com/{chosen.choice('abcdef')}/{chosen.choice('xyz')}/item.htm?{query}",
        "made_at": at,
        "extra": "".join(chosen.choices("abcde", k=20)),
    }


def _price(chosen: random.Random) -> int:
    return int(10 ** (chosen.random() * 6) * 100)
