"""Idle: what a run of many views costs while nothing comes in, in percent of a core.

`headwater run` keeps 32 views of four streams at the head and serves them; nobody asks. Beside it an application of
FastAPI that nobody asks either, and Spark's own session with nothing to do: the least that such a run is made of.

    python -m bench.idle [SECONDS]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import headwater as hw
from bench.effort import worked
from bench.serve import PEER, clicks
from bench.start import PATIENCE, command, free_port

STREAMS, VIEWS = 4, 8
STREAM = """
CREATE STREAM clicks_{0} (id BIGINT NOT NULL, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
"""
VIEW = """
CREATE MATERIALIZED VIEW counted_{0}_{1} WITH (emit = 'changes') AS SELECT page, window_end, count(*) AS n
FROM TUMBLE(TABLE clicks_{0}, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end;
"""
SPARK = """
import time
from pyspark.sql import SparkSession
SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate().range(9).count()
print("started", flush=True)
time.sleep(3600)
"""


def cost(process: subprocess.Popen[bytes], seconds: float) -> float:
    """The processor time that a process and what it has started take, in percent of a core."""
    before, began = worked(process.pid), time.perf_counter()
    time.sleep(seconds)
    return 100 * (worked(process.pid) - before) / (time.perf_counter() - began)


def idle(words: Sequence[str], seconds: float, rests: float) -> float:
    """The cost of a program that was left to itself for a while."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(rests)
            return cost(process, seconds)
        finally:
            process.send_signal(signal.SIGTERM)


def run(folder: Path, seconds: float) -> float:
    """The cost of a run, some time after every view has come to the head."""
    words = command("run", "--port", str(free_port()), "--project", str(folder))
    with hw.open(folder) as project, subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            for number in range(STREAMS):
                project.append(f"clicks_{number}", clicks(0, 1_000))
            ends = time.monotonic() + PATIENCE
            while any(view.commits != view.heads or not view.commits for view in project.status().views):
                assert time.monotonic() < ends, "the run doesn't follow"
                time.sleep(0.5)
            time.sleep(30)
            return cost(process, seconds)
        finally:
            process.send_signal(signal.SIGINT)


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; percent of a core, over {seconds:.0f} s")
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "headwater.toml").write_text('name = "idle"\n[spark]\n"spark.master" = "local[2]"\n')
        views = [VIEW.format(stream, number) for stream in range(STREAMS) for number in range(VIEWS)]
        (folder / "project.sql").write_text("".join([*(STREAM.format(number) for number in range(STREAMS)), *views]))
        print(f"{f'headwater run, {len(views)} views':48}{run(folder, seconds):8.1f}", flush=True)
        bare = [sys.executable, "-c", PEER, str(folder / "views.db"), str(free_port())]
        print(f"{'a bare application of FastAPI':48}{idle(bare, seconds, 5):8.1f}", flush=True)
        print(f"{'a session of Spark':48}{idle([sys.executable, '-c', SPARK], seconds, 90):8.1f}", flush=True)


if __name__ == "__main__":
    main()
