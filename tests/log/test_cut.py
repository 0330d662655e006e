"""Cuts of the logs of tables whose transactions come from one slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.log import Move, TopicLog, open_storage
from headwater.log.cut import cuts, newest_cut
from headwater.log.maintenance import checkpoint
from headwater.model import Column, Postgres, Table

SLOT = "postgres:shop"
Made = Callable[..., TopicLog]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes the log of a table."""
    return partial(_made, tmp_path)


def _made(folder: Path, name: str, slot: str = "shop") -> TopicLog:
    intake = Postgres(url="postgresql://shop", table=name, slot=slot)
    columns = (Column("id", pa.int64()),)
    table = Table(name=name, columns=columns, primary_key=("id",), intake=intake)
    return TopicLog(table, open_storage(str(folder / name)))


def commit(log: TopicLog, position: int, stands: Mapping[str, int] | None, rows: int = 1) -> int:
    """Append rows that take the log to a position, where the others stand so."""
    changes = pa.table({"id": pa.array(range(rows), pa.int64()), "_op": pa.array(["upsert"] * rows)})
    move = Move(SLOT, log.position(SLOT), position, stands)
    return log.append(changes, moves=[move]).commit


def test_a_cut_is_where_all_logs_have_come(made: Made) -> None:
    accounts, ledger = made("accounts"), made("ledger")
    commit(accounts, 10, {"accounts": 10, "ledger": 10})
    assert newest_cut([accounts, ledger]) == {accounts: 0, ledger: 0}
    commit(ledger, 10, {"accounts": 10, "ledger": 10})
    assert newest_cut([accounts, ledger]) == {accounts: 1, ledger: 1}
    commit(accounts, 20, {"accounts": 20, "ledger": 20})
    commit(accounts, 30, {"accounts": 30, "ledger": 20})
    assert newest_cut([accounts, ledger]) == {accounts: 1, ledger: 1}
    commit(ledger, 20, {"accounts": 20, "ledger": 20})
    assert newest_cut([accounts, ledger]) == {accounts: 3, ledger: 2}
    assert [(cut[accounts], cut[ledger]) for cut in cuts([accounts, ledger])][:2] == [(3, 2), (2, 2)]


def test_a_log_that_nothing_changes_stands_where_it_stood_and_ticks_belong_to_a_cut(made: Made) -> None:
    accounts, ledger = made("accounts"), made("ledger")
    commit(ledger, 5, None)
    commit(accounts, 10, {"accounts": 10, "ledger": 5})
    commit(accounts, 20, {"accounts": 20, "ledger": 5})
    assert newest_cut([accounts, ledger]) == {accounts: 2, ledger: 1}
    commit(ledger, 25, {"accounts": 20, "ledger": 25}, rows=0)
    accounts.pass_time()
    assert newest_cut([accounts, ledger]) == {accounts: 3, ledger: 2}


def test_a_log_that_begins_behind_a_mark_is_at_no_cut_there(made: Made) -> None:
    accounts, later = made("accounts"), made("later")
    commit(later, 20, {"later": 20})
    commit(accounts, 10, {"accounts": 10, "later": 20})
    assert newest_cut([accounts, later]) == {accounts: 0, later: 0}
    commit(accounts, 25, {"accounts": 25, "later": 20}, rows=0)
    assert newest_cut([accounts, later]) == {accounts: 2, later: 1}


def test_logs_without_marks_or_of_different_slots_are_cut_at_their_heads(made: Made) -> None:
    accounts, ledger, elsewhere = made("accounts"), made("ledger"), made("elsewhere", "other")
    commit(accounts, 10, None)
    commit(elsewhere, 3, {"elsewhere": 3})
    assert newest_cut([accounts, ledger, elsewhere]) == {accounts: 1, ledger: 0, elsewhere: 1}


def test_another_process_finds_the_same_cut_behind_a_checkpoint(made: Made) -> None:
    accounts, ledger = made("accounts"), made("ledger")
    for position in range(1, 260):
        for log in (accounts, ledger):
            commit(log, position, {"accounts": position, "ledger": position})
    commit(accounts, 300, {"accounts": 300, "ledger": 300})
    for log in (accounts, ledger):
        checkpoint(log)
    others = [TopicLog(log.topic, log.storage) for log in (accounts, ledger)]
    cut = newest_cut(others)
    assert [cut[log] for log in others] == [newest_cut([accounts, ledger])[log] for log in (accounts, ledger)]
    assert cut[others[0]] == 259
