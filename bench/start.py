"""Starts: how long commands take that have little to do, and how soon a run and the demo serve.

Each beside the least that could do the same: `--help` beside Python with the same library for commands, an API that
serves what is in the store beside a bare FastAPI application on the same file. A catch-up that has nothing to do is
watched: it must not start a JVM. What needs Spark is asked for while a run is there, which answers it. Of
the demo it is the time until its pages are there with the first events, until the first view has rows to show, and
until every view is served.

What is measured has its bytecode, as whatever is installed has; it is kept in a folder that goes with the benchmark.

    python -m bench.start [ROUNDS]
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import headwater as hw
from bench.effort import Effort, descendants, effort_of, median, worked
from bench.serve import PEER, clicks

HEADWATER = "from headwater.cli import main; main()"
VIEWS = 4
DECLARED = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
CREATE MATERIALIZED VIEW seen WITH (key = 'id') AS SELECT id, page, price, at FROM clicks;
""" + "".join(
    f"CREATE MATERIALIZED VIEW counted_{number} WITH (emit = 'changes') AS SELECT page, window_end, count(*) AS n "
    "FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end;\n"
    for number in range(VIEWS - 1)
)
DEMO = ("spend_per_minute", "payments_by_country", "top_merchants", "velocity", "sessions", "fraud_alerts")
PATIENCE = 300.0


def command(*words: str) -> list[str]:
    """A command of Headwater."""
    return [sys.executable, "-c", HEADWATER, *words]


def done(words: Sequence[str], *codes: int) -> Effort:
    """What a program costs, until it has ended as it should."""

    def run() -> None:
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ended.returncode in (codes or (0,)), ended.stderr

    return effort_of(run)


def free_port() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def answer_of(port: int, path: str) -> bytes | None:
    """What is answered; None before something is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        return body if answer.status == 200 else None
    except OSError:
        return None
    finally:
        connection.close()


def rows_of(port: int, path: str) -> int:
    """The number of rows that are served; -1 before they are."""
    body = answer_of(port, path)
    return -1 if body is None else len(json.loads(body)["rows"])


def has_pages(port: int) -> bool:
    """Tells whether the dashboard is there, and events that its first chart shows."""
    status = answer_of(port, "/status")
    return answer_of(port, "/") is not None and status is not None and json.loads(status)["topics"][0]["rows"] > 0


def until_served(port: int, path: str) -> None:
    """Wait until rows are served."""
    began = time.perf_counter()
    while rows_of(port, path) < 1:
        assert time.perf_counter() - began < PATIENCE, f"{path} is not served"
        time.sleep(0.01)


@contextmanager
def started(words: Sequence[str]) -> Iterator[Callable[[], Effort]]:
    """A program that goes on until it is told to end; what it has cost so far."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as told, subprocess.Popen(words, stdout=told, stderr=told) as process:
        try:
            yield lambda: Effort(time.perf_counter() - began, worked(process.pid))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def served(words: Sequence[str], port: int, path: str) -> Effort:
    """What a program costs until it serves rows."""
    with started(words) as so_far:
        until_served(port, path)
        return so_far()


@contextmanager
def watched_for_java() -> Iterator[set[str]]:
    """The names of programs that are started meanwhile."""
    names: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            names.update(descendants())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield names
    finally:
        over.set()
        watching.join()


def show(title: str, efforts: Sequence[Effort], beside: Effort | None = None) -> Effort:
    """Print what something took, and its ratio to its peer."""
    one = median(efforts)
    ratio = f"{one.worked / beside.worked:10.1f}" if beside else ""
    print(f"{title:56}{one.clock * 1000:10,.0f}{one.worked * 1000:12,.0f}{ratio}", flush=True)
    return one


def commands(rounds: int) -> None:
    """Commands that do nothing."""
    python = [sys.executable, "-c"]
    done(command("--help"))
    nothing = show("python", [done([*python, "pass"]) for _ in range(rounds)])
    show("import headwater", [done([*python, "import headwater"]) for _ in range(rounds)], nothing)
    typer = show("import typer", [done([*python, "import typer, rich.console"]) for _ in range(rounds)])
    show("headwater --help", [done(command("--help")) for _ in range(rounds)], typer)


def run(folder: Path, rounds: int) -> None:
    """A run of a project whose views are at the head, and what is asked of it."""
    named = ["--project", str(folder)]
    done(command("catch-up", *named))
    with watched_for_java() as names:
        show("catch-up with nothing to do", [done(command("catch-up", *named)) for _ in range(rounds)])
    assert "java" not in names, "it started Spark"
    bare, ours = [], []
    for _ in range(rounds + 1):
        port = free_port()
        bare.append(served([sys.executable, "-c", PEER, str(folder / "views.db"), str(port)], port, "/seen?id=1"))
        port = free_port()
        ours.append(served(command("run", "--port", str(port), *named), port, "/views/seen?id=1"))
    beside = show("what is in the store, served by a bare application", bare[1:])
    show("what is in the store, served by headwater run", ours[1:], beside)
    port = free_port()
    with hw.open(folder) as project, started(command("run", "--port", str(port), *named)) as so_far:
        head = project.append("clicks", clicks(10_000, 10)).commit
        while any(view.commits.get("clicks", 0) < head for view in project.status().views):
            assert so_far().clock < PATIENCE, "the run doesn't follow"
            time.sleep(0.1)
        show("every view of it follows, Spark started", [so_far()])
        asked = (("verify", "seen"), ("why", "seen", "id=1"), ("late", "counted_0"), ("batch", "seen", "--to", "1"))
        for words in asked:
            efforts = [done(command(*words, *named)) for _ in range(rounds)]
            show(f"headwater {words[0]}, asked of the run", efforts)


def demo(folder: Path) -> None:
    """The demo: its pages with the first events, the first view with rows, and all views."""
    port, first = free_port(), dict[str, Effort]()
    with started(command("demo", "--in", str(folder), "--port", str(port), "--for", "1h")) as so_far:
        while not {*DEMO, "pages", "rows"} <= set(first):
            rows = {view: rows_of(port, f"/views/{view}") for view in DEMO if view not in first or "rows" not in first}
            there = {view for view, count in rows.items() if count >= 0}
            there |= {"rows"} if any(count > 0 for count in rows.values()) else set()
            there |= {"pages"} if "pages" in first or has_pages(port) else set()
            if new := there - set(first):
                first |= dict.fromkeys(new, so_far())
            assert so_far().clock < PATIENCE, f"the demo has no more than {', '.join(first)}"
            time.sleep(0.2)
    show("demo: pages with the first events", [first["pages"]])
    show("demo: rows of the first view", [first["rows"]])
    show("demo: every view is served", [max((first[view] for view in DEMO), key=lambda effort: effort.clock)])


def main() -> None:
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians of {rounds}; milliseconds")
    print(f"{'':56}{'clock':>10}{'processor':>12}{'to peer':>10}")
    with tempfile.TemporaryDirectory() as home:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{home}/bytecode"
        commands(rounds)
        folder = Path(home) / "start"
        folder.mkdir()
        (folder / "headwater.toml").write_text('name = "start"\n[spark]\n"spark.master" = "local[2]"\n')
        (folder / "project.sql").write_text(DECLARED)
        with hw.open(folder) as project:
            project.append("clicks", clicks(0, 1_000))
        done(command("catch-up", "--project", str(folder)))
        run(folder, rounds)
        demo(Path(home) / "demo")


if __name__ == "__main__":
    main()
