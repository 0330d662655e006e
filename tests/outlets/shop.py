"""A project whose view is written batch by batch through its store, as a run would, but without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.config import load_settings
from headwater.errors import HeadwaterError
from headwater.operate.outlet import Sending
from headwater.outlets import OpenTarget, open_target
from headwater.project import Project
from headwater.store import Batch, Position, Store, Target

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPEND = """
CREATE STREAM payments (card STRING, amount DECIMAL(12, 2), at TIMESTAMP, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW spend {options} AS
  SELECT card, window_end, sum(amount) AS spent
  FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY card, window_end;
"""


def row(card: str | None, spent: str, minute: int = 1) -> dict[str, Any]:
    """A row of the view: what a card has spent in a minute."""
    return {"card": card, "window_end": NOON + timedelta(minutes=minute), "spent": Decimal(spent)}


class Shop:
    """The folder of a project with the view `spend` and one outlet of it."""

    def __init__(self, folder: Path, outlet: str, *, settings: str = "", options: str = "") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "headwater.toml").write_text(f'name = "shop"\n{settings}')
        self.declare(outlet, options)

    def declare(self, outlet: str, options: str = "", view: str = SPEND) -> None:
        (self.folder / "shop.sql").write_text(f"{view.format(options=options)}{outlet};")

    @contextmanager
    def project(self, target: OpenTarget = open_target) -> Iterator[Project]:
        with Project(self.folder, load_settings(self.folder), open_target=target) as opened:
            yield opened

    def write(
        self,
        number: int,
        upserts: Iterable[dict[str, Any]] = (),
        deletes: Iterable[dict[str, Any]] = (),
        *,
        version: int = 1,
        watermark: datetime = NOON,
    ) -> None:
        """Let a run of the view apply a batch to a version, and serve that."""
        with self.project() as opened:
            planned, store = opened.plan().view("spend"), self.store(opened)
            target = Target("spend", version, planned.columns, planned.identity, planned.emit)
            epoch = store.open(target, planned.fingerprint)
            keys = [{name: found[name] for name in target.key} for found in deletes]
            key_schema = pa.schema([target.schema.field(name) for name in target.key])
            rows = pa.Table.from_pylist(list(upserts), target.schema), pa.Table.from_pylist(keys, key_schema)
            store.apply(target, epoch, Batch(*rows, Position(number, (("payments", number + 1),), watermark)))
            if store.promoted("spend") != version:
                store.promote("spend", version)

    @staticmethod
    def store(project: Project) -> Store:
        return project.views.opened().ask.store("spend")


@contextmanager
def sending(project: Project, outlets: list[str], failed: Callable[[HeadwaterError], object]) -> Iterator[Sending]:
    """Outlets that send meanwhile, as a run of the project lets them."""
    with Sending(lambda name: project.outlets.run(project.plan().outlet(name)), failed) as found:
        found.begin(outlets)
        yield found
