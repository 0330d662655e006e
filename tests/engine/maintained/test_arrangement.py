"""Arrangements: rows by key are what was put there, whatever was merged, kept and lost meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.engine.maintained import run
from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.maintained.run import hashes_of


def texts(values: list[str]) -> pa.Array:
    return pa.array(values, pa.large_string())


def found(some: Arrangement, *keys: str) -> list[int]:
    rows = some.find(texts(list(keys)))
    return [] if rows is None else sorted(rows["n"].to_pylist())


@given(st.lists(st.text(max_size=8), max_size=30))
def test_equal_texts_have_equal_hashes_wherever_they_stand(values: list[str]) -> None:
    whole = hashes_of(texts(values))
    assert [int(number) for number in whole] == [int(hashes_of(texts([value]))[0]) for value in values]
    assert [int(number) for number in hashes_of(texts(["x", *values]).slice(1))] == [int(number) for number in whole]


def test_texts_that_differ_hardly_ever_share_a_hash() -> None:
    values = [f"account {number}" for number in range(100_000)]
    assert len(set(hashes_of(texts(values)).tolist())) == len(values)


def test_a_hash_is_the_same_in_every_process() -> None:
    assert hashes_of(texts(["a", ""])).tolist() == [9551753284509723496, 0]


@pytest.mark.parametrize("collide", [False, True], ids=["hashes", "one hash for all"])
@pytest.mark.parametrize("unique", [True, False], ids=["the newest row", "every row"])
def test_rows_of_keys_are_those_that_were_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unique: bool, collide: bool
) -> None:
    if collide:
        monkeypatch.setattr(run, "_hashed", lambda keys: np.zeros(len(keys), np.uint64))
    chance, known = random.Random(3), dict[str, list[int]]()
    some = Arrangement(tmp_path, "rows", unique=unique)
    for step in range(60):
        keys = chance.sample([f"k{number}" for number in range(40)], chance.randint(0, 12))
        numbers = [chance.randrange(10**6) for _ in keys]
        some.put(texts(keys), pa.table({"n": pa.array(numbers, pa.int64())}))
        for key, number in zip(keys, numbers, strict=True):
            known[key] = [number] if unique else [*known.get(key, []), number]
        if step % 7 == 0:
            some.keep({"topic": step})
            some = Arrangement(tmp_path, "rows", unique=unique)
            assert some.open() == {"topic": step}
        wanted = chance.sample(sorted(known), min(len(known), 5))
        assert found(some, *wanted, "none") == sorted(number for key in wanted for number in known[key])
    assert len(list(tmp_path.glob("rows-*.run"))) <= len(some.sizes)


def test_there_are_few_runs_and_the_older_ones_are_larger(tmp_path: Path) -> None:
    some = Arrangement(tmp_path, "rows", unique=False)
    for step in range(300):
        some.put(texts([f"{step}"]), pa.table({"n": [step]}))
    assert len(some.sizes) <= 9
    assert some.sizes == sorted(some.sizes, reverse=True)


def test_rows_that_others_have_kept_are_not_taken(tmp_path: Path) -> None:
    mine, other = (Arrangement(tmp_path, name, unique=False) for name in ("rows0", "rows1"))
    for number, some in enumerate((mine, other)):
        some.put(texts(["a"]), pa.table({"n": [number]}))
        some.keep({"topic": 7})
    (tmp_path / "rows0.json").write_bytes((tmp_path / "rows1.json").read_bytes())
    assert Arrangement(tmp_path, "rows0", unique=False).open() is None
    assert Arrangement(tmp_path, "rows1", unique=False).open() == {"topic": 7}


@pytest.mark.parametrize("lost", ["cut", "changed", "missing", "list"])
def test_what_was_damaged_is_made_again(tmp_path: Path, lost: str) -> None:
    some = Arrangement(tmp_path, "rows", unique=True)
    some.put(texts(["a", "b"]), pa.table({"n": [1, 2]}))
    some.keep({"topic": 7})
    (file,) = tmp_path.glob("rows-*.run")
    if lost == "missing":
        file.unlink()
    elif lost == "list":
        told = tmp_path / "rows.json"
        told.write_text(told.read_text().replace('"topic": 7', '"topic": 8'))
    else:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data if lost == "changed" else data[:-1])
    again = Arrangement(tmp_path, "rows", unique=True)
    assert again.open() is None
    assert found(again, "a") == []
