"""`headwater convert`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_commands import headwater

FLINK = "CREATE TABLE pings (host STRING) WITH ('connector' = 'kafka', 'topic' = 'pings', 'format' = 'json');"
OURS = "CREATE STREAM pings (\n  host STRING\n)\nWITH (connector = 'kafka', topic = 'pings');\n"


def test_what_another_system_declares_is_written_in_ours(tmp_path: Path) -> None:
    (tmp_path / "pings.sql").write_text(FLINK)
    done = headwater("convert", "--from", "flink", "pings.sql", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, OURS, "")


def test_it_reads_standard_input_and_writes_a_new_file_which_a_project_can_check(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "net"\n')
    arguments = ("convert", "--from", "flink", "-", "--to", "streams.sql")
    assert headwater(*arguments, folder=tmp_path, stdin=FLINK.encode()).returncode == 0
    assert headwater("check", folder=tmp_path).stdout == "net: 1 topic, 0 views: ok\n"
    again = headwater(*arguments, folder=tmp_path, stdin=FLINK.encode())
    assert again.returncode == 1
    assert '"streams.sql" is there already' in again.stderr


def test_what_has_errors_is_written_and_named(tmp_path: Path) -> None:
    text = b"CREATE VIEW hosts AS SELECT host FROM pings;"
    done = headwater("convert", "--from", "flink", "-", folder=tmp_path, stdin=text)
    assert done.returncode == 1
    assert done.stdout.startswith("CREATE VIEW hosts AS")
    assert 'converted.sql:4:6: error: view "hosts" reads "pings", which is declared nowhere' in done.stderr
    record = json.loads(headwater("convert", "--from", "flink", "-", "--json", folder=tmp_path, stdin=text).stdout)
    assert record["sql"] == done.stdout
    assert [finding["error"] for finding in record["findings"]] == ["unknown-name"]


def test_a_system_that_is_not_known_is_refused(tmp_path: Path) -> None:
    done = headwater("convert", "--from", "storm", "-", folder=tmp_path)
    assert done.returncode == 1
    assert "There are flink, risingwave, ksqldb, spark, materialize." in done.stderr
