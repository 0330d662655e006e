"""A scrub tells all that is hurt at once; a backup puts it back; what no copy has is declared lost by name."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.errors import ArgumentRefused, LogDamaged
from headwater.log import TopicLog, open_storage
from headwater.log.backup import RECORD, back_up, read_record, restore
from headwater.log.loss import Lost, declare_lost, lost_of
from headwater.log.maintenance import checkpoint, compact, forget_entries
from headwater.log.read import commits, read
from headwater.log.repair import parse_commits, repair
from headwater.log.scrub import find_logs, scrub
from headwater.log.storage import Storage
from tests.log.conftest import ORDERS, START, Wall, orders, unseal


def opened(data: Path) -> TopicLog:
    return TopicLog(ORDERS, open_storage(str(data / "log/orders")), now=Wall())


def at(path: Path) -> Storage:
    return open_storage(str(path))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data of a project with a log of eight commits, six of them merged, and a reader's position."""
    log = opened(tmp_path / "data")
    for number in range(6):
        log.append(orders((f"o-{number}", number)), sequence=("till", number))
    compact(log)
    for number in range(6, 9):
        log.append(orders((f"o-{number}", number)), sequence=("till", number))
    (tmp_path / "data/readers").mkdir()
    (tmp_path / "data/readers/billing.json").write_text("{}")
    return tmp_path / "data"


def entry(data: Path, number: int) -> Path:
    return data / f"log/orders/_delta_log/{number:020d}.json"


def flip(path: Path, where: int = 100) -> None:
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)


def file_of(data: Path, commit: int) -> Path:
    return next((data / "log/orders").glob(f"{commit:020d}-*.parquet"))


def hurt(data: Path) -> dict[str, str]:
    return {found.commits: found.reason for found in scrub(at(data / "log/orders"), "log/orders").hurt}


def test_a_healthy_log_has_nothing_hurt(data: Path) -> None:
    assert find_logs(at(data)) == ["log/orders"]
    found = scrub(at(data / "log/orders"), "log/orders")
    assert (found.head, found.entries, found.files, found.unchecked, found.hurt) == (10, 11, 4, 0, ())


def test_all_that_is_hurt_is_told_with_its_commits(data: Path) -> None:
    flip(file_of(data, 8))
    file_of(data, 9).unlink()
    flip(entry(data, 3))
    entry(data, 5).unlink()
    found = hurt(data)
    assert set(found) == {"3", "5", "8", "9"}
    assert found["5"] == "entry 5 is missing"
    assert found["9"] == "the file is missing"


def test_shares_make_up_a_whole(data: Path) -> None:
    flip(file_of(data, 8))
    entry(data, 5).write_bytes(b"")
    found = [scrub(at(data / "log/orders"), "orders", (share, 24)).hurt for share in range(24)]
    assert {each.commits for hurt in found for each in hurt} == {"5", "8"}


def test_what_is_from_before_there_were_checksums_is_counted(data: Path) -> None:
    unseal(data / "log/orders")
    found = scrub(at(data / "log/orders"), "orders")
    assert (found.unchecked, found.hurt) == (11, ())


def test_a_backup_is_a_log_that_anybody_reads(data: Path, tmp_path: Path) -> None:
    done = back_up(at(data), at(tmp_path / "copy"), START)
    assert done.good
    assert done.heads == {"log/orders": 10}
    assert read(opened(tmp_path / "copy")).equals(read(opened(data)))
    assert DeltaTable(tmp_path / "copy/log/orders").to_pyarrow_table().num_rows == 9


def test_the_next_backup_copies_what_is_new(data: Path, tmp_path: Path) -> None:
    first = back_up(at(data), at(tmp_path / "copy"), START)
    again = back_up(at(data), at(tmp_path / "copy"), START)
    assert again.objects == 1 < first.objects, "the position of a reader may have changed"
    log = opened(data)
    log.append(orders(("new", 99)))
    checkpoint(log)
    assert back_up(at(data), at(tmp_path / "copy"), START).objects == 6, "file, entry, checkpoint, its sum, pointer"
    assert read(opened(tmp_path / "copy")).num_rows == 10


def test_a_backup_while_others_append_is_a_prefix_of_the_log(data: Path, tmp_path: Path) -> None:
    log = opened(data)
    done = back_up(
        at(data), at(tmp_path / "copy"), START, lambda *_: log.append(orders(("meanwhile", 50))) and compact(log)
    )
    assert done.good
    head = done.heads["log/orders"]
    assert read(opened(tmp_path / "copy")).equals(read(opened(data), last=head))


def test_a_file_that_is_half_written_is_no_part_of_a_log_and_not_backed_up(data: Path, tmp_path: Path) -> None:
    """Its writer is at it, or was killed; a file of the log that is cut short is refused."""
    whole = file_of(data, 8)
    half = whole.with_name(f"{99:020d}{whole.name[20:]}")
    half.write_bytes(whole.read_bytes()[:100])
    assert back_up(at(data), at(tmp_path / "copy"), START).good
    assert not (tmp_path / "copy/log/orders" / half.name).exists()
    whole.write_bytes(whole.read_bytes()[:100])
    with pytest.raises(LogDamaged, match="can't be backed up"):
        back_up(at(data), at(tmp_path / "other"), START)


def test_a_backup_behind_entries_that_were_let_go_of_is_whole(data: Path, tmp_path: Path) -> None:
    back_up(at(data), at(tmp_path / "copy"), START)
    wall = Wall()
    log = TopicLog(ORDERS, open_storage(str(data / "log/orders")), now=wall)
    for number in range(5):
        log.append(orders((f"later-{number}", 50)))
    wall.move(days=40)
    log.append(orders(("last", 60)))
    checkpoint(log)
    assert forget_entries(log) == 16
    done = back_up(at(data), at(tmp_path / "copy"), START)
    assert done.good
    assert read(opened(tmp_path / "copy")).num_rows == 15


def test_a_damaged_file_is_not_backed_up(data: Path, tmp_path: Path) -> None:
    flip(file_of(data, 8))
    with pytest.raises(LogDamaged, match="can't be backed up") as refused:
        back_up(at(data), at(tmp_path / "copy"), START)
    assert refused.value.fields["commits"] == "8"
    assert not (tmp_path / "copy" / RECORD).exists()


def test_a_backup_is_restored_where_there_is_no_log(data: Path, tmp_path: Path) -> None:
    back_up(at(data), at(tmp_path / "copy"), START)
    with pytest.raises(ArgumentRefused, match="has logs"):
        restore(at(tmp_path / "copy"), at(data))
    expected = read(opened(data))
    shutil.rmtree(data)
    assert restore(at(tmp_path / "copy"), at(data)).good
    assert read(opened(data)).equals(expected)
    assert opened(data).append(orders(("o-8", 8)), sequence=("till", 8)).repeated, "it remembers its producers"
    assert (data / "readers/billing.json").exists()
    with pytest.raises(ArgumentRefused, match="is no backup"):
        read_record(at(tmp_path / "nothing"))


def test_a_backup_goes_to_an_object_store_and_back(data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("s3_server")
    bucket = open_storage(f"{server.url}/backup-{random.random()}", server.storage_options)
    assert back_up(at(data), bucket, START).good
    assert restore(bucket, at(tmp_path / "back")).good
    assert read(opened(tmp_path / "back")).equals(read(opened(data)))


def test_what_is_hurt_is_put_back_from_a_backup(data: Path, tmp_path: Path) -> None:
    back_up(at(data), at(tmp_path / "copy"), START)
    expected = read(opened(data))
    flip(file_of(data, 8))
    file_of(data, 9).unlink()
    flip(entry(data, 3))
    entry(data, 5).unlink()
    entry(data, 10).unlink()
    done = repair(at(data / "log/orders"), "log/orders", at(tmp_path / "copy/log/orders"))
    assert len(done.back) == 5
    assert not done.left
    assert read(opened(data)).equals(expected)


def test_what_a_copy_has_damaged_too_is_not_put_back(data: Path, tmp_path: Path) -> None:
    back_up(at(data), at(tmp_path / "copy"), START)
    for place in (data, tmp_path / "copy"):
        flip(file_of(place, 8), 100 if place == data else 101)
        entry(place, 5).write_bytes(b"" if place == data else b"{}")
    done = repair(at(data / "log/orders"), "log/orders", at(tmp_path / "copy/log/orders"))
    assert {found.commits for found in done.left} == {"5", "8"}
    assert not done.back


def test_a_damaged_checkpoint_or_pointer_needs_no_copy(data: Path) -> None:
    checkpoint(opened(data))
    folder = data / "log/orders/_delta_log"
    for path in (next(folder.glob("*.checkpoint.parquet")), folder / "_last_checkpoint"):
        checkpoint(opened(data))
        path.write_bytes(b"damaged")
        with pytest.raises(LogDamaged):
            read(opened(data))
        assert not repair(at(data / "log/orders"), "log/orders").left
        assert read(opened(data)).num_rows == 9


def lose(data: Path, *numbers: int) -> Lost:
    return declare_lost(ORDERS, at(data / "log/orders"), list(numbers), "the disk died", Wall())


def test_rows_of_a_lost_file_are_declared_lost(data: Path) -> None:
    file_of(data, 8).unlink()
    with pytest.raises(ArgumentRefused, match='commit 9 of "orders" is not lost'):
        lose(data, 8, 9)
    assert lose(data, 8) == Lost(rows=1, entries=0)
    log = opened(data)
    assert read(log)["id"].to_pylist() == ["o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-7", "o-8"]
    assert lost_of(log) == Lost(1, 0)
    assert list(commits(log))[-1].kind == "lost"
    checkpoint(log)
    file_of(data, 10).unlink()
    lose(data, 10)
    assert lost_of(opened(data)) == Lost(2, 0), "what was lost before is never forgotten"
    assert not hurt(data)


@pytest.mark.parametrize("number", [9, 10])
def test_a_lost_entry_is_declared_lost_and_the_log_goes_on(data: Path, number: int) -> None:
    entry(data, number).write_bytes(b"")
    assert lose(data, number) == Lost(rows=0, entries=1)
    log = opened(data)
    assert f"o-{number - 2}" not in read(log)["id"].to_pylist()
    assert read(log).num_rows == 8
    assert lost_of(log) == Lost(0, 1)
    assert log.append(orders(("new", 99))).commit == 12
    assert not hurt(data)
    assert read(opened(data)).num_rows == 9


def test_the_first_entry_can_not_be_declared_lost(data: Path) -> None:
    entry(data, 0).unlink()
    with pytest.raises(ArgumentRefused, match="can't be declared lost"):
        lose(data, 0)


@pytest.mark.parametrize("text", ["", "a", "3-", "-3", "1-2-3", "9" * 40])
def test_commits_are_numbers_and_ranges(text: str) -> None:
    with pytest.raises(ArgumentRefused, match="names no commits"):
        parse_commits(text)
