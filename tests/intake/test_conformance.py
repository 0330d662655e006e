"""Every inlet passes the suite; one of somebody else's comes in by an entry point."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import CheckFailed, SettingsRefused
from headwater.intake import Events, Inlet, Piece, SourcePositions, Wait
from headwater.intake.opening import Surroundings
from headwater.model import Connector, Topic
from headwater.testing import IntakeConformance, payments


class Journal(Inlet):
    """An inlet of somebody else's: a file to which a line is added for each event. Its position is a byte."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._next = self._end = 0

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        self._next = positions.position("journal") or 0
        self._end = self._size()
        positions.take_up({"journal": self._next})

    def read(self, wait: Wait) -> Sequence[Piece]:
        while self._next >= self._size():
            if wait.is_over:
                return []
            wait.pause(timedelta(milliseconds=10))
        with self._file.open("rb") as file:
            file.seek(self._next)
            lines = file.read().splitlines(keepends=True)
        numbers = []
        for line in lines:
            numbers.append(self._next)
            self._next += len(line)
        return [Events("journal", [line.removesuffix(b"\n") for line in lines], numbers, self._next)]

    @property
    def is_drained(self) -> bool:
        return self._next >= self._end

    def close(self) -> None:
        """Nothing is open."""

    def _size(self) -> int:
        return self._file.stat().st_size if self._file.exists() else 0


class JournalFeed:
    def __init__(self, file: Path) -> None:
        self.topic = payments(Connector(name="journal", commit_every=timedelta(milliseconds=50)))
        self._file = file

    def send(self, *values: bytes) -> None:
        with self._file.open("ab") as file:
            file.write(b"".join(value + b"\n" for value in values))

    def inlet(self) -> Inlet:
        return Journal(self._file)


class TestJournal(IntakeConformance):
    @pytest.fixture
    def feed(self, tmp_path: Path) -> JournalFeed:
        return JournalFeed(tmp_path / "journal.jsonl")


def open_journal(topic: Topic, surroundings: Surroundings) -> Inlet:
    """What a package would register."""
    assert isinstance(topic.intake, Connector)
    return Journal(surroundings.folder / dict(topic.intake.options)["file"])


def broken(topic: Topic, surroundings: Surroundings) -> Inlet:
    raise ValueError("no such place")


@pytest.fixture
def somebodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project beside which a package with inlets is installed."""
    installed = tmp_path / "site" / "somebodys-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    points = f"[headwater.intakes]\njournal = {__name__}:open_journal\nbroken = {__name__}:broken\n"
    (installed / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path / "site")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "headwater.toml").write_text('name = "shop"')
    return folder


def declare(folder: Path, options: str) -> None:
    (folder / "payments.sql").write_text(
        f"CREATE STREAM payments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH ({options});"
    )


def test_an_inlet_of_somebody_elses_is_named_by_its_connector(somebodys: Path) -> None:
    declare(somebodys, "connector = 'journal', file = 'a.jsonl', max_dead = 'none', key = 'id'")
    (somebodys / "a.jsonl").write_text('{"id": "p0", "at": "2026-01-01T00:00:00Z"}\nmess\n')
    with hw.open(somebodys) as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead, dict(taken.positions)) == (1, 1, {"journal": 48})
        assert project.read("payments")["_source"].to_pylist() == ["journal"]
        assert project.dead("payments")["position"].to_pylist() == ["journal:43"]
        assert [source.name for source in project.status().topics[0].sources] == ["journal"]


def test_an_inlet_that_cant_be_opened_is_an_error_that_names_its_package(somebodys: Path) -> None:
    declare(somebodys, "connector = 'broken'")
    with hw.open(somebodys) as project, pytest.raises(SettingsRefused, match="no such place"):
        project.take_in()


def test_a_connector_that_nobody_brings_along_is_refused(somebodys: Path) -> None:
    declare(somebodys, "connector = 'jornal', file = 'a.jsonl'")
    with (
        hw.open(somebodys) as project,
        pytest.raises(CheckFailed, match="kafka, folder, postgres, mysql, broken, journal"),
    ):
        project.plan()
