"""Readers beside a writer: every read is a state of some prefix of the batches, in order."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from headwater.model import Store as Declared
from headwater.store import Store, open_store
from headwater.testing import History, Read, Write, check_history
from headwater.testing.conformance.targets import SPEND, batch

BATCHES, ROWS = 40, 60


@pytest.fixture(params=["sqlite", "postgres", "redis", "delta"])
def declared(request: pytest.FixtureRequest, tmp_path: Path) -> Declared:
    name = uuid.uuid4().hex
    if request.param == "sqlite":
        return Declared(name="main", url=f"sqlite:///{tmp_path}/views.db")
    if request.param == "delta":
        return Declared(name="main", url=f"delta://{tmp_path}/lake")
    url = request.getfixturevalue(f"{request.param}_server").url
    options = (("schema", f"history_{name}"),) if request.param == "postgres" else (("prefix", f"{name}:"),)
    return Declared(name="main", url=url, options=options)


def states() -> list[frozenset[tuple[str, int, str]]]:
    """Batch N rewrites a third of the rows, adds one and removes the one that batch N − 5 added."""
    rows = {(f"c{place}", 0): "0.00" for place in range(ROWS)}
    found = []
    for number in range(BATCHES):
        rows.update({(f"c{place}", 0): f"{number}.00" for place in range(number % 3, ROWS, 3)})
        rows[f"n{number}", 0] = f"{number}.00"
        rows.pop((f"n{number - 5}", 0), None)
        found.append(frozenset((card, minute, spent) for (card, minute), spent in rows.items()))
    return found


def write(store: Store, epoch: int, history: History) -> None:
    wanted = states()
    for number, state in enumerate(wanted):
        before = wanted[number - 1] if number else frozenset()
        gone = {row[:2] for row in before} - {row[:2] for row in state}
        began = time.monotonic()
        store.apply(SPEND, epoch, batch(number, sorted(state - before), sorted(gone)))
        history.writes.append(Write(began, time.monotonic(), state))


def reader(store: Store, name: str, history: History, done: threading.Event) -> Callable[[], None]:
    def read() -> None:
        while not done.is_set():
            began = time.monotonic()
            rows = store.read("spend", 1).to_pylist()
            seen = [(row["card"], row["minute"], str(row["spent"])) for row in rows]
            history.reads.append(Read(name, began, time.monotonic(), seen))

    return read


def test_every_read_is_a_state_of_some_prefix_in_order(declared: Declared, tmp_path: Path) -> None:
    history, done = History(), threading.Event()
    with ExitStack() as stack:
        writer, *others = [stack.enter_context(closing(open_store(declared, tmp_path))) for _ in range(3)]
        epoch = writer.open(SPEND, "plan")
        readers = [
            threading.Thread(target=reader(store, f"reader {place}", history, done))
            for place, store in enumerate(others)
        ]
        for thread in readers:
            thread.start()
        try:
            write(writer, epoch, history)
        finally:
            done.set()
            for thread in readers:
                thread.join()
    assert check_history(history) == []
    assert len({frozenset(read.rows) for read in history.reads}) > 5, "they read while it was written"
