"""Zombies: a process that is stopped at a moment that chance decides, and goes on after another has taken over.

CHAOS_ZOMBIES says how many for each store: `make chaos` takes 50.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import StoreUnavailable
from headwater.model import Store as Declared
from headwater.store import Store, open_store
from headwater.testing.conformance.targets import SPEND
from tests.store.test_processes import check, numbered, nursery, opened, url

__all__ = ["url"]  # the fixture: a store that nothing is in yet, of every kind

ZOMBIES = int(os.environ.get("CHAOS_ZOMBIES", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
LIVE = """
def live(url):
    from headwater.errors import Fenced
    store = opened(url)
    epoch = patiently(lambda: store.open(SPEND, "plan"))
    position = store.position("spend", 1)
    number = 0 if position is None else position.batch + 1
    while True:
        try:
            patiently(lambda: store.apply(SPEND, epoch, numbered(number)))
            number += 1
            print("applied", number - 1, flush=True)
        except Fenced:
            print("fenced", number, flush=True)
            os._exit(0)
"""


def impatient(url: str) -> Store:
    """The store for an heir, who in SQLite would wait long for a file that a stopped process keeps."""
    if not url.startswith("sqlite"):
        return opened(url)
    return open_store(Declared(name="main", url=url, options=(("busy_timeout", "100 ms"),)), Path())


def taken_over(heir: Store, child: int, chance: random.Random) -> int:
    """The heir's epoch. A process that is stopped within a transaction of SQLite keeps the file until it goes on."""
    while True:
        try:
            return heir.open(SPEND, "plan")
        except StoreUnavailable:
            os.kill(child, signal.SIGCONT)
            time.sleep(chance.random() * 0.02)
            os.kill(child, signal.SIGSTOP)


@pytest.mark.timeout(120 + 40 * ZOMBIES)
def test_a_zombie_is_fenced_wherever_it_was_stopped(url: str) -> None:
    chance = random.Random(SEED)
    with nursery(LIVE) as (start, line):
        for _ in range(ZOMBIES):
            start(url)
            child, applied = 0, 0
            while not child or not applied:
                word, number = line()
                assert word != "ended", "it failed by itself, and says why on standard error"
                child = int(number) if word == "child" else child
                applied += word == "applied"
            time.sleep(chance.random() * 0.05)
            os.kill(child, signal.SIGSTOP)
            with closing(impatient(url)) as heir:
                epoch = taken_over(heir, child, chance)
                position = heir.position("spend", 1)
                assert position is not None
                assert heir.apply(SPEND, epoch, numbered(position.batch + 1))
                os.kill(child, signal.SIGCONT)
                words = []
                while not words or words[-1] != "ended":
                    words.append(line()[0])
                assert words[-2:] == ["fenced", "ended"]
            assert check(url, position.batch + 1) == position.batch + 1, "what the heir wrote, and nothing else"
