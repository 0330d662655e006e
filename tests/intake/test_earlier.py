"""Events of earlier versions: upcast once on their way in, and read through the same functions in the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused
from headwater.intake import Decoder
from headwater.intake.messages import Messages, Poison, Records, Version
from headwater.model import INSTANT, Column, Kafka, PythonBody, Stream, Table, Topic, Upcast
from headwater.plan import check

AT = Column("at", INSTANT, nullable=False)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def in_euros(old: pa.Table) -> pa.Table:
    if -1 in old["cents"].to_pylist():
        raise ValueError("no such amount")
    return old.append_column("amount", pc.multiply(old["cents"].cast(pa.decimal128(19, 0)), pa.scalar(Decimal("0.01"))))


def upper(old: pa.Table) -> pa.Table:
    return old.set_column(0, "id", pc.utf8_upper(old["id"]))


def upcast(version: int, function: object, *columns: Column) -> Upcast:
    body = PythonBody("payments", "upcast", "", function)  # type: ignore[arg-type]
    return Upcast(topic="payments", from_version=version, columns=columns, body=body)


ID, AMOUNT = Column("id", pa.string(), nullable=False), Column("amount", pa.decimal128(12, 2))
PAYMENTS = Stream(
    name="payments",
    columns=(ID, AMOUNT, Column("country", pa.string(), default="AT"), Column("key", pa.string()), AT),
    time="at",
    unique=("id",),
    version=3,
    intake=Kafka(topic="payments", message_key="key"),
    upcasts=(upcast(1, in_euros, ID, Column("cents", pa.int64()), AT), upcast(2, upper, ID, AMOUNT, AT)),
)
FIRST = {"id": "a", "cents": 150, "at": NOON}


def test_rows_of_an_earlier_version_come_in_as_today_s() -> None:
    decoded = Decoder(PAYMENTS).decode([FIRST], version=1)
    assert decoded.rows.to_pylist() == [
        {"id": "A", "amount": Decimal("1.50"), "country": "AT", "key": None, "at": NOON, "_id": "A"}
    ]
    assert decoded.dead.num_rows == 0


def test_what_is_no_row_of_its_version_or_can_t_be_upcast_is_a_dead_letter() -> None:
    rows = [FIRST | {"id": str(at), "cents": {3: -1, 5: "x", 7: -1}.get(at, at)} for at in range(20)]
    rows[9]["at"] = None
    decoded = Decoder(PAYMENTS).decode(rows, version=1)
    assert [row["id"] for row in decoded.rows.to_pylist()] == [str(at) for at in range(20) if at not in (3, 5, 7, 9)]
    letters = {row["position"]: (row["error"], row["reason"]) for row in decoded.dead.to_pylist()}
    assert set(letters) == {"rows[3]", "rows[5]", "rows[7]", "rows[9]"}
    assert letters["rows[5]"] == ("wrong-type", 'column "cents" is "x", which doesn\'t fit BIGINT')
    assert letters["rows[9]"] == ("missing-value", 'column "at" has no value and must have one')
    error, reason = letters["rows[3]"]
    assert error == "not-upcast"
    assert reason.startswith('the upcast of "payments" from version 1 raised ValueError: no such amount. It was raised')


def message(number: int, version: Version) -> tuple[bytes, Version]:
    field = '"cents": 100' if version == 1 else '"amount": 1'
    return f'{{"id": "a{number}", {field}, "at": "2026-01-01T12:00:00Z"}}'.encode(), version


def test_messages_tell_their_versions_and_keep_their_order() -> None:
    given = [message(0, 3), message(1, 1), message(2, 1), message(3, 2), message(4, 4), message(5, 3), message(6, 1)]
    values, versions = zip(*given, strict=True)
    keys = pa.array([f"k{at}" for at in range(7)])
    messages = Messages(pa.array(values), range(7), {"key": keys}, versions=versions)
    decoded = Decoder(PAYMENTS).decode(messages, where="payments[0]")
    found = [(row["id"], row["amount"], row["key"]) for row in decoded.rows.to_pylist()]
    one = Decimal("1.00")
    assert found == [
        ("a0", one, "k0"), ("A1", one, "k1"), ("A2", one, "k2"),
        ("A3", one, "k3"), ("a5", one, "k5"), ("A6", one, "k6"),
    ]  # fmt: skip
    (letter,) = decoded.dead.to_pylist()
    assert (letter["position"], letter["error"], letter["bytes"]) == ("payments[0]:4", "not-upcast", values[4])
    assert letter["reason"] == "the event is of version 4, and the topic reads versions 1, 2, 3"


def test_records_tell_their_versions_too() -> None:
    rows: list[dict[str, object] | Poison] = [FIRST, {"id": "b", "amount": Decimal(2), "at": NOON}]
    messages = Messages(pa.array([b"x", b"y"]), range(2), versions=[1, 3])
    decoded = Decoder(PAYMENTS).decode(Records(messages, rows))
    assert [(row["id"], row["country"]) for row in decoded.rows.to_pylist()] == [("A", "AT"), ("b", "AT")]


def test_a_row_that_deletes_keeps_its_operation() -> None:
    rates = Table(
        name="rates",
        columns=(Column("code", pa.string(), nullable=False), Column("rate", pa.float64())),
        primary_key=("code",),
        version=2,
        upcasts=(replace(upcast(1, lambda old: old, Column("code", pa.string())), topic="rates"),),
    )
    decoded = Decoder(rates).decode([{"code": "EUR"}, {"code": "USD", "_op": "delete"}], version=1)
    assert decoded.rows["_op"].to_pylist() == ["upsert", "delete"]


def test_a_version_that_isn_t_read_is_refused_by_name() -> None:
    with pytest.raises(ArgumentRefused, match="can't be given rows of version 7") as refused:
        Decoder(PAYMENTS).decode([FIRST], version=7)
    assert "It reads versions 1, 2, 3." in str(refused.value)


STREAMS = """
CREATE STREAM payments (id STRING NOT NULL, {columns}, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at){options};
"""
UPCASTS = """
import headwater as hw
import pyarrow as pa
import pyarrow.compute as pc

HUNDRED = 100

@hw.upcast("payments", from_version=1, columns={"id": str, "cents": "BIGINT", "at": "TIMESTAMP NOT NULL"})
def payments_from_1(old):
    "Amounts were in cents."
    return old.append_column("amount", pc.divide(old["cents"].cast("double"), HUNDRED))
"""


def test_a_project_goes_on_with_the_next_version(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    streams = tmp_path / "streams.sql"
    streams.write_text(STREAMS.format(columns="cents BIGINT", options=""))
    row = {"id": "a", "cents": 150, "at": "2026-01-01T12:00:00Z"}
    with hw.open(tmp_path) as project:
        project.append("payments", row)
    streams.write_text(STREAMS.format(columns="amount DOUBLE", options=" WITH (version = 2)"))
    (tmp_path / "upcasts.py").write_text(UPCASTS)
    with hw.open(tmp_path) as project:
        project.plan()
        project.append("payments", [row | {"id": "b", "cents": 250}], version=1)
        project.append("payments", [{"id": "c", "amount": 3.5, "at": row["at"]}])
        found = project.read("payments").select(["id", "amount"]).to_pylist()
        assert found == [{"id": "a", "amount": 1.5}, {"id": "b", "amount": 2.5}, {"id": "c", "amount": 3.5}]


@pytest.mark.parametrize(
    ("upcasts", "version", "finding"),
    [
        ((1,), 1, 'an upcast of "payments" is from version 1, which is not earlier'),
        ((1, 1), 2, 'upcast "payments from version 1" has a name that is taken'),
        ((1, 3), 4, '"payments" has no upcast from version 2'),
    ],
    ids=["not earlier", "twice", "a gap"],
)
def test_versions_that_don_t_lead_to_today_s_are_found(upcasts: tuple[int, ...], version: int, finding: str) -> None:
    topic = Stream(name="payments", columns=(ID,), version=version)
    declared = hw.model.assembled([topic, *(upcast(one, in_euros, ID) for one in upcasts)])
    (found,) = check(hw.model.Project(name="shop", declarations=declared)).findings
    assert found.summary == finding


def test_an_upcast_of_nothing_is_found() -> None:
    (found,) = check(hw.model.Project(name="shop", declarations=(upcast(1, in_euros, ID),))).findings
    assert found.summary == 'an upcast is of "payments", which is no stream or table'


def test_another_upcast_gives_other_views(tmp_path: Path) -> None:
    def planned(source: str) -> str:
        body = replace(PAYMENTS.upcasts[0].body, source=source)
        topic: Topic = replace(PAYMENTS, version=2, upcasts=(replace(PAYMENTS.upcasts[0], body=body),))
        view = hw.view("v", query="SELECT id, amount FROM payments")
        return check(hw.model.Project(name="shop", declarations=(topic, view))).views["v"].fingerprint  # type: ignore[arg-type]

    assert planned("def one(old): ...") != planned("def other(old): ...")
