"""Views over all of time: a step with 100 changed keys, against the whole query, as the log grows.

`python -m bench.maintained 100000 1000000 5000000`: movements of as many accounts as a fifth of the rows, and a
transfer of each tenth of them. A step is what it computes and puts down: reading the new rows, finding what they touch,
Spark, and the difference; the store is left out on both sides. The whole query is the view's own, in batch, into Arrow.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import headwater as hw
from headwater.engine.batch import BatchView
from headwater.engine.executor import executor_of

SIZES = (100_000, 1_000_000, 5_000_000)
KEYS, STEPS, WHOLE = 100, 9, 3
START = 1_767_225_600_000_000
VIEWS = {
    "groups": ("", "SELECT account, sum(amount) AS balance, count(*) AS n FROM movements GROUP BY account"),
    "pairs": (
        ", key = 'id'",
        "SELECT m.id, m.account, t.amount FROM movements m JOIN transfers t ON t.movement = m.id",
    ),
    "groups_of_a_join": (
        "",
        "SELECT m.account, count(*) AS n, sum(t.amount) AS total "
        "FROM movements m LEFT JOIN transfers t ON t.movement = m.id GROUP BY m.account",
    ),
    "newest": (
        "",
        "SELECT account, id, amount FROM movements "
        "QUALIFY row_number() OVER (PARTITION BY account ORDER BY at DESC, id DESC) = 1",
    ),
}
STREAMS = """
CREATE STREAM movements (id BIGINT NOT NULL, account BIGINT, amount BIGINT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE STREAM transfers (movement BIGINT, amount BIGINT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
"""


def movements(ids: np.typing.NDArray[np.int64], accounts: int, chance: np.random.Generator) -> pa.Table:
    """A movement of each id."""
    columns = {
        "id": ids,
        "account": chance.integers(0, accounts, len(ids)),
        "amount": chance.integers(0, 100, len(ids)),
    }
    return pa.table(columns | {"at": pa.array(START + ids, pa.timestamp("us", "UTC"))})


def transfers(ids: np.typing.NDArray[np.int64], chance: np.random.Generator) -> pa.Table:
    """A transfer of each movement."""
    columns = {"movement": ids, "amount": chance.integers(0, 100, len(ids))}
    return pa.table(columns | {"at": pa.array(START + ids, pa.timestamp("us", "UTC"))})


@contextmanager
def project_of(rows: int, chance: np.random.Generator) -> Iterator[hw.Project]:
    """A project with so many movements in its log."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        views = [
            f"CREATE MATERIALIZED VIEW {view} WITH (retention = 'forever'{key}) AS {query};"
            for view, (key, query) in VIEWS.items()
        ]
        (folder / "headwater.toml").write_text('name = "bench"\n')
        (folder / "project.sql").write_text(STREAMS + "\n".join(views))
        with hw.open(folder) as project:
            for ids in np.array_split(np.arange(rows), max(1, rows // 500_000)):
                project.append("movements", movements(ids, rows // 5, chance))
                project.append("transfers", transfers(ids[::10], chance))
            yield project


def measured(project: hw.Project, view: str, change: Callable[[int], None]) -> tuple[float, float]:
    """Seconds of a step, before each of which something is changed, and of the whole query, medians."""
    planned, views = project.plan().view(view), project.views.opened()
    logs, spark = views.catalog.logs(planned), views.catalog.spark
    with tempfile.TemporaryDirectory() as folder:
        executor = executor_of(planned)(planned, planned.identity, logs, Path(folder), lambda _: None)
        at = executor.catch_up(spark, {}, None)
        steps = []
        for number in range(STEPS):
            change(number)
            began = time.perf_counter()
            at = executor._catch_up(spark, {}, at)
            steps.append(time.perf_counter() - began)
    whole = []
    for _ in range(WHOLE):
        began = time.perf_counter()
        BatchView(planned, logs, {name: log.head for name, log in logs.items()}).rows(spark)
        whole.append(time.perf_counter() - began)
    return statistics.median(steps[2:]), statistics.median(whole[1:])


def _move(project: hw.Project, rows: int, chance: np.random.Generator, number: int) -> None:
    new = np.arange(rows + number * KEYS, rows + (number + 1) * KEYS)
    project.append("movements", movements(new, rows // 5, chance))
    project.append("transfers", transfers(chance.integers(0, rows, KEYS), chance))


def tell(view: str, rows: int, step: float, whole: float) -> None:
    """Tell a line of the table."""
    times = f"{step * 1000:>6.0f} ms {whole * 1000:>6.0f} ms"
    print(f"{view:<18} {rows:>10,} {times} {whole / step:>5.0f}×", flush=True)


def main(sizes: tuple[int, ...]) -> None:
    """Tell a line for each view and size."""
    print(f"{'view':<18} {'rows':>10} {'step':>9} {'whole':>9} {'ratio':>6}")
    for rows in sizes:
        chance = np.random.default_rng(rows)
        with project_of(rows, chance) as project:
            change = partial(_move, project, rows, chance)
            for view in VIEWS:
                tell(view, rows, *measured(project, view, change))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
