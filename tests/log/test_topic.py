"""The conformance suite of the log: on the local file system, in memory, and on an S3 server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from headwater.errors import ArgumentRefused, Fenced, LogDamaged, SequenceRefused, TopicChanged
from headwater.log import Move, Storage, TopicLog, open_storage
from headwater.log.append import late_by_order
from headwater.log.bulk import load
from headwater.log.maintenance import compact, trim
from headwater.log.read import arrived_at, commits, follow, passed_at, read, scan, seek, watermark_at
from headwater.model import Column, Punctuated, Table
from tests.log.conftest import ORDERS, START, Wall, orders, seconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Again = Callable[..., TopicLog]


def stamps(log: TopicLog) -> list[float]:
    return [max(seconds(at), -1) for at in read(log)["_watermark"].to_pylist()]


def test_a_topic_without_a_log_is_empty_with_the_right_columns(log: TopicLog) -> None:
    assert read(log).num_rows == 0
    assert read(log).schema.names == [
        "id", "amount", "at", "_commit", "_row", "_id", "_source", "_arrived_at", "_watermark",
    ]  # fmt: skip
    assert log.head == -1


def test_commits_are_numbered_from_one_and_rows_by_their_place(log: TopicLog) -> None:
    assert [log.append(orders(("a", 1), ("b", 2))).commit, log.append(orders(("c", 3))).commit] == [1, 2]
    assert read(log).select(["id", "_commit", "_row"]).to_pylist() == [
        {"id": "a", "_commit": 1, "_row": 0},
        {"id": "b", "_commit": 1, "_row": 1},
        {"id": "c", "_commit": 2, "_row": 0},
    ]


def test_rows_are_stamped_with_the_watermark_just_before_them(log: TopicLog) -> None:
    appended = log.append(orders(("a", 10), ("b", 20), ("c", 7)))
    assert stamps(log) == [-1, 5, 15]
    assert (appended.rows, appended.behind, seconds(appended.watermark)) == (3, 1, 15)


def test_cutting_the_same_rows_into_other_commits_gives_the_same_stamps(log: TopicLog) -> None:
    rows = orders(*[(str(i), (i * 37) % 50) for i in range(40)])
    log.append(rows)
    other = TopicLog(ORDERS, open_storage(f"{log.storage.url}-sibling", log.storage.options), now=log.now)
    for start in range(0, 40, 7):
        other.append(rows.slice(start, 7))
    assert stamps(other) == stamps(log)


def test_another_process_goes_on_where_the_first_one_was(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 10)))
    other = again()
    assert seconds(other.watermark) == 5
    assert other.append(orders(("b", 30))).commit == 2
    assert log.append(orders(("c", 40))).commit == 3
    assert stamps(again()) == [-1, 5, 25]


def test_a_lost_number_is_restamped_at_the_next(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 10)))
    other = again()
    other.append(orders(("b", 60)))  # log doesn't know of it
    assert log.append(orders(("c", 12))).commit == 3
    assert stamps(log) == [-1, 5, 55]


def test_concurrent_appends_share_commits_and_each_is_acknowledged(log: TopicLog) -> None:
    log.append(orders(("first", 0)))
    answers: list[int] = []

    def append(number: int) -> None:
        answers.append(log.append(orders((str(number), number))).commit)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(60)]
    with log._group.turn:  # as if a commit were under way
        for thread in threads:
            thread.start()
        while len(log._group._waiting) < len(threads):
            pass
    for thread in threads:
        thread.join()
    assert set(answers) == {2}
    assert sorted(read(log, 2)["id"].to_pylist(), key=int) == [str(number) for number in range(60)]


def test_the_same_sequence_again_is_answered_with_the_first_commit(log: TopicLog, again: Again) -> None:
    first = log.append(orders(("a", 1)), sequence=("till-1", 7))
    log.append(orders(("b", 2)), sequence=("till-2", 1))
    repeated = log.append(orders(("a", 1)), sequence=("till-1", 7))
    elsewhere = again().append(orders(("a", 1)), sequence=("till-1", 7))
    assert (first.commit, repeated.commit, elsewhere.commit) == (1, 1, 1)
    assert (first.repeated, repeated.repeated, elsewhere.repeated) == (False, True, True)
    assert read(log)["id"].to_pylist() == ["a", "b"]


def test_an_older_sequence_with_the_same_content_is_answered_with_its_own_commit(log: TopicLog, again: Again) -> None:
    for number in range(1, 5):
        log.append(orders((str(number), number)), sequence=("till-1", number))
    assert again().append(orders(("2", 2)), sequence=("till-1", 2)).commit == 2
    assert read(log).num_rows == 4


def test_a_sequence_that_goes_back_or_is_reused_is_refused_by_name(log: TopicLog) -> None:
    log.append(orders(("a", 1)), sequence=("till-1", 3))
    log.append(orders(("b", 2)), sequence=("till-1", 5))
    for number, words in (
        (3, "used sequence 3 again with other content"),
        (4, "went back"),
        (5, "used sequence 5 again"),
    ):
        with pytest.raises(SequenceRefused, match=words) as refused:
            log.append(orders(("other", 9)), sequence=("till-1", number))
        assert refused.value.fields["producer"] == "till-1"
    assert read(log)["id"].to_pylist() == ["a", "b"]


def test_a_refused_sequence_does_not_harm_the_others_of_its_group(log: TopicLog) -> None:
    log.append(orders(("a", 1)), sequence=("till-1", 5))
    outcomes: dict[str, object] = {}

    def append(name: str, sequence: tuple[str, int] | None) -> None:
        try:
            outcomes[name] = log.append(orders((name, 2)), sequence=sequence).commit
        except SequenceRefused:
            outcomes[name] = "refused"

    sequences = {"back": ("till-1", 2), "next": ("till-1", 6), "after": ("till-1", 7), "free": None}
    threads = [threading.Thread(target=append, args=item) for item in sequences.items()]
    with log._group.turn:
        for thread in threads:
            waiting = len(log._group._waiting)
            thread.start()
            while len(log._group._waiting) == waiting:
                pass
    for thread in threads:
        thread.join()
    assert outcomes == {"back": "refused", "next": 2, "after": 3, "free": 3}


def test_a_move_is_written_with_the_rows_and_only_from_where_the_log_stands(log: TopicLog, again: Again) -> None:
    assert log.position("p[0]") is None
    log.append(orders(("a", 1)), moves=[Move("p[0]", None, 5), Move("p[1]", None, 7)])
    other = again()
    assert (other.position("p[0]"), other.position("p[1]"), other.position("p[2]")) == (5, 7, None)
    other.append(orders(), moves=[Move("p[0]", 5, 6)])  # no rows: the position moves all the same
    with pytest.raises(Fenced) as fenced:
        log.append(orders(("b", 2)), moves=[Move("p[1]", 7, 9), Move("p[0]", 5, 8)])
    assert fenced.value.fields["position"] == 6
    assert (log.position("p[0]"), log.position("p[1]")) == (6, 7)
    assert read(log)["id"].to_pylist() == ["a"]


def test_of_concurrent_moves_from_one_position_one_succeeds(log: TopicLog, again: Again) -> None:
    logs, answers = [log, again(), again()], []

    def move(one: TopicLog) -> None:
        try:
            answers.append(one.append(orders(("a", 1)), moves=[Move("p", None, 1)]).rows)
        except Fenced:
            answers.append(0)

    threads = [threading.Thread(target=move, args=(one,)) for one in logs for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [0] * 8 + [1]
    assert read(log).num_rows == 1


def test_a_tick_moves_the_watermark_without_rows(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 10)))
    assert seconds(log.tick(START + timedelta(seconds=60)).watermark) == 60
    assert log.tick(START + timedelta(seconds=30)).commit == 2, "the watermark never goes back: no commit"
    assert again().append(orders(("b", 20))).behind == 1


def test_a_tick_says_how_late_it_is_and_nothing_arrives_before_it(log: TopicLog, again: Again, wall: Wall) -> None:
    log.append(orders(("a", 10)))
    wall.move(seconds=7)
    assert log.tick().commit == 2, "the watermark stays, and time has passed"
    wall.move(seconds=-3)
    assert log.tick().commit == 2, "another clock is behind"
    again().append(orders(("b", 20)))
    arrivals = read(log)["_arrived_at"].to_pylist()
    assert [passed_at(log, commit) for commit in (1, 2, 3)] == [arrivals[0], arrivals[1], arrivals[1]]
    assert arrivals[1] - arrivals[0] == timedelta(seconds=7)
    assert arrived_at(log, 2) == arrivals[0]
    assert log.tick_silence().commit == 3, "nothing is idle: the log is left as it is"


def test_a_topic_that_nothing_was_written_to_has_a_clock_at_1970(storage: Storage, wall: Wall) -> None:
    log = TopicLog(ORDERS, storage, now=wall)
    assert (log.head, watermark_at(log, 0), passed_at(log, 0)) == (-1, EPOCH, EPOCH)


def test_a_tick_of_a_topic_without_rows_is_none(log: TopicLog) -> None:
    assert log.tick().commit == log.pass_time().commit == 0


def test_a_tick_too_far_ahead_is_refused(log: TopicLog) -> None:
    with pytest.raises(ArgumentRefused, match="can't move to"):
        log.tick(START + timedelta(days=2))


def test_silence_moves_the_watermark_once_every_source_is_idle(storage: Storage, wall: Wall) -> None:
    log = TopicLog(replace(ORDERS, idle=timedelta(seconds=30)), storage, now=wall)
    log.append(orders(("a", 10)), source="phone")
    wall.move(seconds=30)
    assert seconds(log.tick().watermark) == 5
    wall.move(seconds=20)
    assert seconds(log.tick().watermark) == 25


def test_expected_sources_hold_the_watermark(log: TopicLog) -> None:
    log.expect(["partition-0", "partition-1"])
    assert seconds(log.append(orders(("a", 10)), source="partition-0").watermark) < 0
    assert seconds(log.append(orders(("b", 20)), source="partition-1").watermark) == 5


def test_every_row_may_have_its_own_source(log: TopicLog) -> None:
    log.append(orders(("a", 10), ("b", 90), ("c", 20)), source=pa.array(["x", "y", "x"]))
    assert read(log)["_source"].to_pylist() == ["x", "y", "x"]
    assert seconds(log.watermark) == 15


def test_arrival_times_never_go_back(log: TopicLog, wall: Wall) -> None:
    log.append(orders(("a", 1)))
    log.append(orders(("b", 2)), arrived_at=START - timedelta(hours=1))
    assert read(log)["_arrived_at"].to_pylist() == [START, START]


def test_a_history_load_is_stamped_as_a_whole(log: TopicLog) -> None:
    log.append(orders(("a", 10)))
    loaded = log.append(orders(("b", 300), ("c", 20), ("d", 2)), history=True)
    assert stamps(log) == [-1, 5, 5, 5]
    assert (loaded.behind, seconds(loaded.watermark)) == (1, 295)


def test_a_bulk_load_is_one_commit_of_several_files(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 10)))
    loaded = load(log, [orders(("b", 300), ("c", 20)), orders(), orders(("d", 2))], source="archive")
    assert (loaded.commit, loaded.rows, loaded.behind, seconds(loaded.watermark)) == (2, 3, 1, 5)
    assert stamps(again()) == [-1, 5, 5, 5]
    assert read(again(), 2).select(["id", "_commit", "_row", "_source"]).to_pylist() == [
        {"id": name, "_commit": 2, "_row": row, "_source": "archive"} for row, name in enumerate("bcd")
    ]
    assert len(log.snapshot().files) == 3


def test_a_load_that_is_late_only_by_its_own_order_is_counted(log: TopicLog) -> None:
    log.append(orders(("a", 100)))
    assert late_by_order(log.topic, log.clock, orders(("b", 300), ("c", 200), ("d", 2)), "local") == 1
    assert late_by_order(log.topic, log.clock, orders(("b", 200), ("c", 300)), "local") == 0


def test_a_range_of_commits_is_read_in_order(log: TopicLog) -> None:
    for number in range(1, 8):
        log.append(orders((str(number), number)))
    assert read(log, 3, 5)["id"].to_pylist() == ["3", "4", "5"]
    assert read(log, 6, columns=["id"]).to_pydict() == {"id": ["6", "7"]}
    assert read(log, 9).num_rows == 0
    assert [batch.commit for batch in scan(log)] == [7]


def test_seeking_by_arrival(log: TopicLog, wall: Wall) -> None:
    for number in range(1, 5):
        log.append(orders((str(number), number)))
        wall.move(minutes=1)
    assert seek(log, START - timedelta(days=1)) == 1
    assert seek(log, START + timedelta(minutes=1)) == 2
    assert seek(log, START + timedelta(minutes=1, microseconds=1)) == 3
    assert seek(log, START + timedelta(days=1)) == 5


def test_following_gives_what_is_there_and_then_what_comes(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 1)))
    stop = threading.Event()
    batches = follow(again(), stop=stop, poll=timedelta(milliseconds=1))
    assert next(batches).rows["id"].to_pylist() == ["a"]
    log.append(orders(("b", 2)))
    log.append(orders(("c", 30)))
    assert next(batches).rows["id"].to_pylist() == ["b", "c"]
    log.tick(START + timedelta(seconds=90))
    tick = next(batches)
    assert (tick.rows.num_rows, tick.commit, seconds(tick.watermark)) == (0, 4, 90)
    stop.set()
    assert list(batches) == []


def test_the_commits_say_what_they_did(log: TopicLog) -> None:
    log.append(orders(("a", 10), ("b", 20)), source="till-1")
    log.tick(START + timedelta(seconds=60))
    created, appended, ticked = commits(log)
    assert (created.kind, created.number) == ("create", 0)
    assert (appended.kind, appended.rows, appended.sources) == ("append", 2, ("till-1",))
    assert appended.times == (START + timedelta(seconds=10), START + timedelta(seconds=20))
    assert seconds(appended.watermark) == 15
    assert (ticked.kind, ticked.rows, ticked.times, seconds(ticked.watermark)) == ("tick", 0, None, 60)


def test_an_added_nullable_column_is_taken_and_old_rows_have_null(log: TopicLog, again: Again) -> None:
    log.append(orders(("a", 1)))
    wider = replace(ORDERS, columns=(*ORDERS.columns, Column("note", pa.string())))
    other = again(wider)
    other.append(orders(("b", 2)).append_column("note", pa.array(["hello"])))
    assert read(other).select(["id", "note"]).to_pylist() == [{"id": "a", "note": None}, {"id": "b", "note": "hello"}]
    assert seconds(other.watermark) == -3, "the clock goes on"
    assert [commit.kind for commit in commits(other)] == ["create", "append", "schema", "append"]


@pytest.mark.parametrize(
    ("columns", "time"),
    [
        ((Column("id", pa.int64()), *ORDERS.columns[1:]), "at"),
        ((*ORDERS.columns, Column("note", pa.string(), nullable=False)), "at"),
        ((Column("id", pa.string(), nullable=False), *ORDERS.columns[1:]), "at"),
        (ORDERS.columns, None),
    ],
    ids=["another type", "a required column added", "nullability", "another event time"],
)
def test_any_other_change_is_refused_and_shows_both(
    log: TopicLog, again: Again, columns: tuple[Column, ...], time: str | None
) -> None:
    log.append(orders(("a", 1)))
    with pytest.raises(TopicChanged, match="no longer fits its log") as refused:
        again(replace(ORDERS, columns=columns, time=time, watermark=None)).append(orders(("b", 2)))
    assert "id STRING, amount DECIMAL(12, 2), at TIMESTAMP NOT NULL" in str(refused.value)
    assert read(log).num_rows == 1


def test_a_table_keeps_the_operation(storage: Storage, wall: Wall) -> None:
    rates = Table(
        name="rates", columns=(Column("code", pa.string()), Column("rate", pa.float64())), primary_key=("code",)
    )
    log = TopicLog(rates, storage, now=wall)
    log.append(pa.table({"code": ["EUR", "USD"], "rate": [1.0, None], "_op": ["upsert", "delete"]}))
    assert read(log)["_op"].to_pylist() == ["upsert", "delete"]
    assert log.watermark.year == 1970


def test_a_punctuated_watermark_comes_from_the_column(storage: Storage, wall: Wall) -> None:
    topic = replace(
        ORDERS, columns=(*ORDERS.columns, Column("upto", ORDERS.columns[2].type)), watermark=Punctuated("upto")
    )
    log = TopicLog(topic, storage, now=wall)
    upto = pa.array([None, START + timedelta(seconds=8), None], ORDERS.columns[2].type)
    log.append(orders(("a", 10), ("b", 20), ("c", 7)).append_column("upto", upto))
    assert stamps(log) == [-1, -1, 8]


def test_trimming_lets_go_of_whole_files_and_keeps_the_clock(log: TopicLog, again: Again) -> None:
    for number in range(1, 6):
        log.append(orders((str(number), number * 10)))
    assert trim(log, before=4) == 3
    assert read(again())["id"].to_pylist() == ["4", "5"]
    assert seconds(again().watermark) == 45
    assert trim(again(), before=4) == 0


def test_a_foreign_folder_is_not_taken_for_a_log(storage: Storage, wall: Wall) -> None:
    storage.write("holiday.jpg", b"...")
    with pytest.raises(LogDamaged, match="is not the log of a topic"):
        TopicLog(ORDERS, storage, now=wall).append(orders(("a", 1)))


def test_a_log_whose_creation_was_interrupted_is_begun_anew(storage: Storage, wall: Wall) -> None:
    storage.write("_delta_log/.00000000000000000000.json.1234.tmp", b'{"comm')
    assert TopicLog(ORDERS, storage, now=wall).append(orders(("a", 1))).commit == 1


def test_a_damaged_entry_is_named(log: TopicLog, again: Again, storage: Storage) -> None:
    for number in range(1, 4):
        log.append(orders((str(number), number)))
    storage.write("_delta_log/00000000000000000003.json", b'{"commitInfo": {"times')
    with pytest.raises(LogDamaged, match="entry 3 of the log") as damaged:
        again().append(orders(("b", 2)))
    assert damaged.value.fields["path"].endswith("_delta_log/00000000000000000003.json")


def test_a_damaged_or_missing_data_file_is_named(log: TopicLog, again: Again, storage: Storage) -> None:
    log.append(orders(("a", 1)))
    (path,) = log.snapshot().files
    storage.write(path, b"PAR1 no more")
    with pytest.raises(LogDamaged, match='a file of topic "orders" is damaged') as damaged:
        read(again())
    assert damaged.value.fields["path"].endswith(path)
    storage.delete(path)
    with pytest.raises(LogDamaged, match="it is missing"):
        read(again())


def test_an_entry_of_another_tool_is_refused(log: TopicLog, again: Again, storage: Storage) -> None:
    log.append(orders(("a", 1)))
    foreign = b'{"commitInfo":{"engineInfo":"other"}}\n{"add":{"path":"x.parquet","size":1,"dataChange":true}}'
    storage.write_new("_delta_log/00000000000000000002.json", foreign)
    with pytest.raises(LogDamaged, match=r"entry 2 .* was not written by Headwater"):
        log.append(orders(("b", 2)))


def test_compaction_is_invisible_to_readers_and_writers(log: TopicLog, again: Again) -> None:
    for number in range(1, 13):
        log.append(orders((str(number), number), (f"{number}b", number)))
    before = read(log)
    assert compact(log) == 12
    assert read(log).equals(before)
    assert read(again()).equals(before)
    assert read(again(), 5, 6)["id"].to_pylist() == ["5", "5b", "6", "6b"]
    assert log.append(orders(("13", 30))).commit == 14
    assert again().clock == log.clock
    assert len(again().snapshot().files) == 2
