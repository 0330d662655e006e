"""Keys: what follows from what a stream says is unique."""

from __future__ import annotations

import pytest

from headwater.findings import KeyLeavesOut
from headwater.plan import Plan
from tests.plan.planning import planned, view

FRAME = "RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW"
COUNTED = f"count(*) OVER (PARTITION BY order_id ORDER BY at {FRAME}) AS n"
PAIRS = "p.order_id = q.order_id AND q.at BETWEEN p.at AND p.at + INTERVAL '1' HOUR"


def checked(query: str, streams: str) -> Plan:
    return planned(f"{streams}; CREATE MATERIALIZED VIEW v AS {query}")


@pytest.mark.parametrize(
    ("query", "key", "execution", "emit"),
    [
        ("SELECT id, at FROM payments", ("id", "at"), "settle", "changes"),
        ("SELECT at AS paid_at, upper(id) AS big, id AS payment FROM payments WHERE paid > 3",
         ("payment", "paid_at"), "settle", "changes"),
        (f"SELECT id, at, {COUNTED} FROM payments", ("id", "at"), "settle", "changes"),
        (f"SELECT * FROM (SELECT id, at, {COUNTED} FROM payments) WHERE n > 3", ("id", "at"), "settle", "changes"),
        ("SELECT id, at, window_end FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE)",
         ("id", "at"), "settle", "changes"),
        ("SELECT id, at, window_end FROM HOP(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)",
         ("id", "at", "window_end"), "settle", "changes"),
        (f"SELECT p.id, p.at, q.id AS other, q.at AS later FROM payments p JOIN payments q ON {PAIRS}",
         ("id", "at", "other", "later"), "live", "changes"),
        (f"SELECT p.id, p.at, q.id AS other, q.at AS later FROM payments p LEFT JOIN payments q ON {PAIRS}",
         ("id", "at", "other", "later"), "settle", "changes"),
        (f"SELECT p.id, p.at FROM payments p LEFT SEMI JOIN payments q ON {PAIRS}", ("id", "at"), "live", "changes"),
        (f"SELECT p.id, p.at FROM payments p LEFT ANTI JOIN payments q ON {PAIRS}", ("id", "at"), "settle", "changes"),
    ],
)  # fmt: skip
def test_events_are_told_apart_by_what_is_unique_and_their_time(
    query: str, key: tuple[str, ...], execution: str, emit: str
) -> None:
    found = view(query)
    assert (found.key.kind, found.key.columns) == ("event", key)
    assert found.identity == key
    assert (found.execution.kind, found.emit.value) == (execution, emit)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM payments",
        "SELECT at FROM payments",
        "SELECT id, at FROM orders",
        "SELECT id, at, explode(array(1, 2)) AS one FROM payments",
        "SELECT id, at FROM payments UNION ALL SELECT id, at FROM payments",
        f"SELECT p.id, p.at FROM payments p JOIN payments q ON {PAIRS}",
        "SELECT p.id, p.at, o.id AS o, o.at AS o_at FROM payments p JOIN orders o ON o.id = p.order_id AND o.at = p.at",
    ],
)
def test_what_does_not_show_both_is_told_by_the_log(query: str) -> None:
    assert view(query).key.kind == "row"


def test_all_columns_of_a_stream_are_no_key() -> None:
    streams = (
        "CREATE STREAM notes (text STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND) "
        "WITH (unique = '*')"
    )
    assert checked("SELECT text, at FROM notes", streams).checked().view("v").key.kind == "row"


def test_what_would_be_a_key_is_told_where_changes_need_one() -> None:
    (finding,) = planned(
        f"CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS SELECT id, {COUNTED} FROM payments"
    ).errors
    assert str(finding) == (
        "view \"v\" can't keep emit = 'changes'\n"
        "  Detail: Its rows have no key by which a change could find them.\n"
        "  Hint:   Show payments.at, which tells its rows apart, or declare key = '…'; or write emit = 'final'."
    )


def test_an_outer_join_without_a_key_has_no_changes() -> None:
    (finding,) = planned(
        "CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS "
        f"SELECT p.id FROM payments p LEFT JOIN payments q ON {PAIRS}"
    ).errors
    assert finding.hint == (
        "Show payments.at, payments.id, which tell its rows apart, or declare key = '…'; or write emit = 'final'."
    )


def test_copies_of_an_event_without_a_time_are_not_looked_for() -> None:
    streams = "CREATE STREAM notes (id STRING, text STRING) WITH (unique = 'id')"
    (finding,) = checked("SELECT id, text FROM notes", streams).errors
    assert finding.summary == 'view "v" shows each event of stream "notes" once, which declares no event time'


TABLES = """
CREATE STREAM bought (id STRING NOT NULL, region INT, code STRING, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (unique = 'id');
CREATE TABLE regions (id INT, name STRING, PRIMARY KEY (id));
CREATE TABLE places (id INT, part INT, region INT, name STRING, PRIMARY KEY (id, part))
"""
FOREVER = "WITH (retention = 'forever')"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        # of a key there is one row of a table at most, so that what asks by it is told apart by its own
        ("SELECT p.id, p.part, r.name FROM places p JOIN regions r ON p.region = r.id", ("id", "part")),
        ("SELECT p.id, p.part, r.name FROM places p LEFT JOIN regions r ON p.region = r.id", ("id", "part")),
        ("SELECT p.id, p.part, r.name FROM regions r RIGHT JOIN places p ON p.region = r.id", ("id", "part")),
        ("SELECT o.id, o.at, r.name FROM bought o LEFT JOIN regions r ON o.region = r.id", ("id", "at")),
        # else by both
        ("SELECT p.id, p.part, r.id AS region FROM places p FULL JOIN regions r ON p.region = r.id",
         ("id", "part", "region")),
        ("SELECT r.id, p.id AS place, p.part FROM regions r JOIN places p ON p.id = r.id", ("place", "part")),
        ("SELECT o.id, o.at, p.id AS place, p.part FROM bought o JOIN places p ON o.region = p.id",
         ("id", "at", "place", "part")),
        ("SELECT o.id, o.at, r.id AS region FROM bought o JOIN regions r ON o.code = r.id", ("id", "at", "region")),
        ("SELECT p.id, p.part FROM places p LEFT ANTI JOIN regions r ON p.region = r.id", ("id", "part")),
    ],
)  # fmt: skip
def test_rows_joined_with_those_of_a_table_are_told_apart(query: str, key: tuple[str, ...]) -> None:
    found = planned(f"{TABLES}; CREATE MATERIALIZED VIEW v {FOREVER * ('bought' in query)} AS {query}")
    assert found.checked().view("v").key.columns == key


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("SELECT o.id, r.name FROM bought o JOIN regions r ON o.region = r.id", ("id", "_key_at")),
        ("SELECT o.id, o.at FROM bought o JOIN places p ON o.region = p.id", ("id", "at", "_key_id", "_key_part")),
        ("SELECT count(*) AS n FROM bought GROUP BY code, upper(region)", ("_key_code", "_key_key")),
        ("SELECT n FROM (SELECT region, count(*) AS n FROM bought GROUP BY region) WHERE n > 1", ("_key_region",)),
        ("SELECT region FROM bought ORDER BY at DESC LIMIT 3", ("_key_rank",)),
        ("SELECT id FROM bought QUALIFY row_number() OVER (PARTITION BY region ORDER BY at) <= 2",
         ("_key_region", "_key_row_number")),
    ],
)  # fmt: skip
def test_what_tells_rows_apart_is_kept_where_it_is_not_shown(query: str, key: tuple[str, ...]) -> None:
    view = planned(f"{TABLES}; CREATE MATERIALIZED VIEW v {FOREVER} AS {query}").checked().view("v")
    assert view.key.columns == key
    assert not {column.name for column in view.shown} & {name for name in key if name.startswith("_key")}


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT o.id, explode(array(1, 2)) AS n FROM bought o JOIN regions r ON o.region = r.id",
         "Declare what tells its rows apart with key = '…'."),
    ],
)  # fmt: skip
def test_what_would_tell_rows_for_ever_apart_is_named(query: str, hint: str) -> None:
    (finding,) = planned(f"{TABLES}; CREATE MATERIALIZED VIEW v {FOREVER} AS {query}").errors
    assert finding.hint == hint


@pytest.mark.parametrize(
    ("key", "query", "names"),
    [
        ("b", "SELECT a, b, count(*) AS n FROM {} GROUP BY a, b, window_end", ["a", "window_end"]),
        ("a, b", "SELECT a, b, window_end, count(*) AS n FROM {} GROUP BY a, b, window_end", ["window_end"]),
        ("a", "SELECT DISTINCT a, window_start, window_end FROM {}", ["window_start", "window_end"]),
        # nothing is left out that isn't known by the rest
        ("a, end", "SELECT a, window_start, window_end AS end FROM {} GROUP BY a, window_start, window_end", []),
        ("window_end, a, b", "SELECT a, b, window_end, count(*) AS n FROM {} GROUP BY a, b, window_end", []),
        ("a", "SELECT a, b, window_end FROM {}", []),
    ],
)  # fmt: skip
def test_a_key_that_leaves_out_what_a_view_groups_by_is_cautioned_about(key: str, query: str, names: list[str]) -> None:
    stream = "CREATE STREAM s (a STRING, b STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)"
    windows = "TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
    found = planned(f"{stream}; CREATE MATERIALIZED VIEW v WITH (key = '{key}') AS {query.format(windows)}")
    quoted = " and ".join(f'"{name}"' for name in names)
    expected = [f'view "v" groups by {quoted}, which its key leaves out'] if names else []
    assert [caution.summary for caution in found.findings if isinstance(caution, KeyLeavesOut)] == expected
    found.checked()
