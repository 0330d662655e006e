"""A small view and batches of it, as every test of a store uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headwater.model import Column, Emit
from headwater.store import Batch, Position, Selection, Store, Target

START = datetime(2026, 1, 1, tzinfo=UTC)

SPEND = Target(
    view="spend",
    version=1,
    columns=(Column("card", pa.string()), Column("minute", pa.int32()), Column("spent", pa.decimal128(22, 2))),
    key=("card", "minute"),
    emit=Emit.CHANGES,
)
FINAL = replace(SPEND, emit=Emit.FINAL)
ADDED = replace(SPEND, key=())
"""Rows without a key: they are only added."""

HIDDEN = Target("counts", 1, (Column("n", pa.int64()), Column("_key_card", pa.string())), ("_key_card",), Emit.CHANGES)
"""Rows that are told apart by what isn't shown."""

Row = tuple[Any, ...]


def version(number: int, target: Target = SPEND) -> Target:
    """The same view in another version."""
    return replace(target, version=number)


def batch(
    number: int, upserts: Iterable[Row] = (), deletes: Iterable[Row] = (), target: Target = SPEND, **ledger: int
) -> Batch:
    """Batch `number`, up to commit `number`; an upsert is (card, minute, spent), a delete (card, minute)."""
    return Batch(
        _table(upserts, target.schema),
        _table(deletes, pa.schema([target.schema.field(name) for name in target.key])),
        position(number),
        ledger,
    )


def position(number: int) -> Position:
    """The position that batch `number` comes to."""
    return Position(number, (("payments", number),), START + timedelta(seconds=number))


def _table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    values = [dict(zip(schema.names, row, strict=True)) for row in rows]
    made = [
        {
            name: Decimal(value) if name == "spent" and isinstance(value, str | int) else value
            for name, value in row.items()
        }
        for row in values
    ]
    return pa.Table.from_pylist(made, schema=schema)


def rows_of(store: Store, number: int | None = 1, view: str = "spend") -> set[tuple[Any, ...]]:
    """The rows that a version has, `spent` as text."""
    rows = store.read(view, number).to_pylist()
    spelled = [(row["card"], row["minute"], None if row["spent"] is None else str(row["spent"])) for row in rows]
    assert len(spelled) == len(set(spelled)), "no row is doubled"
    return set(spelled)


def swapping(store: Store, times: int) -> Callable[[], None]:
    """Write two versions of fifty rows each, and serve the first; what is returned swaps them so many times."""
    for number in (1, 2):
        rows = [(f"card-{index}", number, number) for index in range(50)]
        store.apply(version(number), store.open(version(number), "plan"), batch(0, rows))
    store.promote("spend", 1)

    def swap() -> None:
        for turn in range(times):
            store.promote("spend", turn % 2 + 1)

    return swap


def shown(store: Store) -> tuple[int, int, dict[str, int], list[list[Any]]]:
    """The version, batch, ledger and rows that a snapshot of the view has, the rows as JSON has them."""
    with store.snapshot() as snapshot:
        served = snapshot.served("spend")
        assert served is not None and served.position is not None
        rows = [list(row) for part in snapshot.plain(served, Selection()) for row in zip(*part, strict=True)]
        return served.target.version, served.position.batch, dict(snapshot.ledger(served)), rows
