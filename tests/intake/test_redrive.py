"""Dead letters that come back: decoded with today's declaration, each once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.app import app
from headwater.errors import Fenced
from headwater.intake.redrive import Redriven
from headwater.project import Project

NARROW = "CREATE STREAM orders (id STRING NOT NULL, amount INT, at TIMESTAMP, WATERMARK FOR at AS at);"
GOOD = '{"id": "a", "amount": 1, "at": "2026-01-01T00:00:00Z"}\n'
FAR = '{"id": "b", "amount": 2, "at": "2999-01-01T00:00:00Z"}\n'
BROKEN = '{"id": "c"'


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "orders.sql").write_text(NARROW)
    return tmp_path


def allow_any_time(shop: Path) -> None:
    (shop / "orders.sql").write_text(NARROW.replace(";", " WITH (max_ahead = 'none');"))


def ids(project: Project) -> list[str]:
    return project.read("orders")["id"].to_pylist()


def test_what_can_be_read_by_todays_declaration_comes_back_once_with_its_source_and_time(shop: Path) -> None:
    with hw.open(shop) as project:
        project.append("orders", GOOD + FAR + BROKEN, source="till-1")
        assert project.redrive("orders") == Redriven("orders", 0, 2)
    allow_any_time(shop)
    with hw.open(shop) as project:
        assert project.redrive("orders") == Redriven("orders", 1, 1)
        assert project.redrive("orders") == Redriven("orders", 0, 1)
        back = project.read("orders").to_pylist()[1]
        assert (back["id"], back["_source"], back["at"].year) == ("b", "till-1", 2999)
        assert project.dead("orders")["error"].to_pylist() == ["unreadable-event"]
        assert project.status().topics[0].dead == 1


def test_letters_are_chosen_by_their_class_and_their_time(shop: Path) -> None:
    with hw.open(shop) as project:
        project.append("orders", FAR)
        project.append("orders", FAR.replace('"b"', '"d"') + '{"amount": 3, "at": "2026-01-01T00:00:00Z"}\n')
    (shop / "orders.sql").write_text(NARROW.replace(";", " WITH (max_ahead = 'none');"))
    with hw.open(shop) as project:
        assert project.redrive("orders", error="missing-value") == Redriven("orders", 0, 1)
        assert project.redrive("orders", since=2, error="time-out-of-range") == Redriven("orders", 1, 0)
        assert ids(project) == ["d"]
        assert project.redrive("orders") == Redriven("orders", 1, 1)
        assert ids(project) == ["d", "b"]


def test_a_letter_tells_when_it_was_seen_and_how_often(shop: Path) -> None:
    with hw.open(shop) as project:
        project.append("orders", FAR + BROKEN)
        project.redrive("orders")
        project.redrive("orders", error="unreadable-event")
        project.append("orders", BROKEN)
        letters = project.dead("orders").to_pylist()
        assert [(letter["error"], letter["attempts"]) for letter in letters] == [
            ("time-out-of-range", 2),
            ("unreadable-event", 3),
            ("unreadable-event", 1),
        ]
        assert letters[0]["first_seen_at"] < letters[0]["last_seen_at"] < letters[1]["last_seen_at"]
        assert letters[2]["first_seen_at"] == letters[2]["last_seen_at"]
        assert project.dead("orders", error="time-out-of-range").num_rows == 1
    shown = CliRunner().invoke(app, ["dead", "orders", "--reason", "time-out-of-range", "--json", "-p", str(shop)])
    assert [json.loads(line)["attempts"] for line in shown.output.splitlines()] == [2]


def test_more_letters_than_a_block_has_are_marked_each_on_its_own(shop: Path) -> None:
    lines = [FAR.replace('"b"', f'"{number}"') if number % 3 else BROKEN + "\n" for number in range(200)]
    with hw.open(shop) as project:
        project.append("orders", "".join(lines))
    allow_any_time(shop)
    with hw.open(shop) as project:
        assert project.redrive("orders") == Redriven("orders", 133, 67)
        assert ids(project) == [str(number) for number in range(200) if number % 3]
    with hw.open(shop) as project:  # another process reads the marks from the log
        assert project.redrive("orders") == Redriven("orders", 0, 67)
        assert project.dead("orders").num_rows == 67


def test_redrives_at_the_same_time_bring_nothing_back_twice(shop: Path) -> None:
    with hw.open(shop) as project:
        for number in range(8):
            project.append("orders", FAR.replace('"b"', f'"{number}"'))
    allow_any_time(shop)

    def work() -> None:
        with hw.open(shop) as project:
            while True:
                try:
                    project.redrive("orders")
                    return
                except Fenced:
                    continue

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with hw.open(shop) as project:
        assert sorted(ids(project)) == [str(number) for number in range(8)]
        assert project.dead("orders").num_rows == 0


def test_the_command_says_what_came_back(shop: Path) -> None:
    with hw.open(shop) as project:
        project.append("orders", FAR + BROKEN)
    allow_any_time(shop)
    command = ["redrive", "orders", "--project", str(shop), "--json"]
    chosen = CliRunner().invoke(app, [*command, "--reason", "unreadable-event"])
    assert json.loads(chosen.stdout) == {"topic": "orders", "rows": 0, "dead": 1}
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"topic": "orders", "rows": 1, "dead": 1})


def test_a_topic_without_dead_letters_has_nothing_to_bring_back(shop: Path) -> None:
    with hw.open(shop) as project:
        assert project.redrive("orders") == Redriven("orders", 0, 0)
        assert project.log.head("orders") == -1
