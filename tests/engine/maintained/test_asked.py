"""Maintained views as others ask of them: why a row is there, changes, subscriptions, outlets, verify and ledger."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pyarrow as pa
import pytest
from deltalake import DeltaTable

import headwater as hw
from headwater.cli.views import show_why
from headwater.config import ServeSettings
from headwater.engine.difference import difference
from headwater.engine.maintained import traced
from headwater.serve import open_server
from tests.engine.maintained.forever import step
from tests.patience import PATIENCE
from tests.serve.test_changes import messages

DECLARED = """
CREATE TABLE orders (id BIGINT, region INT, status STRING, total DECIMAL(10, 2), PRIMARY KEY (id));
CREATE TABLE regions (code INT, name STRING, PRIMARY KEY (code));
CREATE STREAM movements (account STRING, amount BIGINT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE STREAM moved (account STRING, number INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);

CREATE MATERIALIZED VIEW open_orders AS
SELECT r.name, count(*) AS n, sum(o.total) AS total FROM orders o JOIN regions r ON o.region = r.code
WHERE o.status = 'open' GROUP BY r.name;
CREATE MATERIALIZED VIEW named AS SELECT o.id, o.status, r.name FROM orders o LEFT JOIN regions r ON o.region = r.code;
CREATE MATERIALIZED VIEW balances WITH (retention = 'forever') AS
SELECT account, sum(amount) AS balance FROM movements GROUP BY account;
CREATE MATERIALIZED VIEW pairs WITH (retention = 'forever', key = 'account, amount, number') AS
SELECT m.account, m.amount, n.number FROM movements m LEFT JOIN moved n ON m.account = n.account;
CREATE OUTLET exported FROM open_orders TO 'delta://exports/open_orders' WITH (envelope = 'upsert');
"""
AT = datetime(2026, 1, 5, 12, tzinfo=UTC).isoformat()
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC).isoformat()


def order(number: int, region: int | None, total: str, status: str = "open") -> dict[str, Any]:
    return {"id": number, "region": region, "status": status, "total": total}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[hw.Project]:
    """Three orders in two regions, then the changes of a second step, which a subscription has followed."""
    folder: Path = tmp_path_factory.mktemp("asked")
    (folder / "headwater.toml").write_text('name = "asked"\n')
    (folder / "declared.sql").write_text(DECLARED)
    with hw.open(folder) as opened:
        opened.append("regions", [{"code": 1, "name": "north"}, {"code": 2, "name": "south"}])
        opened.append("orders", [order(1, 1, "1.00"), order(2, 2, "2.00"), order(3, 1, "3.00"), order(4, None, "4.00")])
        opened.append("movements", [{"account": "a", "amount": 5, "at": AT}, {"account": "b", "amount": 9, "at": AT}])
        opened.append("moved", [{"account": "b", "number": 1, "at": AT}])
        step(opened)
        yield opened


class Second(NamedTuple):
    """What a subscriber of `open_orders` is told of the second step, and what that gives to the store by columns."""

    told: list[tuple[str, Any, Any]]
    given: dict[str, tuple[list[Any], list[Any]]]


@pytest.fixture(scope="module")
def second(project: hw.Project) -> Second:
    given = {}

    def noted(was: pa.Table, now: pa.Table, key: Any) -> tuple[pa.Table, pa.Table]:
        found = difference(was, now, key)
        rows = [sorted((tuple(row.values()) for row in part.to_pylist()), key=repr) for part in found]
        given[", ".join(now.column_names)] = (rows[0], rows[1])
        return found

    with (
        pytest.MonkeyPatch.context() as patched,
        open_server(project, ServeSettings(port=0, dashboard=False)) as server,
        httpx.stream("GET", f"{server.url}/views/open_orders/changes", timeout=PATIENCE) as response,
    ):
        found = messages(response)
        event, _, data = next(found)
        assert (event, [row["n"] for row in data["rows"]]) == ("snapshot", [2, 1])
        assert [sent.error for sent in project.send()] == [None]
        project.append("orders", [order(1, 2, "1.50"), order(3, 1, "3.00", "paid")])
        project.delete("orders", [{"id": 2}])
        project.append("movements", [{"account": "a", "amount": -7, "at": LONG_AGO}])
        project.append("moved", [{"account": "b", "number": 2, "at": LONG_AGO}])
        patched.setattr(traced, "difference", noted)
        step(project)
        assert [sent.error for sent in project.send()] == [None]
        told = [(data["op"], data["before"], data["after"]) for _, _, data in itertools.islice(found, 2)]
    return Second(told, given)


def test_a_subscriber_is_told_of_every_group_that_changed_and_of_no_other(second: Second) -> None:
    north, south = ({"name": "north", "n": 2, "total": "4.00"}, {"name": "south", "n": 1, "total": "2.00"})
    assert sorted(second.told, key=lambda change: change[0]) == [
        ("delete", north, None),
        ("update", south, south | {"total": "1.50"}),
    ]


@pytest.mark.usefixtures("second")
def test_an_outlet_holds_what_the_view_holds(project: hw.Project) -> None:
    exported = DeltaTable(project.folder / "exports" / "open_orders").to_pyarrow_table().to_pylist()
    assert exported == project.rows("open_orders").to_pylist()
    assert [row["name"] for row in exported] == ["south"]


def test_only_what_has_changed_is_given_to_the_store(project: hw.Project, second: Second) -> None:
    """A second partner is one more row of a left join; what was shown without any was gone before."""
    assert second.given == {
        "name, n, total": ([("south", 1, Decimal("1.50"))], [("north",)]),
        "id, status, name": ([(1, "open", "south"), (3, "paid", "north")], [(2,)]),
        "account, amount, number": ([("a", -7, None), ("b", 9, 2)], []),
    }
    (_, changes) = project.changes("balances")
    assert [(change["op"], change["after"]["balance"]) for change in changes.to_pylist()] == [("update", -2)]


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize(
    ("view", "row", "behind"),
    [
        ("open_orders", {"name": "south"}, {"orders": [1], "regions": ["south"]}),
        ("named", {"id": 3}, {"orders": [3], "regions": ["north"]}),
        ("named", {"id": 4}, {"orders": [4]}),
        ("balances", {"account": "a"}, {"movements": [5, -7]}),
    ],
)
def test_behind_a_row_are_the_rows_of_tables_as_they_are_and_all_events(
    project: hw.Project, view: str, row: dict[str, Any], behind: dict[str, list[Any]]
) -> None:
    named = {"orders": "id", "regions": "name", "movements": "amount"}
    why = project.why(view, row)
    assert {topic: rows[named[topic]].to_pylist() for topic, rows in why.shown.items()} == behind
    assert why.late == 0, "nothing is late where every row counts"


@pytest.mark.usefixtures("second")
def test_the_events_of_each_topic_are_counted_apart(project: hw.Project, capsys: pytest.CaptureFixture[str]) -> None:
    show_why(project.why("named", {"id": 3}))
    shown = capsys.readouterr().out
    assert "\n1 event behind it (orders)\n" in shown
    assert "\n1 event behind it (regions)\n" in shown


@pytest.mark.usefixtures("second")
def test_every_row_is_used_and_the_rows_are_those_of_the_log(project: hw.Project) -> None:
    ledgers = {view: project.views.ledger(view) for view in ("open_orders", "named", "balances", "pairs")}
    assert {view: (ledger.rows_in, ledger.used, ledger.late, ledger.remainder) for view, ledger in ledgers.items()} == {
        "open_orders": (9, 9, 0, 0),
        "named": (9, 9, 0, 0),
        "balances": (3, 3, 0, 0),
        "pairs": (5, 5, 0, 0),
    }
    assert [view for view in ledgers if not project.verify(view).identical] == []
    assert project.views.late("balances").num_rows == 0


def test_it_is_said_what_is_kept_and_how_rows_are_found(project: hw.Project) -> None:
    named, balances = (project.plan().view(name).physical for name in ("named", "balances"))
    assert [str(kept) for kept in named.keeps] == [
        "maintained: its position in the store; each step reads what is new, and what that leads to",
        "rows: those of orders by id, in sorted files, for ever",
        "rows: those of regions by code, in sorted files, for ever",
        "rows: those of orders by region, in sorted files, for ever",
    ]
    assert [str(kept) for kept in balances.keeps] == [
        "maintained: its position in the store; each step reads what is new",
        "groups: one row per account, in sorted files, for ever",
    ]
    assert "join by the keys of new rows" in str(project.explain("named"))
    assert "nothing is late, and no row is final" in str(project.explain("balances"))
