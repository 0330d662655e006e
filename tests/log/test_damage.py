"""A damaged log says so, by the commits that are hurt; nothing is guessed, and nothing is appended behind it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.errors import LogDamaged, LogUnavailable
from headwater.log import TopicLog, open_storage, storage
from headwater.log.maintenance import checkpoint, compact
from headwater.log.read import commits, read
from headwater.log.scrub import scrub
from headwater.log.seal import checksum_in
from tests.log.conftest import ORDERS, Wall, orders, unseal


def opened(folder: Path) -> TopicLog:
    """The log as another process sees it."""
    return TopicLog(ORDERS, open_storage(str(folder)), now=Wall())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of six commits with a row each."""
    log = opened(tmp_path / "orders")
    for number in range(6):
        log.append(orders((f"o-{number}", number)))
    return tmp_path / "orders"


def entry(folder: Path, number: int) -> Path:
    return folder / "_delta_log" / f"{number:020d}.json"


def data_file(folder: Path, commit: int) -> Path:
    return next(folder.glob(f"{commit:020d}-*.parquet"))


def flip(path: Path, at: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def refused(log: TopicLog) -> LogDamaged:
    """The refusal that a read and an append both meet."""
    with pytest.raises(LogDamaged) as reading:
        read(log)
    with pytest.raises(LogDamaged) as appending:
        log.append(orders(("new", 99)))
    assert reading.value.fields["commits"] == appending.value.fields["commits"]
    return reading.value


def test_a_flipped_bit_in_a_data_file_is_found_wherever_it_is(folder: Path) -> None:
    path = data_file(folder, 3)
    before = path.read_bytes()
    for at in range(0, len(before), 97):
        flip(path, at, at % 8)
        with pytest.raises(LogDamaged, match="it was written with") as damaged:
            read(opened(folder))
        assert damaged.value.fields["commits"] == "3"
        assert damaged.value.fields["path"] == str(path)
        path.write_bytes(before)
    assert read(opened(folder)).num_rows == 6


def test_a_file_that_was_read_is_checked_again_if_it_has_changed(folder: Path) -> None:
    log = opened(folder)
    assert read(log).num_rows == 6
    flip(data_file(folder, 3), 100)
    with pytest.raises(LogDamaged, match='a file of topic "orders" is damaged'):
        read(log)


def test_two_files_in_each_others_place_are_refused(folder: Path) -> None:
    first, second = data_file(folder, 2), data_file(folder, 3)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(LogDamaged, match='a file of topic "orders" is damaged'):
        read(opened(folder))


@pytest.mark.parametrize("number", [0, 3, 6])
def test_a_missing_entry_is_a_hole_that_is_named(folder: Path, number: int) -> None:
    entry(folder, number).unlink()
    damaged = refused(opened(folder))
    assert damaged.fields["commits"] == str(number)
    assert "missing" in damaged.summary
    with pytest.raises(LogDamaged, match="missing"):
        list(commits(opened(folder)))


def test_nothing_is_written_into_a_hole(folder: Path) -> None:
    log, other = opened(folder), opened(folder)
    assert log.head == 6
    other.append(orders(("seven", 7)))
    other.append(orders(("eight", 8)))
    entry(folder, 7).unlink()
    with pytest.raises(LogDamaged, match=r"entry 7 .* is missing"):
        log.append(orders(("lost", 9)))
    assert not entry(folder, 7).exists()


def test_a_hole_behind_a_reader_that_waits_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, other = opened(folder), opened(folder)
    assert log.head == 6
    for number in range(3):
        other.append(orders((f"later-{number}", 10)))
    entry(folder, 7).unlink()
    monkeypatch.setattr(log._journal, "_listed_at", 0.0)
    with pytest.raises(LogDamaged, match=r"entry 7 .* is missing"):
        _ = log.head


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b'{"commitInfo":{}}', b'{"other":1}', b"[1]", b'{"add'])
def test_an_entry_without_what_it_must_have_is_refused(folder: Path, content: bytes) -> None:
    entry(folder, 3).write_bytes(content)
    damaged = refused(opened(folder))
    assert "3" in damaged.fields["commits"]
    assert "headwater repair orders --from" in (damaged.hint or "")


def test_the_newest_entry_is_vouched_for_by_its_witness(folder: Path) -> None:
    entry(folder, 6).write_bytes(b'{"commitInfo":{"operation":"OPTIMIZE"}}')
    damaged = refused(opened(folder))
    assert "entry 6" in damaged.summary
    assert "was replaced" in damaged.summary


def test_a_witness_that_is_damaged_or_gone_says_nothing(folder: Path) -> None:
    (folder / "_headwater" / "head").write_bytes(b"9" * 40)
    assert read(opened(folder)).num_rows == 6
    (folder / "_headwater" / "head").unlink()
    assert opened(folder).append(orders(("new", 99))).commit == 7


def test_an_altered_entry_is_refused_whatever_was_altered(folder: Path) -> None:
    before = entry(folder, 3).read_bytes()
    for at in range(0, len(before), 11):
        flip(entry(folder, 3), at, at % 8)
        assert "3" in refused(opened(folder)).fields["commits"], at
        entry(folder, 3).write_bytes(before)
    assert read(opened(folder)).num_rows == 6


def test_entries_in_each_others_place_are_refused(folder: Path) -> None:
    first, second = entry(folder, 3).read_bytes(), entry(folder, 4).read_bytes()
    entry(folder, 3).write_bytes(second)
    entry(folder, 4).write_bytes(first)
    assert "written as entry 4" in (refused(opened(folder)).detail or "")


def test_an_entry_of_another_log_breaks_the_chain(folder: Path, tmp_path: Path) -> None:
    other = opened(tmp_path / "other")
    for number in range(6):
        other.append(orders((f"x-{number}", number)))
    entry(folder, 3).write_bytes(entry(tmp_path / "other", 3).read_bytes())
    damaged = refused(opened(folder))
    assert "do not follow each other" in damaged.summary


def test_a_log_from_before_there_were_seals_is_read_as_it_is_and_sealed_from_its_next_commit(folder: Path) -> None:
    unseal(folder)
    for path in folder.glob("*.parquet"):
        old = path.rename(path.with_name(f"{path.stem.rpartition('-')[0]}.parquet"))
        for number in range(7):
            entry(folder, number).write_text(entry(folder, number).read_text().replace(path.name, old.name))
    log = opened(folder)
    assert all(checksum_in(path) is None for path in log.snapshot().files)
    log.append(orders(("new", 99)))
    assert read(opened(folder)).num_rows == 7
    entry(folder, 6).write_text(entry(folder, 6).read_text().replace('"WRITE"', '"OTHER"'))
    assert "do not follow each other" in refused(opened(folder)).summary


def test_a_renamed_statistic_of_such_a_log_is_a_refusal(folder: Path) -> None:
    unseal(folder)
    entry(folder, 6).write_text(entry(folder, 6).read_text().replace("minValues", "leastValues"))
    with pytest.raises(LogDamaged, match=r"entry 6 .* is damaged"):
        read(opened(folder))
    entry(folder, 6).write_text(entry(folder, 6).read_text().replace("clock", "block"))
    with pytest.raises(LogDamaged, match='Its note has no "clock"'):
        read(opened(folder))


def test_a_damaged_checkpoint_is_refused_and_a_lost_pointer_is_found_again(folder: Path) -> None:
    checkpoint(opened(folder))
    state = next((folder / "_delta_log").glob("*.checkpoint.parquet"))
    before = state.read_bytes()
    for at in range(4, len(before), 997):
        flip(state, at)
        with pytest.raises(LogDamaged, match=r"the checkpoint 6 .* is damaged"):
            read(opened(folder))
        state.write_bytes(before)
    (folder / "_delta_log" / "_last_checkpoint").unlink()
    assert read(opened(folder)).num_rows == 6
    for number in range(6):
        entry(folder, number).unlink()
    assert read(opened(folder)).num_rows == 6
    state.unlink()
    with pytest.raises(LogDamaged, match=r"entries 0 to 5 .* are missing"):
        read(opened(folder))


def test_compaction_and_checkpoints_carry_the_chain_on(folder: Path) -> None:
    log = opened(folder)
    assert compact(log) == 6
    checkpoint(log)
    log.append(orders(("new", 99)))
    again = opened(folder)
    assert read(again).num_rows == 7
    assert all(checksum_in(path) is not None for path in again.snapshot().files)
    links = [again.entries.read(number) for number in range(9)]
    notes = [(entry.note or {})["previous"] for entry in links if entry]
    assert notes == [None, *(entry.seal for entry in links[:-1] if entry)]


def test_other_readers_of_delta_tables_read_it(folder: Path) -> None:
    checkpoint(opened(folder))
    opened(folder).append(orders(("new", 99)))
    assert DeltaTable(folder).to_pyarrow_table().num_rows == 7


def test_a_full_disk_loses_nothing_that_was_acknowledged_and_it_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, written = opened(folder), storage._write_synced
    for files in range(3):  # how many of an append's files there is room for: its data, its entry
        room = iter([True] * files)

        def write(target: str, data: bytes, *how: int, room: Iterator[bool] = room) -> None:
            if next(room, False):
                return written(target, data, *how)
            Path(target).write_bytes(bytes(data)[:10])  # as much as there was room for
            raise OSError(errno.ENOSPC, "No space left on device")

        before = read(opened(folder)).num_rows
        monkeypatch.setattr(storage, "_write_synced", write)
        try:
            log.append(orders(("new", 99)))
            acknowledged = 1
        except LogUnavailable as full:
            assert "No space left" in str(full)
            acknowledged = 0
        monkeypatch.setattr(storage, "_write_synced", written)
        assert acknowledged == (files == 2)
        assert read(opened(folder)).num_rows == before + acknowledged
        assert not scrub(open_storage(str(folder)), "orders").hurt
        assert log.append(orders(("after", 100))).commit == opened(folder).head
