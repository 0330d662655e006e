"""Random damage to a log and a store at rest: flipped bits, cut, emptied, deleted and swapped files, one at a time.

Whoever opens it after that gets the right rows, or a refusal that names what was damaged; what the refusal of a store
tells to do makes the rows right again. CHAOS_DAMAGES says how often.
"""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import LogDamaged, StoreDamaged, UnknownVersion
from headwater.log import TopicLog, open_storage
from headwater.log.maintenance import checkpoint, compact
from headwater.log.read import commits, read
from headwater.operate.mend import make_room
from headwater.store.delta import DeltaStore, upkeep
from headwater.store.sqlite import SqliteStore
from headwater.testing.conformance.targets import SPEND, Row, batch, rows_of, version
from tests.chaos.damage import DAMAGES, SEED, damage
from tests.log.conftest import ORDERS, Wall, orders


def opened(folder: Path) -> TopicLog:
    return TopicLog(ORDERS, open_storage(str(folder)), now=Wall())


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that has lived: commits, ticks, a compaction, a checkpoint, and commits behind them."""
    folder = tmp_path_factory.mktemp("healthy") / "orders"
    log = opened(folder)
    for number in range(12):
        log.append(orders(*((f"o-{number}-{row}", number * 10 + row) for row in range(5))), sequence=("till", number))
    compact(log)
    for number in range(12, 18):
        log.append(orders((f"o-{number}", number * 10)), sequence=("till", number))
    checkpoint(log)
    for number in range(18, 24):
        log.append(orders((f"o-{number}", number * 10)), sequence=("till", number))
    log.tick()
    return folder


def names(refusal: LogDamaged | StoreDamaged, hurt: set[str]) -> bool:
    """Whether a refusal names one of the files that are hurt: by its path, or an entry by its commit."""
    place = str(refusal.fields["path"])
    first, _, last = str(refusal.fields.get("commits", "-1")).partition("-")
    numbers = range(int(first or -1), int(last or first or -1) + 1)
    return any(
        place.endswith(path) or (path.endswith(".json") and int(Path(path).stem) in numbers)
        for path in (path.replace("_headwater/", "_delta_log/") for path in hurt)
    )


def outcome(folder: Path, expected: pa.Table, history: list[int]) -> LogDamaged | None:
    """None if everything is right: rows, commits, producers, and that an append is seen; else the refusal."""
    try:
        assert read(opened(folder)).equals(expected)
        numbers = [commit.number for commit in commits(opened(folder))]
        assert numbers == history[-len(numbers) :]
        log = opened(folder)
        assert log.position("till") == 23
        commit = log.append(orders(("after", 1000))).commit
    except LogDamaged as refusal:
        return refusal
    seen = read(opened(folder))
    assert commit == history[-1] + 1
    assert seen["id"].to_pylist() == [*expected["id"].to_pylist(), "after"]
    return None


def test_after_any_damage_a_log_gives_the_right_rows_or_names_it(healthy: Path, tmp_path: Path) -> None:
    expected, history = read(opened(healthy)), [commit.number for commit in commits(opened(healthy))]
    refusals = 0
    for number in range(DAMAGES):
        rng, folder = random.Random(f"{SEED}-{number}"), tmp_path / "orders"
        shutil.copytree(healthy, folder)
        what, hurt = damage(rng, folder)
        refusal = outcome(folder, expected, history)
        refusals += refusal is not None
        assert refusal is None or names(refusal, hurt), f"{number}: {what} was blamed on: {refusal}"
        shutil.rmtree(folder)
    assert refusals > DAMAGES // 2, "a checker that sees nothing"


def test_after_any_damage_a_sqlite_file_gives_the_right_rows_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store" / "views.db"
    path.parent.mkdir()
    with closing(SqliteStore(path)) as store:
        store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [(f"card-{n}", n, 1) for n in range(300)]))
        store.promote("spend", 1)
    expected, before = stored(path), {found.name: found.read_bytes() for found in path.parent.iterdir()}
    refusals = 0
    for number in range(DAMAGES):
        what, hurt = damage(random.Random(f"{SEED}-{number}"), path.parent)
        try:
            assert stored(path) == expected, f"{number}: {what}"
        except (StoreDamaged, UnknownVersion):  # an empty store has nothing to serve
            assert "views.db" in hurt, f"{number}: {what}"
            refusals += 1
        for name, data in before.items():
            (path.parent / name).write_bytes(data)
    assert refusals > DAMAGES // 4, "a checker that sees nothing"


def stored(path: Path) -> set[tuple[object, ...]]:
    with closing(SqliteStore(path)) as store:
        return rows_of(store)


def lake_of(folder: Path) -> DeltaStore:
    return DeltaStore("lake", lambda path: open_storage(str(folder / path)))


@pytest.fixture
def checkpoints_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_EVERY", 8)


@pytest.mark.usefixtures("checkpoints_often")
def test_after_any_damage_a_delta_store_gives_the_right_rows_or_names_it(tmp_path: Path) -> None:
    healthy, lake = tmp_path / "healthy", tmp_path / "lake"
    store = lake_of(healthy)
    epoch = store.open(SPEND, "plan")
    for number in range(12):
        store.apply(SPEND, epoch, batch(number, [(f"card-{n}", n, number) for n in range(number, number + 40)]))
        if number == 2:
            store.promote("spend", 1)
    expected, refusals = lake_outcome(healthy, None), 0
    for number in range(DAMAGES):
        shutil.copytree(healthy, lake)
        what, hurt = damage(random.Random(f"{SEED}-{number}"), lake)
        try:
            assert lake_outcome(lake, expected) == expected, f"{number}: {what}"
        except StoreDamaged as refusal:
            refusals += 1
            assert names(refusal, hurt), f"{number}: {what} was blamed on: {refusal}"
            assert rebuilt(lake, expected[0]) == expected[0], f"{number}: {what}"
        shutil.rmtree(lake)
    assert refusals > DAMAGES // 4, "a checker that sees nothing"


def rebuilt(folder: Path, rows: set[Row]) -> set[Row]:
    """The rows that are served once the view is replayed, as the refusal says."""
    store = lake_of(folder)
    make_room([store], "spend")
    target = version(max((known.target.version for known in store.versions("spend")), default=0) + 1)
    store.apply(target, store.open(target, "plan"), batch(0, rows, target=target))
    store.promote("spend", target.version)
    return rows_of(lake_of(folder), None)


def lake_outcome(folder: Path, expected: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """All that a store says, by its name and by version, and what changed; then a batch more must be seen."""
    store = lake_of(folder)
    found = (
        rows_of(store, None),
        rows_of(store),
        store.position("spend", 1),
        [row for part in store.changes("spend", 1) for row in part.to_pylist()],
    )
    if expected is not None:
        assert found == expected
        assert store.apply(SPEND, store.open(SPEND, "plan"), batch(12, [("more", 1, 1)]))
        assert rows_of(lake_of(folder), None) == found[0] | {("more", 1, "1.00")}
    return found
