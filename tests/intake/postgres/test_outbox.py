"""Events of an outbox of a real PostgreSQL: those that are committed, each once, by a slot or by queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import headwater as hw
from headwater.errors import SourceRefused, SourceReplaced
from headwater.intake.postgres import polled as polling
from tests.intake.postgres.shop import Shop

COLUMNS = (
    "event_id STRING, customer STRING, total DECIMAL(12, 2), kind STRING, about STRING, "
    "headers MAP<STRING, BINARY>, changed_in STRING, told_at TIMESTAMP, WATERMARK FOR told_at AS told_at"
)
OPTIONS = (
    "outbox = 'order', message_id = 'event_id', message_type = 'kind', message_key = 'about', "
    "message_headers = 'headers', transaction = 'changed_in', message_time = 'told_at'"
)
OUTBOX = hw.Outbox()


@pytest.fixture(params=["slot", "queries"])
def polled(request: pytest.FixtureRequest, shop: Shop) -> bool:
    """Whether the outbox is asked by queries; it is there, and a stream that takes in its orders."""
    is_polled: bool = request.param == "queries"
    shop.database.run(OUTBOX.definition)
    shop.stream("orders", COLUMNS, OPTIONS, polled=is_polled)
    return is_polled


@pytest.fixture
def connection(shop: Shop) -> Iterator[psycopg.Connection]:
    """A connection of the business."""
    with psycopg.connect(shop.database.url) as connected:
        yield connected


def events(shop: Shop, name: str = "orders") -> list[dict[str, Any]]:
    """The events of a stream, in the order of the log."""
    with shop.opened() as project:
        rows: list[dict[str, Any]] = project.read(name).to_pylist(maps_as_pydicts="strict")
        return rows


def ids(shop: Shop, name: str = "orders") -> list[str]:
    return [event["event_id"] for event in events(shop, name)]


def letters(shop: Shop) -> list[dict[str, Any]]:
    with shop.opened() as project:
        dead: list[dict[str, Any]] = project.dead("orders").to_pylist()
        return dead


def test_the_events_of_committed_transactions_come_once_with_what_stands_beside_them(
    shop: Shop, connection: psycopg.Connection, polled: bool
) -> None:
    def order(key: str, total: object, **rest: Any) -> None:
        OUTBOX.send(connection, "order", f"o-{key}", "placed", {"customer": "ada", "total": total}, id=key, **rest)

    order("e1", 1)
    connection.commit()
    shop.take_in()
    order("e2", 12.50, headers={"by": "till", "try": 2})
    OUTBOX.send(connection, "invoice", "i-1", "sent", {"total": 1})
    xid = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
    connection.commit()
    order("e3", 3)
    connection.rollback()
    order("e4", 4)
    connection.execute("DELETE FROM outbox WHERE id = 'e1'")
    connection.execute("UPDATE outbox SET payload = '{}' WHERE id = 'e2'" if not polled else "SELECT 1")
    connection.commit()
    shop.take_in()
    found = events(shop)
    assert [event["event_id"] for event in found] == [event["_id"] for event in found] == ["e1", "e2", "e4"]
    second = found[1]
    assert (second["customer"], str(second["total"]), second["kind"], second["about"]) == (
        "ada",
        "12.50",
        "placed",
        "o-e2",
    )
    assert second["headers"] == {"by": b"till", "try": b"2"}
    assert [second["changed_in"]] == list(xid or ())
    assert abs(second["told_at"] - datetime.now(UTC)) < timedelta(minutes=5)
    assert not letters(shop)


def test_what_is_no_event_is_a_dead_letter_that_can_come_back(
    shop: Shop, connection: psycopg.Connection, polled: bool
) -> None:
    narrow, wide = (COLUMNS.replace("DECIMAL(12, 2)", kind) for kind in ("INT", "BIGINT"))
    shop.stream("orders", narrow, f"{OPTIONS}, max_dead = 'none'", polled=polled)
    for key, payload in (("e1", '{"total": 3000000000}'), ("e2", "[1]"), ("e3", "null"), ("e4", '{"total": 1}')):
        OUTBOX.send(connection, "order", f"o-{key}", "placed", payload, id=key, headers={"by": "till"})
    OUTBOX.send(connection, "order", "o-e5", "placed", {"total": 1}, id="e5")
    connection.execute("UPDATE outbox SET headers = '[]' WHERE id = 'e5'")
    connection.commit()
    (taken,) = shop.take_in()
    assert (taken.rows, taken.dead) == (1, 4)
    dead = letters(shop)
    assert [letter["error"] for letter in dead] == ["wrong-type", *["unreadable-event"] * 3]
    assert 'column "total" is 3000000000, which doesn\'t fit INT' in dead[0]["reason"]
    assert "its headers are no JSON object" in dead[3]["reason"]
    assert (dead[0]["key"], dead[0]["headers"]) == (b"o-e1", [("by", b"till")])
    assert b'"payload": "{' in dead[0]["bytes"], "the whole row is kept"
    shop.stream("orders", wide, f"{OPTIONS}, max_dead = 'none'", polled=polled)
    with shop.opened() as project:
        assert project.redrive("orders").rows == 1
    back = events(shop)[-1]
    assert (back["event_id"], back["kind"], back["about"], back["total"]) == ("e1", "placed", "o-e1", 3_000_000_000)
    assert back["headers"] == {"by": b"till"}


def test_several_streams_take_from_one_outbox_beside_a_table(shop: Shop, connection: psycopg.Connection) -> None:
    shop.database.run(OUTBOX.definition, "CREATE TABLE customers (id int PRIMARY KEY, name text)")
    shop.declare("customers", "id INT PRIMARY KEY, name STRING")
    shop.stream("orders", "event_id STRING, n INT", "outbox = 'order', message_id = 'event_id'")
    shop.stream("invoices", "event_id STRING, n INT", "outbox = 'invoice', message_id = 'event_id'")
    shop.take_in()
    for number, kind in enumerate(("order", "invoice", "order", "refund")):
        connection.execute("INSERT INTO customers VALUES (%s, 'ada')", [number])
        OUTBOX.send(connection, kind, number, "made", {"n": number}, id=f"e{number}")
        connection.execute("DELETE FROM outbox")
        connection.commit()
    shop.take_in()
    assert ids(shop) == ["e0", "e2"]
    assert ids(shop, "invoices") == ["e1"]
    assert len(shop.rows("customers")) == 4


def test_an_event_of_a_transaction_that_ends_late_is_not_passed_by(shop: Shop, connection: psycopg.Connection) -> None:
    shop.database.run(OUTBOX.definition)
    shop.stream("orders", "event_id STRING, n INT", "outbox = 'order', message_id = 'event_id'", polled=True)
    OUTBOX.send(connection, "order", 1, "placed", {"n": 1}, id="e1")  # begins first, and is committed last
    with psycopg.connect(shop.database.url) as other:
        OUTBOX.send(other, "order", 2, "placed", {"n": 2}, id="e2")
    shop.take_in()
    assert ids(shop) == [], "who ends later may have written before"
    connection.commit()
    shop.take_in()
    assert ids(shop) == ["e1", "e2"]
    connection.execute("SELECT pg_current_xact_id()")
    with psycopg.connect(shop.database.url) as other:
        OUTBOX.send(other, "order", 3, "placed", {"n": 3}, id="e3")
    OUTBOX.send(connection, "order", 3, "shipped", {"n": 4}, id="e4")
    connection.commit()
    shop.take_in()
    assert ids(shop) == ["e1", "e2", "e3", "e4"], "an older transaction that wrote later comes later"


def test_a_range_of_many_events_is_gone_on_with_by_another_process(
    shop: Shop, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "AT_ONCE", 3)
    shop.database.run(OUTBOX.definition)
    shop.stream("orders", "event_id STRING, n INT", "outbox = 'order', message_id = 'event_id'", polled=True)
    expected = [f"e{number}" for number in range(20)]
    for key in expected[:10]:
        OUTBOX.send(connection, "order", 1, "placed", {"n": 1}, id=key)
    connection.commit()
    with shop.opened() as project:
        (intake,) = project.intakes.open()
        with intake._session(alone=True) as session:  # it ends in the middle of the range
            session._commit(session._inlet.read(polling.Wait(timedelta(0))))
    assert ids(shop) == expected[:3]
    for key in expected[10:]:
        OUTBOX.send(connection, "order", 1, "placed", {"n": 1}, id=key)
    connection.commit()
    shop.take_in()
    assert ids(shop) == expected


def test_a_stream_that_was_read_by_the_other_way_is_refused(shop: Shop, polled: bool) -> None:
    shop.take_in()
    shop.stream("orders", COLUMNS, OPTIONS, polled=not polled)
    with pytest.raises(SourceRefused, match="was read by queries" if polled else "was read by a slot"):
        shop.take_in()


def test_a_lost_slot_or_another_server_is_refused_unless_all_rows_are_taken_anew(
    shop: Shop, connection: psycopg.Connection, polled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("e1", "e2", "e3"):
        OUTBOX.send(connection, "order", 1, "placed", {}, id=key)
        connection.commit()
        if key == "e2":
            shop.take_in()
    if polled:
        monkeypatch.setattr(polling.PolledOutbox, "_server_of", lambda _: 7)
    else:
        shop.database.run(f"SELECT pg_drop_replication_slot('{shop.slot}')")
    with pytest.raises(SourceReplaced, match="in another server" if polled else "is gone"):
        shop.take_in()
    shop.stream("orders", COLUMNS, f"{OPTIONS}, gaps = 'snapshot'", polled=polled)
    shop.take_in()
    assert ids(shop) == ["e1", "e2", "e3"]


def test_a_table_that_is_no_outbox_is_refused(shop: Shop) -> None:
    shop.database.run(
        "CREATE TABLE outbox (id int PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload bytea)"
    )
    shop.stream("orders", "event_id STRING, n INT", "outbox = 'order', message_id = 'event_id'", polled=True)
    with pytest.raises(SourceRefused, match=r'no column "xid"(.|\n)*ADD COLUMN xid xid8 NOT NULL DEFAULT'):
        shop.take_in()
    shop.stream("orders", "event_id STRING, n INT", "outbox = 'order', message_id = 'event_id'")
    with pytest.raises(SourceRefused, match="payload is of type bytea"):
        shop.take_in()
    shop.database.run("ALTER TABLE outbox DROP COLUMN type")
    with pytest.raises(SourceRefused, match='no column "type"'):
        shop.take_in()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("STREAM s (id STRING) WITH ({})", "takes in a table of PostgreSQL"),
        ("STREAM s (id STRING) WITH ({}, outbox = 'order')", "no column for the ids of its events"),
        ("TABLE s (id STRING PRIMARY KEY) WITH ({}, outbox = 'order', message_id = 'id')", "the events of an outbox"),
        ("TABLE s (id STRING PRIMARY KEY) WITH ({}, poll = '1 second')", 'option "poll" and no outbox'),
        (
            "STREAM s (id STRING) WITH ({}, outbox = 'order', message_id = 'id', poll = '1 second', slot = 's')",
            'option "slot" beside poll',
        ),
        (
            "STREAM s (id INT) WITH ({}, outbox = 'order', message_id = 'id')",
            'option "message_id" a column of type INT',
        ),
    ],
)
def test_a_declaration_that_is_no_outbox_is_refused(shop: Shop, statement: str, told: str) -> None:
    source = "connector = 'postgres', url = '${SHOP_DB}', table = 'public.outbox'"
    (shop.folder / "s.sql").write_text(f"CREATE {statement.format(source)};")
    with shop.opened() as project:
        assert told in "".join(map(str, project.check().findings))
