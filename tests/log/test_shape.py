"""A declaration that changes: what becomes of rows that are already in the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headwater.errors import TopicChanged, UpcastFailed
from headwater.log import TopicLog, open_storage
from headwater.log.maintenance import checkpoint, compact
from headwater.log.read import commits, read
from headwater.log.shape import promotes
from headwater.model import INSTANT, Bounded, Column, PythonBody, Stream, Table, Upcast
from tests.log.conftest import START, Wall, unseal

AT = Column("at", INSTANT, nullable=False)
PAYMENTS = Stream(
    name="payments",
    columns=(Column("id", pa.string(), nullable=False), Column("card", pa.string()), Column("n", pa.int32()), AT),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
)
Open = Callable[[Stream], TopicLog]


@pytest.fixture
def opened(tmp_path: Path, wall: Wall) -> Open:
    """The same log as a process with this declaration has it."""
    return lambda topic: TopicLog(topic, open_storage(str(tmp_path / "payments")), now=wall)


def append(log: TopicLog, **values: Any) -> None:
    """One row, at as many seconds as there are rows."""
    row = {"at": START + timedelta(seconds=log.head + 1), **values}
    time = log.topic.time
    assert time is not None
    row[time] = row.pop("at")
    log.append(pa.Table.from_pylist([row], schema=log.topic.schema))


def changed(*columns: Column, **others: Any) -> Stream:
    return replace(PAYMENTS, columns=columns, **others)


def rows(log: TopicLog, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in read(log, columns=list(names)).to_pylist()]


ID, CARD, N, _ = PAYMENTS.columns


def test_a_column_that_is_added_with_a_default_has_it_in_the_rows_before(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    log = opened(changed(ID, CARD, N, AT, Column("country", pa.string(), nullable=False, default="AT")))
    append(log, id="b", country="DE")
    assert rows(log, "id", "country") == [("a", "AT"), ("b", "DE")]


def test_a_value_that_is_null_stays_null_beside_a_default(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    log = opened(changed(ID, CARD, N, AT, Column("country", pa.string(), default="AT")))
    append(log, id="b", country=None)
    assert rows(log, "id", "country") == [("a", "AT"), ("b", None)]


COUNTRY = Column("country", pa.string(), default="AT")


def test_the_declaration_alone_decides_what_rows_before_a_column_have(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    appended = opened(changed(*PAYMENTS.columns, COUNTRY))
    for country in (COUNTRY, replace(COUNTRY, default="DE"), replace(COUNTRY, default=None)):
        now = changed(*PAYMENTS.columns, country)
        assert rows(opened(now), "country") == [(country.default,)], "before anything is appended under it"
    append(appended, id="b", country=None)
    for country in (COUNTRY, replace(COUNTRY, default="DE"), replace(COUNTRY, default=None)):
        now = changed(*PAYMENTS.columns, country)
        assert rows(opened(now), "country") == [(country.default,), (None,)], "and after"


def test_a_default_that_comes_later_than_its_column_is_for_the_rows_before_the_column(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    append(opened(changed(*PAYMENTS.columns, replace(COUNTRY, default=None))), id="b")
    append(opened(PAYMENTS), id="c")
    later = changed(*PAYMENTS.columns, COUNTRY)
    assert rows(opened(later), "id", "country") == [("a", "AT"), ("b", None), ("c", "AT")]
    append(opened(later), id="d", country="DE")
    for log in (opened(later), opened(later)):
        assert rows(log, "country") == [("AT",), (None,), ("AT",), ("DE",)]
        assert compact(log) == 0, "rows with the column and rows without it stay apart"
        checkpoint(log)


def test_a_default_that_rows_need_may_not_go(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    append(opened(changed(*PAYMENTS.columns, replace(COUNTRY, nullable=False))), id="b", country="DE")
    without = opened(changed(*PAYMENTS.columns, Column("country", pa.string(), nullable=False)))
    for use in (read, TopicLog.create):
        with pytest.raises(TopicChanged, match="no longer fits its log") as refused:
            use(without)
        assert 'Column "country" must have a value, and has no DEFAULT any more' in str(refused.value)


def test_names_types_and_versions_are_read_as_declared_before_anything_is_appended(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", card="c1", n=150)
    renamed = changed(ID, Column("card_id", pa.string(), aliases=("card",)), replace(N, type=pa.int64()), AT)
    assert rows(opened(renamed), "card_id", "n") == [("c1", 150)]
    timed = changed(ID, CARD, N, replace(AT, name="paid_at", aliases=("at",)), time="paid_at")
    assert rows(opened(timed), "paid_at") == [(START,)]
    assert rows(opened(SECOND), "amount") == [(Decimal("1.50"),)]
    assert len(list(commits(opened(PAYMENTS)))) == 2, "reading notes nothing"


def test_a_former_name_that_is_declared_late_is_found(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", card="c1")
    append(opened(changed(ID, Column("card_id", pa.string()), N, AT)), id="b", card_id="c2")
    late = changed(ID, Column("card_id", pa.string(), aliases=("card",)), N, AT)
    assert rows(opened(late), "card_id") == [("c1",), ("c2",)]
    append(opened(late), id="c", card_id="c3")
    assert rows(opened(late), "card_id") == [("c1",), ("c2",), ("c3",)]


def test_a_log_from_before_it_noted_columns_has_the_default_of_today(opened: Open, tmp_path: Path) -> None:
    append(opened(PAYMENTS), id="a")
    append(opened(changed(*PAYMENTS.columns, COUNTRY)), id="b", country="DE")
    unseal(tmp_path / "payments")
    (noted,) = (tmp_path / "payments" / "_delta_log").glob("*2.json")
    info, action = map(json.loads, noted.read_text().splitlines())
    settings = action["metaData"]["configuration"]
    shapes = json.loads(settings["headwater.shapes"])
    del shapes["written"]
    settings["headwater.shapes"] = json.dumps(shapes | {"defaults": {"country": "AT"}})
    noted.write_text("\n".join(map(json.dumps, (info, action))))
    assert rows(opened(changed(*PAYMENTS.columns, COUNTRY)), "country") == [("AT",), ("DE",)]
    append(opened(changed(*PAYMENTS.columns, COUNTRY)), id="c", country=None)
    assert rows(opened(changed(*PAYMENTS.columns, COUNTRY)), "country") == [("AT",), ("DE",), (None,)]


def test_a_column_that_goes_is_kept_unread_and_comes_back(opened: Open) -> None:
    before = opened(PAYMENTS)
    for name in "ab":
        append(before, id=name, card=f"c{name}")
    less = opened(changed(ID, N, AT))
    for name in "cd":
        append(less, id=name)
    assert "card" not in read(less).column_names
    assert compact(less) == 4, "what is unread is compacted too, and not lost"
    again = opened(PAYMENTS)
    append(again, id="e", card="ce")
    assert rows(again, "id", "card") == [("a", "ca"), ("b", "cb"), ("c", None), ("d", None), ("e", "ce")]


def test_a_column_that_must_have_a_value_may_go(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", card="c1")
    log = opened(changed(CARD, N, AT))
    append(log, card="c2")
    assert rows(log, "card") == [("c1",), ("c2",)]


def test_a_column_that_is_renamed_is_found_under_its_names(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", card="c1")
    second = opened(changed(ID, Column("card_no", pa.string(), aliases=("card",)), N, AT))
    append(second, id="b", card_no="c2")
    third = opened(changed(ID, Column("card_id", pa.string(), aliases=("card_no",)), N, AT))
    append(third, id="c", card_id="c3")
    assert rows(third, "card_id") == [("c1",), ("c2",), ("c3",)]
    forgotten = opened(changed(ID, Column("card_id", pa.string()), N, AT))
    assert rows(forgotten, "card_id") == [("c1",), ("c2",), ("c3",)], "the log remembers what the declaration forgets"


def test_a_column_may_have_its_former_name_again(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", card="c1")
    append(opened(changed(ID, Column("card_id", pa.string(), aliases=("card",)), N, AT)), id="b", card_id="c2")
    third = changed(ID, Column("card", pa.string(), aliases=("card_id",)), N, AT)
    append(opened(third), id="c", card="c3")
    for declared in (third, PAYMENTS):
        assert rows(opened(declared), "card") == [("c1",), ("c2",), ("c3",)]


def test_the_event_time_may_be_renamed(opened: Open) -> None:
    before = opened(PAYMENTS)
    append(before, id="a")
    log = opened(changed(ID, CARD, N, replace(AT, name="paid_at", aliases=("at",)), time="paid_at"))
    append(log, id="b")
    checkpoint(log)
    again = opened(log.topic)
    assert rows(again, "paid_at") == [(START,), (START + timedelta(seconds=2),)]
    first, second = again.snapshot().between(0, 9)
    assert (first.greatest["paid_at"], second.least["paid_at"]) == (START, START + timedelta(seconds=2))
    assert again.watermark == START - timedelta(seconds=3)


@pytest.mark.parametrize(
    ("before", "now", "value", "promoted"),
    [
        (pa.int32(), pa.int64(), 7, 7),
        (pa.int32(), pa.float64(), 7, 7.0),
        (pa.int32(), pa.decimal128(12, 2), 7, Decimal("7.00")),
        (pa.float32(), pa.float64(), 0.5, 0.5),
        (pa.decimal128(5, 2), pa.decimal128(12, 4), Decimal("1.25"), Decimal("1.2500")),
        (pa.list_(pa.int8()), pa.list_(pa.int16()), [1, None], [1, None]),
        (
            pa.struct([("a", pa.int8())]),
            pa.struct([("b", pa.string()), ("a", pa.int64())]),
            {"a": 1},
            {"b": None, "a": 1},
        ),
    ],
    ids=str,
)
def test_a_type_is_promoted(opened: Open, before: pa.DataType, now: pa.DataType, value: Any, promoted: Any) -> None:
    append(opened(changed(ID, Column("n", before), AT)), id="a", n=value)
    log = opened(changed(ID, Column("n", now), AT))
    append(log, id="b", n=promoted)
    assert rows(log, "n") == [(promoted,), (promoted,)]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (pa.int64(), pa.int32()),
        (pa.int64(), pa.float64()),
        (pa.int32(), pa.decimal128(9, 0)),
        (pa.float64(), pa.float32()),
        (pa.decimal128(12, 2), pa.decimal128(12, 4)),
        (pa.string(), pa.int32()),
        (pa.struct([("a", pa.int8()), ("b", pa.int8())]), pa.struct([("a", pa.int8())])),
        (pa.date32(), INSTANT),
    ],
    ids=str,
)
def test_a_type_that_lacks_values_of_the_other_is_no_promotion(before: pa.DataType, now: pa.DataType) -> None:
    assert not promotes(before, now)


def test_compaction_keeps_rows_as_they_were_written(opened: Open) -> None:
    before = opened(PAYMENTS)
    for name in "abc":
        append(before, id=name, card=name, n=1)
    log = opened(changed(ID, Column("card_id", pa.string(), aliases=("card",)), replace(N, type=pa.int64()), AT))
    for name in "de":
        append(log, id=name, card_id=name, n=2**40)
    before_compaction = read(log)
    assert compact(log) == 5
    assert [file.commits for file in log.snapshot().between(0, 99)] == [(1, 3), (5, 6)], "two shapes, two files"
    assert read(opened(log.topic)).equals(before_compaction)
    checkpoint(log)
    assert read(opened(log.topic)).equals(before_compaction)


def test_a_process_with_the_declaration_of_yesterday_appends_nothing(opened: Open) -> None:
    old = opened(PAYMENTS)
    append(old, id="a", card="c1")
    new = opened(changed(ID, Column("card_id", pa.string(), aliases=("card",)), N, AT))
    append(new, id="b", card_id="c2")
    with pytest.raises(TopicChanged, match="was changed by another process"):
        append(old, id="c", card="c3")
    assert rows(new, "card_id") == [("c1",), ("c2",)]


def test_a_reader_with_the_declaration_of_yesterday_is_refused_before_it_takes_new_rows_for_nulls(opened: Open) -> None:
    old = opened(PAYMENTS)
    append(old, id="a", card="c1")
    assert rows(old, "card") == [("c1",)]
    append(opened(changed(ID, Column("card_id", pa.string(), aliases=("card",)), N, AT)), id="b", card_id="c2")
    for reader in (old, old, opened(PAYMENTS)):
        with pytest.raises(TopicChanged, match="is older than its log"):
            read(reader)


def test_a_process_that_only_lacks_a_nullable_column_goes_on(opened: Open) -> None:
    old = opened(PAYMENTS)
    append(old, id="a")
    append(opened(changed(*PAYMENTS.columns, Column("note", pa.string()))), id="b", note="x")
    append(old, id="c")
    assert rows(opened(changed(*PAYMENTS.columns, Column("note", pa.string()))), "note") == [(None,), ("x",), (None,)]


def test_opening_a_log_again_writes_nothing(opened: Open) -> None:
    append(opened(PAYMENTS), id="a")
    now = changed(Column("card_id", pa.string(), aliases=("card",)), ID, AT, Column("x", pa.int8(), default="1"))
    append(opened(now), id="b")
    append(opened(now), id="c")
    assert [commit.kind for commit in commits(opened(now))] == ["create", "append", "schema", "append", "append"]


def test_a_plain_log_says_nothing_of_shapes(opened: Open, tmp_path: Path) -> None:
    append(opened(PAYMENTS), id="a")
    append(opened(PAYMENTS), id="b")
    entries = sorted((tmp_path / "payments" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for entry in entries for line in entry.read_text().splitlines()]
    assert all("headwater.shapes" not in one["metaData"]["configuration"] for one in actions if "metaData" in one)
    added = opened(changed(*PAYMENTS.columns, Column("note", pa.string())))
    append(added, id="c")
    assert all(file.past is None for file in added.snapshot().files.values()), "Parquet's readers know what is missing"


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        (
            changed(ID, replace(CARD, type=pa.int64()), N, AT),
            'column "card" was STRING, which is not promoted to BIGINT',
        ),
        (changed(ID, replace(CARD, nullable=False), N, AT), 'column "card" may be NULL in rows that are there'),
        (changed(*PAYMENTS.columns, Column("x", pa.string(), nullable=False)), "has no DEFAULT for the rows before it"),
        (changed(*PAYMENTS.columns, time=None, watermark=None), "the event time was at and is none"),
        (
            changed(*PAYMENTS.columns, Column("b", INSTANT, nullable=False, default="2026-01-01"), time="b"),
            "event time",
        ),
        (
            Table(name="payments", columns=PAYMENTS.columns, primary_key=("id",), time="at", watermark=Bounded()),
            "a stream can't become a table",
        ),
    ],
    ids=["another type", "must have a value", "no default", "no time", "another time", "a table"],
)
def test_what_would_change_the_meaning_of_rows_is_refused(opened: Open, topic: Stream, reason: str) -> None:
    append(opened(PAYMENTS), id="a")
    with pytest.raises(TopicChanged, match="no longer fits its log") as refused:
        opened(topic).create()
    assert reason.lower() in str(refused.value).lower()
    assert "the next version with an upcast" in str(refused.value)
    assert len(list(commits(opened(PAYMENTS)))) == 2, "nothing was written"


# Versions


def upcast(version: int, function: Callable[[pa.Table], pa.Table], *columns: Column) -> Upcast:
    return Upcast(
        topic="payments", from_version=version, columns=columns, body=PythonBody("payments", "upcast", "", function)
    )


def in_euros(old: pa.Table) -> pa.Table:
    amount = pc.divide(old["n"].cast(pa.decimal128(12, 2)), pa.scalar(Decimal(100)))
    return old.append_column("amount", amount.cast(pa.decimal128(12, 2)))


AMOUNT = Column("amount", pa.decimal128(12, 2), nullable=False)
SECOND = changed(ID, AMOUNT, AT, version=2, upcasts=(upcast(1, in_euros, *PAYMENTS.columns),))


def test_rows_of_an_earlier_version_are_read_through_its_upcast(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", n=150)
    log = opened(SECOND)
    append(log, id="b", amount=Decimal("2.50"))
    assert rows(log, "id", "amount") == [("a", Decimal("1.50")), ("b", Decimal("2.50"))]
    assert rows(log, "_commit", "amount")[0] == (1, Decimal("1.50"))
    assert rows(log, "_row") == [(0,), (0,)], "what the log says of rows needs no upcast"


def test_upcasts_compose(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", n=150)
    append(opened(SECOND), id="b", amount=Decimal("2.50"))

    def spelled(old: pa.Table) -> pa.Table:
        return old.set_column(1, "amount", old["amount"].cast(pa.string()))

    third = changed(
        ID, Column("amount", pa.string()), AT, Column("country", pa.string(), default="AT"),
        version=3, upcasts=(*SECOND.upcasts, upcast(2, spelled, ID, AMOUNT, AT)),
    )  # fmt: skip
    log = opened(third)
    append(log, id="c", amount="3.5", country="DE")
    assert rows(log, "amount", "country") == [("1.50", "AT"), ("2.50", "AT"), ("3.5", "DE")]
    assert compact(log) == 0, "files of different versions are never merged"


def test_a_version_without_a_way_from_the_one_before_is_refused(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", n=150)
    with pytest.raises(TopicChanged, match="no way from there to version 2") as refused:
        opened(replace(SECOND, upcasts=())).create()
    assert '@hw.upcast("payments", from_version=1' in str(refused.value)


def test_an_older_version_than_the_log_has_is_refused(opened: Open) -> None:
    append(opened(PAYMENTS), id="a", n=150)
    append(opened(SECOND), id="b", amount=Decimal("2.50"))
    with pytest.raises(TopicChanged, match="is older than its log"):
        opened(PAYMENTS).create()


def fails(old: pa.Table) -> pa.Table:
    if "b" in old["id"].to_pylist():
        raise ValueError("no such card")
    return in_euros(old)


calls = iter(range(1000))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (fails, "raised ValueError: no such card\n  Detail: It was raised for {'id': 'b', 'card': None, 'n': 1"),
        (lambda old: in_euros(old).slice(1), "returned 2 rows for 3"),
        (lambda old: old["n"], "returned a ChunkedArray"),
        (lambda old: old, 'returned no value for "amount", which must have one'),
        (lambda old: old.append_column("amount", old["id"]), "returned what doesn't fit"),
        (
            lambda old: old.append_column("amount", pa.array([Decimal(next(calls))] * len(old))),
            "is not deterministic",
        ),
        (
            lambda old: in_euros(old).set_column(3, "at", pc.add(old["at"], timedelta(days=1))),
            "changes the event time",
        ),
    ],
    ids=["raises", "fewer rows", "no table", "no value", "another type", "not deterministic", "event time"],
)
def test_an_upcast_that_fails_is_named_with_its_row(opened: Open, function: Any, reason: str) -> None:
    before = opened(PAYMENTS)
    append(before, id="a", n=1)
    append(before, id="b", n=1)
    append(before, id="c", n=1)
    compact(before)
    log = opened(replace(SECOND, upcasts=(upcast(1, function, *PAYMENTS.columns),)))
    log.create()
    with pytest.raises(UpcastFailed) as failed:
        read(log)
    assert reason in str(failed.value)
