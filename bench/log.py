"""The log under load: appends, reading back, and whether an append costs the same at commit 10,000 as at commit 100.

Every figure stands beside a peer in the same run: `write_deltalake` (the library's own append) and raw Parquet files.
Run it with `make bench`; it prints Markdown for docs/benchmarks.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from headwater.intake import Decoder, Generator, Lateness
from headwater.json_text import json_lines_of
from headwater.log import TopicLog, open_storage
from headwater.log.maintenance import Maintainer, compact
from headwater.log.read import read
from headwater.model import INSTANT, Bounded, Column, Stream

BIDS = Stream(
    name="bids",
    columns=(
        Column("id", pa.string()),
        Column("auction", pa.int64()),
        Column("bidder", pa.string()),
        Column("price", pa.decimal128(12, 2)),
        Column("channel", pa.string()),
        Column("at", INSTANT, nullable=False),
    ),
    time="at",
    watermark=Bounded(timedelta(seconds=5)),
    key=("bidder",),
)


def rows(count: int) -> pa.Table:
    batches = Generator(topic=BIDS, lateness=Lateness(0.1)).batches(count, count)
    return next(batches).rows


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def appends(folder: Path, size: int, times: int) -> tuple[float, float, float]:
    """Seconds an append takes: ours, the library's, and a raw Parquet file's, interleaved so that noise hits all."""
    table, log = rows(size), TopicLog(BIDS, open_storage(str(folder / f"log-{size}")))
    delta, raw = str(folder / f"delta-{size}"), folder / f"raw-{size}"
    raw.mkdir()
    write_deltalake(delta, table)
    log.append(table)
    ours, library, files = [], [], []
    for number in range(times):
        ours.append(timed(lambda: log.append(table)))
        library.append(timed(lambda: write_deltalake(delta, table, mode="append")))
        files.append(timed(lambda number=number: pq.write_table(table, raw / f"{number}.parquet", compression="zstd")))
    return statistics.median(ours), statistics.median(library), statistics.median(files)


def concurrent(folder: Path, threads: int, each: int) -> tuple[float, int]:
    """Acknowledged single-event appends a second from many threads, and the commits they took."""
    log, table = TopicLog(BIDS, open_storage(str(folder / "threads"))), rows(1)
    log.append(table)

    def work() -> None:
        for _ in range(each):
            log.append(table)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    seconds = timed(lambda: [*(w.start() for w in workers), *(w.join() for w in workers)])
    return threads * each / seconds, log.head - 1


def reading(folder: Path) -> tuple[float, float]:
    """Rows a second read back as Arrow: ours in log order, and the library's table as it comes."""
    log, table = TopicLog(BIDS, open_storage(str(folder / "read"))), rows(100_000)
    for _ in range(20):
        log.append(table)
    count = 20 * table.num_rows
    ours = min(timed(lambda: read(log)) for _ in range(3))
    library = min(timed(lambda: DeltaTable(log.storage.url).to_pyarrow_table()) for _ in range(3))
    compact(log)
    compacted = min(timed(lambda: read(log)) for _ in range(3))
    print(f"| read 2M rows after compaction, in log order | {count / compacted:,.0f} rows/s | | |")
    return count / ours, count / library


def flat(folder: Path, commits: int) -> list[tuple[int, float]]:
    """The median append around some commits of a long log, with maintenance running as it does in production."""
    log, table, maintainer = TopicLog(BIDS, open_storage(str(folder / "flat"))), rows(100), Maintainer()
    times = [timed(lambda: maintainer.after(log, log.append(table).commit)) for _ in range(commits)]
    maintainer.close()
    marks = [mark for mark in (100, 500, 1000, 2000, 5000, 10_000) if mark <= commits]
    return [(mark, statistics.median(times[mark - 100 : mark])) for mark in marks]


def decoding() -> None:
    """JSON lines to the log: decode, then append with durability on."""
    table, decoder = rows(200_000), Decoder(BIDS)
    lines = json_lines_of(table)
    seconds = min(timed(lambda: decoder.decode(lines)) for _ in range(3))
    print(f"| decode JSON lines, 200,000 rows | {table.num_rows / seconds:,.0f} rows/s | | |")


def main() -> None:
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"Measured {datetime.now(UTC):%Y-%m-%d} with `make bench`.\n")
    print("| what | Headwater | deltalake | raw Parquet, no log, no fsync |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for size, times in ((1, 200), (1000, 200), (100_000, 20)):
            ours, library, raw = appends(folder, size, times)
            print(
                f"| append, {size:,} rows a commit | {ours * 1000:.1f} ms ({size / ours:,.0f} rows/s) "
                f"| {library * 1000:.1f} ms ({library / ours:.1f}×) | {raw * 1000:.1f} ms ({raw / ours:.2f}×) |"
            )
        rate, used = concurrent(folder, 200, 20)
        print(f"| 200 threads, single events | {rate:,.0f} acknowledged/s in {used} commits | | |")
        ours, library = reading(folder)
        print(f"| read 2M rows, in log order | {ours:,.0f} rows/s | {library:,.0f} rows/s ({ours / library:.2f}×) | |")
        decoding()
        print("\n| commit | median append, 100 rows, maintenance running | to commit 100 |\n|---|---|---|")
        points = flat(folder, commits)
        for mark, seconds in points:
            print(f"| {mark:,} | {seconds * 1000:.2f} ms | {seconds / points[0][1]:.2f}× |")


if __name__ == "__main__":
    main()
