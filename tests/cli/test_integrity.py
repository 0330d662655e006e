"""The commands that keep the log whole, as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_commands import headwater, records

DECLARED = "CREATE STREAM orders (id STRING NOT NULL, at TIMESTAMP) WITH (key = 'id')"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "headwater.toml").write_text('name = "shop"')
    (shop / "orders.sql").write_text(DECLARED)
    append(shop, "a", "b", None)
    append(shop, "c")
    return shop


def append(shop: Path, *names: str | None) -> None:
    lines = "\n".join(json.dumps({"id": name, "at": "2026-01-01T00:00:00Z"}) for name in names)
    assert headwater("append", "orders", "-", "--format", "json", folder=shop, stdin=lines.encode()).returncode == 0


def damage(shop: Path, commit: int) -> None:
    path = next((shop / "data/log/orders").glob(f"{commit:020d}-*.parquet"))
    content = bytearray(path.read_bytes())
    content[50] ^= 4
    path.write_bytes(content)


def test_scrub_tells_what_is_hurt_and_repair_puts_it_back(shop: Path, tmp_path: Path) -> None:
    assert [(log["log"], log["hurt"]) for log in records("scrub", folder=shop)] == [
        ("dead/orders", []),
        ("log/orders", []),
    ]
    (done,) = records("backup", tmp_path / "copy", folder=shop)
    assert done["good"]
    assert done["heads"] == {"dead/orders": 1, "log/orders": 2}
    damage(shop, 2)
    found = headwater("scrub", "orders", folder=shop)
    assert found.returncode == 1
    assert "log/orders" in found.stdout
    hurt = json.loads(headwater("scrub", "--json", folder=shop).stdout.splitlines()[1])["hurt"]
    assert [(each["commits"], each["log"]) for each in hurt] == [("2", "log/orders")]
    told = headwater("status", folder=shop)
    assert "log/orders is damaged in commits 2" in told.stderr
    assert "last good backup:" in told.stdout
    assert headwater("repair", "orders", folder=shop).returncode == 1, "no copy was named"
    assert headwater("repair", "orders", "--from", tmp_path / "copy", folder=shop).returncode == 0
    assert headwater("scrub", folder=shop).returncode == 0
    assert "is damaged" not in headwater("status", folder=shop).stderr


def test_a_hole_stops_a_topic_and_not_the_status(shop: Path) -> None:
    (shop / "data/log/orders/_delta_log/00000000000000000001.json").unlink()
    (status,) = records("status", folder=shop)
    (topic,) = status["topics"]
    assert "entry 1 of the log" in topic["stopped"]
    refused = headwater("append", "orders", "-", "--format", "json", folder=shop, stdin=b'{"id": "d"}')
    assert refused.returncode == 1
    assert "headwater repair orders --from" in refused.stderr


def test_what_is_lost_is_declared_by_name(shop: Path) -> None:
    damage(shop, 2)
    refused = headwater("repair", "orders", "--declare-lost", "2", folder=shop)
    assert refused.returncode == 1
    assert "needs a reason" in refused.stderr
    lost = records("repair", "orders", "--declare-lost", "2", "--reason", "the disk died", folder=shop)
    assert [(each["rows"], each["entries"]) for each in lost] == [(1, 0)]
    (status,) = records("status", folder=shop)
    assert status["topics"][0]["lost"] == {"rows": 1, "entries": 0}
    assert headwater("scrub", folder=shop).returncode == 0
    assert [act["act"] for act in records("audit", folder=shop)][-1] == "declare lost"


def test_a_backup_is_restored(shop: Path, tmp_path: Path) -> None:
    records("backup", tmp_path / "copy", folder=shop)
    refused = headwater("restore", tmp_path / "copy", folder=shop)
    assert refused.returncode == 1
    assert "has logs" in refused.stderr
    assert headwater("restore", tmp_path / "copy", "--to", tmp_path / "other", folder=shop).returncode == 0
    assert (tmp_path / "other/log/orders/_delta_log").is_dir()
    shutil.rmtree(shop / "data")
    assert headwater("restore", tmp_path / "copy", folder=shop).returncode == 0
    assert [commit["rows"] for commit in records("log", "orders", folder=shop)] == [0, 2, 1]
    append(shop, "d")
