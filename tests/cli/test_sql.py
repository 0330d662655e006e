"""`headwater sql`: by -c, from standard input, and at a prompt in a terminal. Nothing here needs Spark."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import headwater as hw
from headwater.cli.shell.prompt import Names, statements
from tests.cli.test_commands import headwater
from tests.patience import PATIENCE

STREAMS = """\
-- Who buys.
CREATE TABLE customers (
  id STRING PRIMARY KEY,
  tier STRING
);

CREATE STREAM orders (
  id STRING,
  customer STRING,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'customer');
"""
BUSY = "SELECT per_minute.customer, window_end FROM per_minute WHERE per_minute.n > 2"
VIEWS = f"""\
-- Orders of a minute.
CREATE MATERIALIZED VIEW per_minute AS
SELECT orders.customer, window_end, count(*) AS n
FROM TUMBLE(orders, at, INTERVAL '1' MINUTE) AS orders
GROUP BY orders.customer, window_end;

CREATE VIEW busy AS {BUSY};

CREATE OUTLET out FROM per_minute TO 'kafka://minutes';
"""
COMMAND = [sys.executable, "-c", "from headwater.cli import main; main()", "sql"]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    (tmp_path / "streams.sql").write_text(STREAMS)
    (tmp_path / "views.sql").write_text(VIEWS)
    with hw.open(tmp_path) as project:
        project.append("customers", [{"id": "ada", "tier": "gold"}, {"id": "ben", "tier": "blue"}])
    return tmp_path


def carried_out(shop: Path, *statements: str, code: int = 0, options: tuple[str, ...] = ()) -> str:
    done = headwater("sql", *(part for one in statements for part in ("-c", one)), *options, folder=shop)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


# Asking


def test_statements_are_answered_as_tables_and_as_json(shop: Path) -> None:
    asked = "SELECT id, tier FROM customers ORDER BY id"
    assert carried_out(shop, asked) == "id   tier\nada  gold\nben  blue\n2 rows\n"
    lines = carried_out(shop, asked + ";", options=("--json", "--limit", "1")).splitlines()
    assert [json.loads(line) for line in lines] == [{"id": "ada", "tier": "gold"}]


def test_statements_come_from_standard_input_and_the_first_that_fails_ends_it(shop: Path) -> None:
    text = b"SELECT count(*) AS n\nFROM customers; SELECT 1 FROM nowhere;\nSELECT 'never' AS said FROM customers"
    done = headwater("sql", folder=shop, stdin=text)
    assert done.returncode == 1
    assert done.stdout == "n\n2\n1 row\n"
    assert "nowhere" in done.stderr


def test_what_is_declared_is_described(shop: Path) -> None:
    assert "per_minute  materialized view  views.sql:2:1" in carried_out(shop, r"\d")
    described = carried_out(shop, r"\d per_minute")
    assert "n           BIGINT" in described
    assert "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) AS orders" in described
    assert "no declaration" in carried_out(shop, r"\d nothing", code=1)
    assert "EMIT CHANGES" in carried_out(shop, r"\?")


def test_a_query_is_explained_as_the_view_that_it_would_be(shop: Path) -> None:
    assert "Scan table customers" in carried_out(
        shop, "EXPLAIN SELECT tier, count(*) AS n FROM customers GROUP BY tier"
    )
    refused = carried_out(shop, "EXPLAIN SELECT customer, count(*) AS n FROM orders GROUP BY customer", code=1)
    assert "groups rows for ever" in refused


# Editing


def test_an_edit_shows_its_patch_and_is_written_only_after_a_yes(shop: Path) -> None:
    statement = "CREATE VIEW gold AS SELECT id FROM customers WHERE tier = 'gold'"
    shown = carried_out(shop, statement)
    assert f"+{statement};" in shown
    assert shown.endswith("nothing was written\n")
    assert (shop / "views.sql").read_text() == VIEWS
    assert "wrote views.sql" in carried_out(shop, statement, options=("--yes",))
    assert (shop / "views.sql").read_text() == f"{VIEWS}\n{statement};\n"


EDITS = {
    "ALTER TABLE customers ADD COLUMN town STRING COMMENT 'where'": (
        "  tier STRING\n",
        "  tier STRING,\n  town STRING COMMENT 'where'\n",
    ),
    "ALTER TABLE customers RENAME COLUMN tier TO level": ("  tier STRING\n", "  level STRING ALIAS tier\n"),
    "ALTER STREAM orders SET (idle = '1 minute', key = 'id')": (
        "WITH (key = 'customer')",
        "WITH (key = 'id', idle = '1 minute')",
    ),
    "ALTER STREAM orders RESET (key)": (") WITH (key = 'customer');", ");"),
    "ALTER TABLE customers SET (version = 2)": (" tier STRING\n);", " tier STRING\n)\nWITH (version = '2');"),
    "ALTER VIEW per_minute SET (grace = '5 s')": ("VIEW per_minute AS", "VIEW per_minute\nWITH (grace = '5 s') AS"),
    "ALTER VIEW busy AS SELECT id FROM orders": (f"busy AS {BUSY};", "busy AS\nSELECT id FROM orders;"),
    "DROP OUTLET out": ("\n\nCREATE OUTLET out FROM per_minute TO 'kafka://minutes';\n", "\n"),
    "DROP VIEW busy": (f"CREATE VIEW busy AS {BUSY};\n\n", ""),
}


@pytest.mark.parametrize("statement", EDITS)
def test_statements_edit_the_files(shop: Path, statement: str) -> None:
    old, new = EDITS[statement]
    carried_out(shop, statement, options=("--yes",))
    before, after = STREAMS + VIEWS, (shop / "streams.sql").read_text() + (shop / "views.sql").read_text()
    assert old in before
    assert after == before.replace(old, new)
    assert headwater("check", folder=shop).returncode == 0


def test_a_view_is_renamed_wherever_it_is_read(shop: Path) -> None:
    carried_out(shop, "ALTER MATERIALIZED VIEW per_minute RENAME TO minutes", options=("--yes",))
    assert (shop / "views.sql").read_text() == re.sub(r"\bper_minute\b", "minutes", VIEWS)
    assert headwater("check", folder=shop).returncode == 0


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP MATERIALIZED VIEW per_minute", 'reads "per_minute", which is declared nowhere'),
        ("ALTER STREAM orders RENAME TO purchases", "Its log is kept under its name"),
        ("ALTER STREAM orders RENAME COLUMN customer TO buyer", "unknown column"),
        ("ALTER VIEW busy SET (grace = '1 minute')", 'has no option "grace"'),
        ("CREATE VIEW odd AS SELECT FROM", "odd"),
        ("DROP VIEW orders", 'the project has no view "orders"'),
        ("ALTER VIEW busy OWNER TO me", "ALTER can't be read"),
        ("INSERT INTO orders VALUES (1)", "A query can only read"),
    ],
)
def test_what_a_project_would_not_run_with_is_refused_and_nothing_written(shop: Path, statement: str, why: str) -> None:
    assert why in carried_out(shop, statement, code=1, options=("--yes",))
    assert ((shop / "streams.sql").read_text(), (shop / "views.sql").read_text()) == (STREAMS, VIEWS)


def test_what_is_declared_in_python_is_edited_there(shop: Path) -> None:
    head = 'import headwater as hw\n\n\n@hw.view(columns={"id": str, "at": "TIMESTAMP"}, time="at", key=["id"])\n'
    (shop / "more.py").write_text(f'{head}def names(orders):\n    return orders.select("id", "at")\n')
    assert "more.py" in carried_out(shop, "DROP VIEW names", code=1, options=("--yes",))


# Live


def test_live_results_show_rows_as_they_come_and_go_until_they_are_interrupted(shop: Path) -> None:
    statement = "SELECT tier, count(*) AS n FROM customers GROUP BY tier EMIT CHANGES"
    with subprocess.Popen([*COMMAND, "-c", statement, "--json"], cwd=shop, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdout is not None
        first = sorted(live.stdout.readline() for _ in range(2))
        assert [json.loads(line)["row"] for line in first] == [{"tier": "blue", "n": 1}, {"tier": "gold", "n": 1}]
        with hw.open(shop) as project:
            project.append("customers", [{"id": "cyd", "tier": "gold"}])
        changes = [json.loads(live.stdout.readline()) for _ in range(2)]
        assert changes == [
            {"op": "delete", "row": {"tier": "gold", "n": 1}},
            {"op": "insert", "row": {"tier": "gold", "n": 2}},
        ]
        live.send_signal(signal.SIGINT)
        assert live.wait(PATIENCE) == 0


# At a prompt


class Terminal:
    """A terminal in which the shell runs: what is typed, and what is shown."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.seen = ""

    def type(self, keys: str, until: str, end: float | None = None) -> str:
        """Type something, and wait until something is shown; what was shown meanwhile."""
        os.write(self._descriptor, keys.encode())
        start, end = len(self.seen), end or time.monotonic() + PATIENCE
        while until not in self.seen[start:]:
            assert time.monotonic() < end, self.seen
            if select.select([self._descriptor], [], [], 0.1)[0]:
                self.seen += os.read(self._descriptor, 65536).decode()
        return self.seen[start:]

    def interrupt(self, until: str) -> None:
        """Press Ctrl-C, again as a person does: Python hears none between a prompt that it shows and its waiting."""
        start, end = len(self.seen), time.monotonic() + PATIENCE
        while until not in self.seen[start:]:
            with suppress(AssertionError):
                self.type("\x03", until, time.monotonic() + 1)
            assert time.monotonic() < end, self.seen


@contextmanager
def terminal(shop: Path) -> Iterator[Terminal]:
    here, there = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PAGER": "cat", "COLUMNS": "100", "LINES": "24", "NO_COLOR": "1"}
    own = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from headwater.cli import main; main()"
    shell = subprocess.Popen(
        [sys.executable, "-c", own, "sql"], cwd=shop, stdin=there, stdout=there, stderr=there, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(there)
    shown = Terminal(here)
    try:
        yield shown
        with suppress(OSError):
            while shell.poll() is None:
                os.read(here, 65536)
        assert shell.wait(PATIENCE) == 0
    finally:
        shell.kill()
        shell.wait()
        os.close(here)


def test_a_terminal_has_lines_that_go_on_completion_edits_and_a_history(shop: Path) -> None:
    with terminal(shop) as shell:
        shell.type("", "shop=> ")
        shell.type("SELECT id\n", "shop-> ")
        assert "ada" in shell.type("FROM customers WHERE tier = 'gold';\n", "1 row")
        shell.type("SELECT tie\t", "tier")
        assert "gold" in shell.type(" FROM customers LIMIT 1;\n", "1 row")
        assert "nowhere" in shell.type("SELECT * FROM nowhere;\n", "shop=> ")
        assert "--- a/views.sql" in shell.type("DROP OUTLET out;\n", "write views.sql? [y/N] ")
        shell.type("n\n", "nothing was written")
        shell.type("DROP OUTLET out;\n", "[y/N] ")
        shell.type("y\n", "wrote views.sql")
        shell.type("\\d bus\t", "busy")
        shell.type("\n", "window_end")
        shell.type("\\q\n", "")
    assert "CREATE OUTLET" not in (shop / "views.sql").read_text()
    with terminal(shop) as shell:
        shell.type("", "shop=> ")
        shell.type("\x1b[A", "\\q")
        shell.type("\x15SELECT tier FROM customers EMIT CHANGES;\n", "+ tier=blue")
        shell.interrupt("shop=> ")
        shell.type("SELECT 1 +\n", "shop-> ")
        shell.interrupt("shop=> ")
        shell.type("\x04", "")


def test_names_are_completed_in_the_case_in_which_a_word_began(shop: Path) -> None:
    with hw.open(shop) as project:
        names = Names(project)
    assert names.of("per_minute.w") == ["per_minute.window_end"]
    assert names.of("sel") == ["select"]
    assert "SELECT" in names.of("SEL")
    assert names.of("max_") == ["max_by("]


def test_a_statement_ends_with_a_semicolon_that_is_none_of_a_text_or_comment() -> None:
    assert statements("SELECT ';' -- ;\n; \\d x\nDROP") == (["SELECT ';' -- ;", "\\d x"], "DROP")
    assert statements("\\d\n") == (["\\d"], "")
    assert statements("SELECT 'a;\n") == ([], "SELECT 'a;\n")
