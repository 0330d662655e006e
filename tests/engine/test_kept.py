"""Kept rows: what is read is what was written at those commits, or nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.engine import kept as kept_module
from headwater.engine.kept import KeptRows

ROWS = pa.table({"shop": ["a", "b", None], "n": [1, 2, 3]})


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_rows_are_read_as_they_were_kept_at_their_commits(tmp_path: Path) -> None:
    kept = KeptRows("totals", tmp_path / "new")
    kept.write({"sales": 7, "shops": 2}, ROWS, None)
    read = kept.read({"shops": 2, "sales": 7})
    assert read is not None
    assert read.equals(ROWS)
    assert read.schema.metadata is None
    assert kept.read({"sales": 8, "shops": 2}) is None
    assert kept.read({"sales": 7}) is None


def test_a_file_in_the_place_of_another_is_not_read(tmp_path: Path) -> None:
    kept = KeptRows("totals", tmp_path)
    kept.write({"sales": 7}, ROWS, None)
    seven = only_file(tmp_path)
    kept.write({"sales": 8}, ROWS.slice(1), {"sales": 7})
    (eight,) = set(tmp_path.iterdir()) - {seven}
    eight.write_bytes(seven.read_bytes())
    assert kept.read({"sales": 8}) is None
    assert kept.read({"sales": 7}) is not None


def test_a_file_of_other_rows_at_the_same_commits_is_not_read(tmp_path: Path) -> None:
    names = [("spend/v1", "open"), ("spend/v1", "totals"), ("spend/v2", "open"), ("sales/v1", "open")]
    kept = [KeptRows(name, tmp_path / version) for version, name in names]
    for each in kept:
        each.write({"sales": 7}, ROWS, None)
    files = [next(each.folder.glob(f"{each.name}-*")) for each in kept]
    before = files[0].read_bytes()
    for file in files[1:]:
        files[0].write_bytes(file.read_bytes())
        assert kept[0].read({"sales": 7}) is None
    files[0].write_bytes(before)
    assert KeptRows("open", (tmp_path / "spend/v1").rename(tmp_path / "spend/v1.1")).read({"sales": 7}) is not None


def test_any_flipped_bit_or_cut_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept, rng = KeptRows("open", tmp_path), random.Random(7)
    kept.write({"sales": 7}, ROWS, None)
    file = only_file(tmp_path)
    data = file.read_bytes()
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :])
        assert kept.read({"sales": 7}) is None
        file.write_bytes(data[:place])
        assert kept.read({"sales": 7}) is None
    assert "is damaged; its rows are computed again from the log" in caplog.text


def test_rows_of_another_lowering_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptRows("panes", tmp_path)
    kept.write({"sales": 7}, ROWS, None)
    monkeypatch.setattr(kept_module, "LOWERING", kept_module.LOWERING + 1)
    assert kept.read({"sales": 7}) is None


def test_those_of_the_step_before_are_kept_and_others_let_go(tmp_path: Path) -> None:
    kept, longer = KeptRows("once-notes", tmp_path), KeptRows("once-notes-b", tmp_path)
    longer.write({"notes-b": 1}, ROWS, None)
    for commit in range(1, 5):
        kept.write({"notes": commit}, ROWS, {"notes": commit - 1})
    assert [commit for commit in range(1, 5) if kept.read({"notes": commit}) is not None] == [3, 4]
    assert longer.read({"notes-b": 1}) is not None
    assert len(list(tmp_path.iterdir())) == 3


def test_rows_that_cannot_be_written_are_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "version").write_text("a file where the folder would be")
    kept = KeptRows("open", tmp_path / "version")
    kept.write({"sales": 7}, ROWS, None)
    assert kept.read({"sales": 7}) is None
    assert "could not be written, and its rows are computed again" in caplog.text
