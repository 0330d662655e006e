"""Files of a folder: each once, whole, in a stated order, and from where a killed process left them."""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater.errors import SourceReplaced, SourceUnavailable
from headwater.intake.folder import piece as pieces
from headwater.intake.folder.shelf import Listed
from headwater.intake.folder.stillness import Stillness
from headwater.log import TopicLog
from headwater.project import Project
from tests.patience import PATIENCE

STREAM = "CREATE STREAM payments (id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at)"


class Drop:
    """A project that takes in a folder of its own, `in`."""

    def __init__(self, home: Path, options: str = "settle = '0 seconds'") -> None:
        self.folder, self.place = home, home / "in"
        self.place.mkdir()
        (home / "headwater.toml").write_text('name = "shop"')
        self.declare(options)

    def declare(self, options: str) -> None:
        (self.folder / "payments.sql").write_text(
            f"{STREAM} WITH (connector = 'folder', path = 'in', poll = '10 milliseconds', {options});"
        )

    def put(self, name: str, content: bytes) -> None:
        (self.place / name).parent.mkdir(parents=True, exist_ok=True)
        (self.place / name).write_bytes(content)

    def take_in(self) -> tuple[int, int]:
        with hw.open(self.folder) as project:
            (taken,) = project.take_in()
            return taken.rows, taken.dead

    @property
    def ids(self) -> list[str]:
        with hw.open(self.folder) as project:
            return project.read("payments")["id"].to_pylist() if project.log.head("payments") >= 0 else []

    @property
    def letters(self) -> list[tuple[str, str]]:
        with hw.open(self.folder) as project:
            found = project.dead("payments")
            return list(zip(found["position"].to_pylist(), found["error"].to_pylist(), strict=True))


@pytest.fixture
def drop(tmp_path: Path) -> Drop:
    return Drop(tmp_path)


def lines(*numbers: int) -> bytes:
    return b"".join(b'{"id": "p%d", "amount": %d, "at": "2026-01-01T00:00:00Z"}\n' % (at, at) for at in numbers)


# Formats

ROWS = [{"id": f"p{number}", "amount": number, "at": 1767225600000000} for number in range(3)]
TABLE = pa.Table.from_pylist(
    ROWS, pa.schema([("id", pa.string()), ("amount", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
)
AVRO = {
    "type": "record",
    "name": "Payment",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": ["null", "int"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}


def written(write: Callable[[BytesIO], Any]) -> bytes:
    sink = BytesIO()
    write(sink)
    return sink.getvalue()


def arrow_stream(sink: BytesIO) -> None:
    with pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)


FILES = {
    "a.jsonl": lines(0, 1, 2),
    "a.jsonl.gz": gzip.compress(lines(0, 1, 2)),
    "a.json.zst": pa.compress(lines(0, 1, 2), "zstd", asbytes=True),
    "a.csv": b"id,amount,at\n" + b"".join(b"p%d,%d,2026-01-01T00:00:00Z\n" % (at, at) for at in range(3)),
    "a.tsv.gz": gzip.compress(
        b"id\tamount\tat\n" + b"".join(b"p%d\t%d\t2026-01-01T00:00:00Z\n" % (at, at) for at in range(3))
    ),
    "a.parquet": written(lambda sink: pq.write_table(TABLE, sink)),
    "a.feather": written(lambda sink: pyarrow.feather.write_feather(TABLE, sink)),
    "a.arrow": written(arrow_stream),
    "a.avro": written(lambda sink: fastavro.writer(sink, AVRO, TABLE.to_pylist())),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_the_format_that_its_name_says(drop: Drop, name: str) -> None:
    drop.put(name, FILES[name])
    assert drop.take_in() == (3, 0)
    with hw.open(drop.folder) as project:
        rows = project.read("payments").select(["id", "amount", "at", "_source"])
    expected = TABLE.append_column("_source", pa.array(["in"] * 3))
    assert rows.to_pylist() == expected.to_pylist()


def test_a_file_that_cant_be_read_is_a_dead_letter_from_there_on_and_the_others_go_on(drop: Drop) -> None:
    drop.put("a.parquet", b"PAR1 and nothing else")
    drop.put("b.jsonl.gz", gzip.compress(os.urandom(200_000) + b"\n" + lines(0) * 40_000)[:100_000])
    drop.put("c.bin", b"\0\1\2")
    drop.put("d.avro", FILES["a.avro"][:-10])
    drop.put("e.jsonl", lines(1) + b"mess\n" + lines(2))
    assert drop.take_in() == (2, 5)
    assert drop.take_in() == (0, 0)
    assert [(place, error) for place, error in drop.letters if not place.startswith("b")] == [
        ("a.parquet:1", "unreadable-event"),
        ("c.bin:1", "unreadable-event"),
        ("d.avro:1", "unreadable-event"),
        ("e.jsonl:2", "unreadable-event"),
    ]


# Each once


def test_a_file_is_told_by_its_name_and_its_content(drop: Drop) -> None:
    drop.put("a.jsonl", lines(0, 1))
    assert drop.take_in() == (2, 0)
    os.utime(drop.place / "a.jsonl")  # touched: the content is the same
    assert drop.take_in() == (0, 0)
    drop.put("copy.jsonl", lines(0, 1))  # another name is another file
    assert drop.take_in() == (2, 0)
    (drop.place / "a.jsonl").unlink()
    assert drop.take_in() == (0, 0)
    drop.put("a.jsonl", lines(0, 1))  # it comes back as it was
    assert drop.take_in() == (0, 0)
    drop.put("a.jsonl", lines(0, 1, 2))
    assert drop.take_in() == (0, 1)
    assert drop.take_in() == (0, 0)
    drop.put("a.jsonl", lines(7))
    assert drop.take_in() == (0, 1)
    assert drop.ids == ["p0", "p1", "p0", "p1"]
    assert drop.letters == [("a.jsonl (replaced):2", "file-replaced"), ("a.jsonl (replaced):3", "file-replaced")]
    with hw.open(drop.folder) as project:
        assert project.redrive("payments").rows == 0


def test_what_the_log_keeps_of_files_doesnt_grow_with_them(drop: Drop) -> None:
    for number in range(100):
        drop.put(f"{number:03}.jsonl", lines(number))
    assert drop.take_in() == (100, 0)
    with hw.open(drop.folder) as project:
        entries = project._logs.of("payments").entries
        producers = {name for entry in entries.after(-1) for name in (entry.note or {}).get("producers", {})}
        assert producers == {"folder:in"}
        assert len(project.log.commits("payments")) < 10  # small files share commits


def test_names_that_are_hidden_or_unfinished_and_others_than_asked_for_are_passed_by(drop: Drop) -> None:
    drop.declare("settle = '0 seconds', pattern = '**/*.jsonl'")
    for name in ("a.jsonl", "deep/er/b.jsonl", ".c.jsonl", "_d/e.jsonl", "f.jsonl.tmp", "g.csv"):
        drop.put(name, lines(0))
    with hw.open(drop.folder) as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead, dict(taken.places)) == (2, 0, {"in": "file 3"})


# Half-written files


def test_a_file_is_read_when_it_has_not_changed_for_a_while() -> None:
    clock = [100.0]
    stillness = Stillness(timedelta(seconds=2), lambda: clock[0])

    def look(version: str, seconds: float) -> bool:
        clock[0] += seconds
        modified_at = stillness._now()  # just now, whatever the clock of the test says
        return bool(stillness.unchanged([Listed("a.jsonl", 1, version, modified_at)]))

    assert not look("one", 0)
    assert not look("one", 1.9)
    assert not look("two", 0.1)
    assert not look("two", 1.9)
    assert look("two", 0.1)


def test_a_file_that_grows_is_never_read_in_part(tmp_path: Path) -> None:
    drop = Drop(tmp_path, "settle = '1500 milliseconds'")
    stop = threading.Event()

    def write() -> None:
        with (drop.place / "slow.jsonl").open("wb") as file:
            for number in range(12):
                file.write(lines(number)[:20])
                file.flush()
                time.sleep(0.05)
                file.write(lines(number)[20:])
                file.flush()
        drop.put("after.jsonl", lines(99))

    writer = threading.Thread(target=write)
    with hw.open(drop.folder) as project:
        running = threading.Thread(target=project.run, kwargs={"stop": stop})
        running.start()
        writer.start()
        seen = set()
        deadline = time.monotonic() + PATIENCE
        while (count := count_rows(project)) < 13:
            seen.add(count)
            assert time.monotonic() < deadline
            time.sleep(0.02)
        stop.set()
        running.join(PATIENCE)
        writer.join(PATIENCE)
        assert seen <= {0, 1, 12}, "each file comes at once"
        assert project.dead("payments").num_rows == 0


def count_rows(project: Project) -> int:
    return project.read("payments").num_rows if project.log.head("payments") >= 0 else 0


# Order


def test_of_files_that_are_ready_the_first_by_name_or_by_time_comes_first(tmp_path: Path) -> None:
    for order, expected in (("name", ["p1", "p2", "p3"]), ("modified", ["p3", "p1", "p2"])):
        home = tmp_path / order
        home.mkdir()
        drop = Drop(home, f"settle = '0 seconds', order = '{order}'")
        for age, number in ((1, 2), (3, 3), (2, 1)):
            drop.put(f"{number}.jsonl", lines(number))
            os.utime(drop.place / f"{number}.jsonl", (time.time() - age, time.time() - age))
        assert drop.take_in() == (3, 0)
        assert drop.ids == expected


# Killed in the middle


def test_a_large_file_goes_on_behind_the_last_event_that_is_in_the_log(
    drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop.put("a.jsonl", lines(*range(25)) + b"mess\n" + lines(*range(25, 50)))
    drop.put("b.csv", b"id,amount,at\n" + b"".join(b"p%d,%d,2026-01-01T00:00:00Z\n" % (at, at) for at in range(50, 60)))
    monkeypatch.setattr("headwater.intake.folder.inlet.MOST_EVENTS", 7)
    appended = TopicLog.append
    for size in (5, 7, 3, 11, 4):
        monkeypatch.setattr(pieces, "AT_ONCE", size)
        commits = 0

        def kill(log: TopicLog, rows: pa.Table, **how: Any) -> Any:
            nonlocal commits
            if rows.num_rows and "id" in rows.column_names:
                commits += 1
                if commits == 2:
                    raise KeyboardInterrupt
            return appended(log, rows, **how)

        monkeypatch.setattr(TopicLog, "append", kill)
        with pytest.raises(KeyboardInterrupt):
            drop.take_in()
        monkeypatch.setattr(TopicLog, "append", appended)
    drop.take_in()
    assert drop.ids == [f"p{number}" for number in range(60)]
    assert drop.letters == [("a.jsonl:26", "unreadable-event")]


def test_a_file_that_is_gone_in_the_middle_stops_the_intake_unless_it_may_be_skipped(
    drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop.put("a.jsonl", lines(*range(10)))
    drop.put("b.jsonl", lines(10))
    monkeypatch.setattr("headwater.intake.folder.inlet.MOST_EVENTS", 4)
    monkeypatch.setattr(pieces, "AT_ONCE", 4)
    appended = TopicLog.append

    def replace_file(log: TopicLog, rows: pa.Table, **how: Any) -> Any:
        done = appended(log, rows, **how)
        if rows.num_rows == 4:
            drop.put("a.jsonl", lines(7, 7, 7))
        return done

    monkeypatch.setattr(TopicLog, "append", replace_file)
    with pytest.raises(SourceReplaced, match='file "a'):
        drop.take_in()
    monkeypatch.setattr(TopicLog, "append", appended)
    assert drop.ids == ["p0", "p1", "p2", "p3"]
    drop.declare("settle = '0 seconds', gaps = 'skip'")
    assert drop.take_in() == (1, 2)
    assert drop.ids == ["p0", "p1", "p2", "p3", "p10"]
    assert drop.letters == [("a.jsonl:5", "events-lost"), ("a.jsonl (replaced):2", "file-replaced")]


def test_a_folder_that_is_not_there_is_waited_for(drop: Drop) -> None:
    drop.place.rmdir()
    with pytest.raises(SourceUnavailable, match="could not be reached"):
        drop.take_in()
