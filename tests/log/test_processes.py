"""Real processes on one log: many at once, killed in the middle, on a full disk, in a folder that can't be written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pyarrow.compute as pc

from headwater.log import TopicLog, open_storage
from headwater.log.read import commits, read
from tests.log.conftest import ORDERS, orders

PRELUDE = """
import sys
from headwater.errors import LogUnavailable
from headwater.log import TopicLog, open_storage
from tests.log.conftest import ORDERS, orders
log = TopicLog(ORDERS, open_storage(sys.argv[1]))
"""
ROOT = Path(__file__).parents[2]


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def test_eight_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    script = """
    for number in range(200):
        log.append(orders((f"{sys.argv[2]}-{number}", number)), source=sys.argv[2])
    """
    for process in [start(script, tmp_path / "orders", name) for name in range(8)]:
        finish(process)
    log = TopicLog(ORDERS, open_storage(str(tmp_path / "orders")))
    rows = read(log)
    assert rows["_commit"].to_pylist() == list(range(1, 1601)), "dense data commits, one row each"
    assert Counter(rows["id"].to_pylist()) == Counter(f"{name}-{number}" for name in range(8) for number in range(200))
    stamps = rows["_watermark"].to_pylist()
    assert stamps == sorted(stamps)
    for name in range(8):
        mine = rows.filter(pc.equal(rows["_source"], str(name)))["id"].to_pylist()
        assert mine == [f"{name}-{number}" for number in range(200)], "a writer's own order is kept"


def test_kill_9_leaves_a_commit_whole_or_not_at_all(tmp_path: Path) -> None:
    script = """
    for number in range(100_000):
        rows = orders(*[(f"{sys.argv[2]}-{number}-{i}", i) for i in range(50)])
        print(log.append(rows, sequence=(sys.argv[2], number)).commit, flush=True)
    """
    acknowledged: dict[str, list[int]] = {}
    for life in range(12):
        process = start(script, tmp_path / "orders", f"life-{life}")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * life)
        process.send_signal(signal.SIGKILL)
        lines = process.communicate(timeout=60)[0].split("\n")
        acknowledged[f"life-{life}"] = [int(line) for line in lines[:-1]]
    log = TopicLog(ORDERS, open_storage(str(tmp_path / "orders")))
    log.append(orders(("after", 1)))  # needs no repair
    sizes = Counter(read(log)["_commit"].to_pylist())
    assert {sizes[commit.number] for commit in commits(log) if commit.kind == "append"} == {50, 1}
    assert all(number in sizes for numbers in acknowledged.values() for number in numbers)
    names = read(log)["id"].to_pylist()
    assert len(names) == len(set(names))


def test_a_full_disk_is_an_error_that_names_the_path_and_acknowledges_nothing(tmp_path: Path) -> None:
    script = """
    import json, resource, signal
    log.append(orders(("before", 1)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    try:
        log.append(orders(("lost", 2)))
    except LogUnavailable as error:
        print(json.dumps(error.as_dict()))
    """
    error = json.loads(finish(start(script, tmp_path / "orders")))
    assert error["error"] == "log-unavailable"
    assert error["path"].startswith(str(tmp_path / "orders"))
    assert "File too large" in error["detail"]
    assert "Nothing was acknowledged" in error["detail"]
    assert read(TopicLog(ORDERS, open_storage(str(tmp_path / "orders"))))["id"].to_pylist() == ["before"]


def test_a_read_only_folder_is_an_error_that_names_the_path(tmp_path: Path) -> None:
    script = """
    import os
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    try:
        log.append(orders(("lost", 2)))
    except LogUnavailable as error:
        print(error)
    """
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    error = finish(start(script, locked / "orders"))
    assert f'the log could not be reached at "{locked / "orders"}' in error
    assert "Permission denied" in error


def test_an_unreachable_object_store_is_an_error_that_names_the_address() -> None:
    script = """
    options = {"aws_endpoint_url": "http://127.0.0.1:9", "aws_allow_http": "true", "aws_access_key_id": "a",
               "aws_secret_access_key": "b", "aws_region": "us-east-1", "connect_timeout": "200ms", "timeout": "300ms"}
    log = TopicLog(ORDERS, open_storage("s3://bucket/orders", options))
    try:
        log.append(orders(("lost", 2)))
    except LogUnavailable as error:
        print(error.transient, error)
    """
    error = finish(start(script, "memory://unused"))
    assert error.startswith('True the log could not be reached at "s3://bucket/orders')
    assert "Nothing was acknowledged" in error
