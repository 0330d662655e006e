"""The commands of the schema registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli import app

ID = {"name": "id", "type": "string"}
AMOUNT = {"name": "amount", "type": "int"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    for name, fields in (("first", [ID]), ("more", [ID, {**AMOUNT, "default": 0}]), ("worse", [ID, AMOUNT])):
        text = json.dumps({"type": "record", "name": "Payment", "fields": fields})
        (tmp_path / f"{name}.avsc").write_text(text)
    return tmp_path


def schema(shop: Path, *arguments: str, code: int = 0) -> str:
    named = [str(shop / one) if one.endswith((".avsc", ".txt")) else one for one in arguments]
    done = CliRunner().invoke(app, ["schema", *named, "--project", str(shop)])
    assert done.exit_code == code, done.output
    return done.output


def test_a_schema_is_registered_checked_listed_and_compared(shop: Path) -> None:
    assert schema(shop, "register", "payments-value", "first.avsc") == "payments-value: version 1, schema 1\n"
    refused = schema(shop, "check", "payments-value", "worse.avsc", code=1).splitlines()
    assert refused == [
        'reading version 1: field "amount" has no default, and the writer has no such field',
        "payments-value: BACKWARD: no",
    ]
    assert schema(shop, "check", "payments-value", "more.avsc") == "payments-value: BACKWARD: ok\n"
    schema(shop, "register", "payments-value", "more.avsc")
    assert schema(shop, "list").splitlines() == [
        "payments-value: version 1, schema 1, AVRO, BACKWARD",
        "payments-value: version 2, schema 2, AVRO, BACKWARD",
    ]
    compared = schema(shop, "diff", "payments-value").splitlines()
    assert compared[:2] == ["--- version 1", "+++ version 2"]
    assert '+      "name": "amount",' in compared
    assert compared[-2:] == ["version 2 reads version 1: yes", "version 1 reads version 2: yes"]


def records(shop: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in schema(shop, *arguments, "--json").splitlines()]


def test_a_level_is_set_and_a_version_deleted(shop: Path) -> None:
    schema(shop, "register", "a", "first.avsc")
    assert records(shop, "level", "a", "none") == [{"subject": "a", "level": "NONE"}]
    assert records(shop, "level", "FULL") == [{"subject": None, "level": "FULL"}]
    schema(shop, "register", "a", "worse.avsc")
    assert records(shop, "delete", "a", "1") == [{"subject": "a", "versions": [1], "permanent": False}]
    assert [(one["version"], one["deleted"]) for one in records(shop, "list", "--deleted")] == [(1, True), (2, False)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "a", "missing.avsc"),
        ("register", "a", "first.txt"),
        ("register", "a", "first.avsc", "--reference", "x"),
        ("list", "b"),
        ("diff", "b"),
        ("level", "a", "SIDEWAYS"),
        ("delete", "b", "one"),
    ],
)
def test_what_can_t_be_done_ends_with_1(shop: Path, arguments: tuple[str, ...]) -> None:
    schema(shop, *arguments, code=1)
