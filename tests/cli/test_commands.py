"""The command line as a user runs it: what commands print, and what they exit with.

Most of them run in this process; where the process itself matters, in one of their own.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import app
from tests.patience import PATIENCE

UNSET = ("FORCE_COLOR", "HEADWATER_PROJECT")


def headwater(*arguments: object, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    command = [str(argument) for argument in arguments]
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, command, input=stdin, env=dict.fromkeys(UNSET), catch_exceptions=False)
    return subprocess.CompletedProcess(command, done.exit_code, done.stdout, done.stderr)


def process(*arguments: object, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from headwater.cli import main; main()", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, env=environment, timeout=PATIENCE)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def records(*arguments: object, folder: Path) -> list[dict[str, Any]]:
    done = headwater(*arguments, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    assert headwater("init", "shop", folder=tmp_path).returncode == 0
    return tmp_path / "shop"


def test_check_says_which_files_were_left_alone(shop: Path) -> None:
    (shop / "report.py").write_text("raise SystemExit('it ran')")
    checked = headwater("check", folder=shop)
    assert checked.stdout == "left alone, since nothing is declared there: report.py\nshop: 1 topic, 2 views: ok\n"
    left = {"left_alone": [{"file": "report.py", "why": "it declares nothing"}]}
    assert records("check", folder=shop) == [left]


def test_an_append_tells_unknown_fields_and_fails_if_no_event_became_a_row(shop: Path) -> None:
    good = (shop / "orders.jsonl").read_bytes().splitlines()[0].replace(b"{", b'{"colour": "red", ', 1) + b"\n"
    done = headwater("append", "orders", "-", folder=shop, stdin=good + b"{}\n")
    assert (done.returncode, "1 row, 1 dead letter" in done.stdout) == (0, True)
    assert "field that no column declares (colour 1)" in " ".join(done.stdout.split())
    dead = headwater("append", "orders", "-", "--json", folder=shop, stdin=b"{}\n")
    assert (dead.returncode, json.loads(dead.stdout)["became"]) == (1, "dead letters")
    (status,) = records("status", folder=shop)
    assert status["topics"][0]["unknown"] == {"colour": 1}


def test_a_new_project_compiles_and_takes_its_events(shop: Path) -> None:
    checked = headwater("check", folder=shop)
    assert (checked.returncode, checked.stdout) == (0, "shop: 1 topic, 2 views: ok\n")
    appended = headwater("append", "orders", "orders.jsonl", folder=shop)
    assert appended.stdout == (
        "orders: 6 rows, 2 dead letters (headwater dead orders), 1 behind the watermark; "
        "commit 1, watermark 2026-01-05 09:02:25.000\n"
    )
    assert [(r["commit"], r["kind"], r["rows"], r["sources"]) for r in records("log", "orders", folder=shop)] == [
        (0, "create", 0, []),
        (1, "append", 6, ["local"]),
    ]
    assert [(r["position"], r["error"]) for r in records("dead", "orders", folder=shop)] == [
        ("orders.jsonl:4", "wrong-type"),
        ("orders.jsonl:7", "missing-value"),
    ]
    tail = headwater("tail", "orders", "--from", "10m", folder=shop).stdout.splitlines()
    assert tail[0].split()[:5] == ["_commit", "_row", "_watermark", "_source", "id"]
    assert len(tail) == 7
    assert [row["id"] for row in records("tail", "orders", "--from", 1, folder=shop)][:2] == ["o-1", "o-2"]


def test_init_overwrites_nothing(shop: Path) -> None:
    again = headwater("init", "shop", folder=shop.parent)
    assert again.returncode == 1
    assert 'error: "shop" already has headwater.toml' in again.stderr


def test_check_shows_the_place_and_exits_with_1(shop: Path) -> None:
    (shop / "bad.sql").write_text("CREATE MATERIALIZED VIEW bad AS\nSELECT id, quantty FROM orders;\n")
    done = headwater("check", folder=shop)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bad.sql:2:12: error: ")
    assert lines[0].endswith("(unknown-column)")
    assert lines[1:3] == ["    SELECT id, quantty FROM orders;", "               ^"]
    assert lines[-1] == "shop: 1 topic, 3 views: 1 error"
    as_json = headwater("check", "--json", folder=shop)
    (finding,) = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert (finding["severity"], finding["error"], finding["line"], finding["column"]) == (
        "error",
        "unknown-column",
        2,
        12,
    )


def test_plan_prints_a_tree_and_json(shop: Path) -> None:
    text = headwater("graph", "sales_per_minute", folder=shop).stdout
    assert 'view "sales_per_minute"' in text
    assert "revenue DECIMAL(31, 2)" in text
    (plan,) = records("graph", "large_orders", folder=shop)
    assert [column["name"] for column in plan["columns"]] == ["id", "customer", "product", "total", "at"]


def test_standard_input_strictness_and_batches(shop: Path) -> None:
    event = b'{"id": "s-%d", "quantity": 1, "price": 2, "at": "2026-01-05T10:00:00Z"}\n'
    done = process(
        "append", "orders", "-", "--batch", 2, "--json", folder=shop, stdin=b"".join(event % n for n in range(5))
    )
    assert json.loads(done.stdout) | {"watermark": None} == {
        "topic": "orders", "commit": 3, "rows": 5, "dead": 0, "watermark": None, "behind": 0, "repeated": False,
        "unknown": {}, "became": "rows",
    }  # fmt: skip
    strict = headwater("append", "orders", "orders.jsonl", "--strict", folder=shop)
    assert strict.returncode == 1
    assert "Nothing was appended" in strict.stderr
    assert len(records("tail", "orders", folder=shop)) == 5


def test_errors_are_json_on_standard_error_if_asked(shop: Path) -> None:
    done = headwater("append", "nope", "orders.jsonl", "--json", folder=shop)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"] == "unknown-topic"


@pytest.mark.parametrize(
    "arguments",
    [("append", "orders", "missing.jsonl"), ("append", "orders", "notes.txt"), ("tick", "orders", "--to", "soon"),
     ("tail", "orders", "--from", "yesterday-ish")],
)  # fmt: skip
def test_wrong_arguments_exit_with_1_and_say_what_to_do(shop: Path, arguments: tuple[str, ...]) -> None:
    (shop / "notes.txt").write_text("hello")
    done = headwater(*arguments, folder=shop)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_wrong_usage_exits_with_2(shop: Path) -> None:
    assert process("append", folder=shop).returncode == 2
    assert headwater("apend", "orders", folder=shop).returncode == 2


def test_outside_a_project_it_says_so(tmp_path: Path) -> None:
    done = process("check", folder=tmp_path)
    assert done.returncode == 1
    assert "headwater init DIR" in done.stderr


def test_the_version_is_told(tmp_path: Path) -> None:
    assert headwater("--version", folder=tmp_path).stdout == f"headwater {hw.__version__}\n"


def test_a_tick_moves_the_watermark(shop: Path) -> None:
    headwater("append", "orders", "orders.jsonl", folder=shop)
    (moved,) = records("tick", "orders", "--to", "2026-01-05T10:00:00Z", folder=shop)
    assert (moved["commit"], moved["watermark"]) == (2, "2026-01-05T10:00:00+00:00")


def test_trim_lets_go_of_old_events(shop: Path) -> None:
    for _ in range(2):
        headwater("append", "orders", "orders.jsonl", folder=shop)
    assert records("trim", "orders", "--before", 2, folder=shop) == [{"topic": "orders", "rows": 6}]
    assert len(records("tail", "orders", folder=shop)) == 6


def test_generated_events_are_the_same_for_the_same_seed_and_can_be_appended(shop: Path) -> None:
    first = headwater("generate", "orders", "--rows", 300, "--poison", 0.02, folder=shop).stdout
    headwater("generate", "orders", "--rows", 300, "--poison", 0.02, "--out", "made.jsonl", folder=shop)
    assert (shop / "made.jsonl").read_text() == first
    (receipt,) = records("append", "orders", "made.jsonl", folder=shop)
    assert receipt["rows"] + receipt["dead"] == len([line for line in first.splitlines() if line.strip()])
    assert receipt["dead"] > 0


def test_tail_follows_until_it_is_interrupted(shop: Path) -> None:
    command = [sys.executable, "-c", "from headwater.cli import main; main()", "tail", "orders", "--follow", "--json"]
    tail = subprocess.Popen(command, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert tail.stdout is not None
    headwater("append", "orders", "orders.jsonl", folder=shop)
    seen = [json.loads(tail.stdout.readline())["id"] for _ in range(6)]
    tail.send_signal(signal.SIGINT)
    _, problems = tail.communicate(timeout=PATIENCE)
    assert seen == ["o-1", "o-2", "o-3", "o-5", "o-6", "o-8"]
    assert (tail.returncode, problems) == (130, "")


COMMANDS = ["init", "check", "plan", "graph", "append", "tick", "log", "tail", "dead", "trim", "demo"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_answer_in_json(name: str) -> None:
    assert name in {command.name for command in app.registered_commands}
    (command,) = [found for found in app.registered_commands if found.name == name]
    assert command.callback is not None
    assert "json_" in inspect.signature(command.callback).parameters


def test_append_takes_a_file_or_a_folder_s_files_come_by_intake(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "payments.sql").write_text(
        "CREATE STREAM payments (id STRING) WITH (connector = 'folder', path = 'in', settle = '0 seconds');"
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": "p0"}\n{"id": "p1"}\n')
    taken = headwater("intake", "--until-head", folder=tmp_path)
    assert (taken.returncode, taken.stdout) == (0, "payments: 2 rows; next in: file 2\n")
    assert headwater("append", "payments", folder=tmp_path).returncode == 2
    assert headwater("append", "payments", "in/a.jsonl", "--from", "kafka", folder=tmp_path).returncode == 2
    assert headwater("append", "payments", "--from", "pigeons", folder=tmp_path).returncode == 2


def test_what_commands_write_is_for_its_owner_alone(tmp_path: Path) -> None:
    assert process("init", "shop", folder=tmp_path).returncode == 0
    row = b'{"id": "o-1", "customer": "c", "amount": 1, "at": "2026-01-01T12:00:00Z"}\n'
    appended = process("append", "orders", "-", folder=tmp_path / "shop", stdin=row)
    written = [path for path in (tmp_path / "shop").rglob("*") if not path.is_symlink()]
    assert any("_delta_log" in str(path) for path in written), appended.stderr
    assert {path.name for path in written if path.stat().st_mode & 0o077} == set()


LOADED = """
import sys
from headwater.cli import app
try:
    app(sys.argv[2:])
finally:
    print([name for name in sys.argv[1].split() if name in sys.modules])
"""


@pytest.mark.parametrize(
    "arguments, large",
    [
        (["--help"], "pyarrow sqlglot pydantic pandas pyspark fastapi headwater.project"),
        (["schema", "level", "--help"], "pyarrow sqlglot headwater.project"),
        (["check"], "pyspark py4j fastapi nicegui duckdb httpx proto_schema_parser"),
        (["status"], "pyspark py4j fastapi nicegui duckdb httpx"),
        (["check"], "pandas"),
    ],
)
def test_a_command_loads_none_of_what_is_large_and_that_it_does_not_need(
    shop: Path, arguments: list[str], large: str
) -> None:
    command = [sys.executable, "-c", LOADED, large, *arguments]
    done = subprocess.run(command, cwd=shop, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr


def test_rows_of_a_table_are_appended_deleted_and_asked_as_they_were(shop: Path) -> None:
    (shop / "tables.sql").write_text(
        "CREATE TABLE customers (id INT, tier STRING, at TIMESTAMP, WATERMARK FOR at AS at, PRIMARY KEY (id));\n"
        "CREATE TABLE prices (product STRING, country STRING, price DECIMAL(8, 2), PRIMARY KEY (product, country));\n"
    )
    rows = [{"id": 1, "tier": "silver", "at": "2026-01-01T12:00:00Z"}, {"id": 2, "at": "2026-01-01T12:00:00Z"}]
    (shop / "customers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert headwater("append", "customers", "customers.jsonl", folder=shop).returncode == 0
    deleted = records("delete", "customers", "1", "17", "--at", "2026-01-01T12:00:10Z", folder=shop)
    assert [(receipt["rows"], receipt["commit"]) for receipt in deleted] == [(2, 2)]
    was = "SELECT id FROM customers FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 12:00:{}' ORDER BY id"
    assert records("query", was.format("09"), folder=shop) == [{"id": 1}, {"id": 2}]
    assert records("query", was.format("10"), folder=shop) == [{"id": 2}]
    assert headwater("delete", "prices", "product=cup", "country=DE", folder=shop).returncode == 0
    assert [row["_op"] for row in records("tail", "prices", folder=shop)] == ["delete"]
    for refused in (("prices", "cup"), ("customers", "one"), ("customers", "1"), ("orders", "1")):
        assert headwater("delete", *refused, folder=shop).returncode == 1
    assert headwater("trim", "customers", "--before", "2", folder=shop).returncode == 1
    assert [done["rows"] for done in records("compact", "customers", "--keep", "30d", folder=shop)] == [0]
    assert headwater("compact", "customers", "--keep", "0", folder=shop).stdout.startswith(
        "customers: 1 changes let go"
    )
    assert headwater("query", was.format("10"), folder=shop).returncode == 1
    assert records("query", "SELECT id FROM customers", folder=shop) == [{"id": 2}]
    assert headwater("compact", "orders", "--keep", "30d", folder=shop).returncode == 1
