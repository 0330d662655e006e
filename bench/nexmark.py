"""Bids as the Nexmark benchmark makes them, in the log of a project, and questions about them.

An auction site: 46 bids come for each person and for every three auctions; half of the bids go to the hottest auction,
three quarters come from the busiest bidder. Bids are up to 4 seconds late on their way and the watermark allows 5, so
that nothing is left out and both sides have to give the same rows.

A *question* is a view in SQL, and the same in Spark's own words. Plain Spark reads the very Parquet files of the log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headwater as hw
from headwater.model import INSTANT

ROWS = 5_000_000
COMMIT = 100_000
SECOND = 1_000_000
START = 1_767_225_600 * SECOND  # 2026-01-01
SPACING = SECOND // 10_000
STREAM = """
CREATE STREAM bids (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'auction');
"""
SCHEMA = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING, at TIMESTAMP"
Random = np.random.Generator
Numbers = np.typing.NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """What is asked: of Headwater, and of a DataFrame of bids."""

    name: str
    about: str
    sql: str
    plain: Callable[[DataFrame], DataFrame]
    windowed: bool = True


def _windowed(window: str, values: str, *keys: str) -> str:
    columns = ", ".join((*keys, "window_start", "window_end"))
    return f"SELECT {columns}, {values} FROM {window} GROUP BY {columns}"


_TUMBLE = "TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' SECOND)"
_HOP = "HOP(TABLE bids, DESCRIPTOR(at), INTERVAL '2' SECOND, INTERVAL '10' SECOND)"
QUESTIONS = (
    Question(
        "q1",
        "projection and filter: 2% of the bids, in another currency",
        "SELECT auction, bidder, price * 908 / 1000 AS euros, upper(channel) AS channel, at FROM bids"
        " WHERE price > 75000000",
        lambda bids: bids.where("price > 75000000").selectExpr(
            "auction", "bidder", "price * 908 / 1000 AS euros", "upper(channel) AS channel", "at"
        ),
        windowed=False,
    ),
    Question(
        "q2",
        "selective filter: 0.8% of the bids",
        "SELECT auction, price, at FROM bids WHERE auction % 123 = 0",
        lambda bids: bids.where("auction % 123 = 0").select("auction", "price", "at"),
        windowed=False,
    ),
    Question(
        "q7",
        "every 10 s: highest price, sum, count",
        _windowed(_TUMBLE, "max(price) AS highest, sum(price) AS total, count(*) AS n"),
        lambda bids: (
            bids.groupBy(F.window("at", "10 seconds"))
            .agg(F.max("price").alias("highest"), F.sum("price").alias("total"), F.count("*").alias("n"))
            .select("window.start", "window.end", "highest", "total", "n")
        ),
    ),
    Question(
        "q12",
        "every 10 s: bids of each bidder",
        _windowed(_TUMBLE, "count(*) AS n", "bidder"),
        lambda bids: (
            bids.groupBy("bidder", F.window("at", "10 seconds"))
            .agg(F.count("*").alias("n"))
            .select("bidder", "window.start", "window.end", "n")
        ),
    ),
    Question(
        "q5",
        "every 2 s: the auctions with 100 bids or more in the last 10 s",
        _windowed(_HOP, "count(*) AS n", "auction") + " HAVING count(*) >= 100",
        lambda bids: (
            bids.groupBy("auction", F.window("at", "10 seconds", "2 seconds"))
            .agg(F.count("*").alias("n"))
            .where("n >= 100")
            .select("auction", "window.start", "window.end", "n")
        ),
    ),
)


@dataclass(frozen=True)
class Data:
    """So many bids in the log of a project; a folder for other projects that read the same log."""

    folder: Path
    rows: int

    @property
    def files(self) -> Path:
        """The folder of the log's Parquet files."""
        return self.folder / "data" / "log" / "bids"

    def project(self, view: str = "") -> hw.Project:
        """A new project that reads the bids, with one view or none."""
        home = Path(tempfile.mkdtemp(prefix="project-", dir=self.folder))
        (home / "headwater.toml").write_text(f'name = "bench"\ndata = "{self.folder / "data"}"\n')
        (home / "bids.sql").write_text(STREAM + view)
        return hw.open(home)


def prepared(folder: Path, rows: int, progress: Callable[[int], object]) -> Data:
    """The bids in a folder, made unless they are there; `progress` is told how many were made just now."""
    data, ready = Data(folder, rows), folder / f"{rows}.ready"
    if not ready.exists():
        with data.project() as project:
            for bids in _batches(rows):
                project.append("bids", bids)
                progress(bids.num_rows)
        ready.touch()
    progress(0)
    return data


def _batches(rows: int) -> Iterator[pa.Table]:
    chosen = np.random.default_rng(7)
    for start in range(0, rows, COMMIT):
        yield bids_of(chosen, np.arange(start, min(start + COMMIT, rows)))


def bids_of(chosen: Random, numbers: Numbers) -> pa.Table:
    """The bids of these numbers, in the order of their arrival."""
    size = len(numbers)
    people, auctions = numbers // 46, numbers * 3 // 46
    busy, hot, late = (chosen.integers(0, among, size) for among in (4, 2, 10))
    bidder = np.where(busy > 0, people // 100 * 100, np.maximum(people - chosen.integers(0, 1000, size), 0))
    auction = np.where(hot > 0, auctions // 100 * 100, np.maximum(auctions - chosen.integers(0, 100, size), 0))
    delay = np.where(late == 0, np.minimum(chosen.exponential(SECOND, size), 4 * SECOND), 0).astype(np.int64)
    channel = _channels(chosen, size)
    return pa.table(
        {
            "auction": auction + 1000,
            "bidder": bidder + 1000,
            "price": (10 ** (chosen.random(size) * 6) * 100).astype(np.int64),
            "channel": channel,
            "url": _urls(chosen, channel),
            "extra": _letters(chosen, chosen.integers(30, 60, size)),
            "at": pa.array(START + numbers * SPACING - delay + 4 * SECOND).cast(INSTANT),
        }
    )


def _channels(chosen: Random, size: int) -> pa.Array:
    """Half of the bids come through four channels, the others through ten thousand."""
    names = pa.array(["Google", "Facebook", "Baidu", "Apple", *(f"channel-{number}" for number in range(10_000))])
    few, many = chosen.integers(0, 4, size), chosen.integers(4, 10_004, size)
    return names.take(pa.array(np.where(chosen.integers(0, 2, size) > 0, few, many)))


def _urls(chosen: Random, channel: pa.Array) -> pa.Array:
    path = _letters(chosen, np.full(len(channel), 5))
    return pc.binary_join_element_wise("https://www.nexmark.com/", path, "/item.htm?query=1&channel_id=", channel, "")


def _letters(chosen: Random, lengths: Numbers) -> pa.Array:
    """Texts of random small letters, of these lengths."""
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    letters = chosen.integers(97, 123, int(offsets[-1]), dtype=np.uint8)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(letters))
