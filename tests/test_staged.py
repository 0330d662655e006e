"""Files that are staged: whole or not there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headwater.staged import staged


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "made" / "told.json"
    with staged(file) as aside:
        aside.write_text("first")
    with pytest.raises(OSError, match="no room"), staged(file) as aside:
        aside.write_text("half of the sec")
        raise OSError("no room")
    assert file.read_text() == "first"
    assert [path.name for path in file.parent.iterdir()] == ["told.json"]


def test_several_that_write_the_same_file_disturb_nobody(tmp_path: Path) -> None:
    def write(text: str) -> None:
        for _ in range(50):
            with staged(tmp_path / "told") as aside:
                aside.write_text(text * 100)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (tmp_path / "told").read_text() in ("a" * 100, "b" * 100)
    assert [path.name for path in tmp_path.iterdir()] == ["told"]
