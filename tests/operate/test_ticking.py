"""Watermarks of silent topics go on."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.log import Appended, TopicLog, open_storage
from headwater.model import INSTANT, Bounded, Column, Stream
from headwater.operate.ticking import Ticker, pause_after
from headwater.plan.closing import Closing
from tests.patience import PATIENCE, Rounds, until

IDLE = timedelta(milliseconds=200)


def make(folder: Path, idle: timedelta | None) -> TopicLog:
    columns = (Column("at", INSTANT, nullable=False),)
    stream = Stream(name="calls", columns=columns, time="at", watermark=Bounded(timedelta(seconds=5)), idle=idle)
    log = TopicLog(stream, open_storage(str(folder)))
    log.append(pa.table({"at": [datetime.now(UTC)]}, schema=pa.schema([columns[0].field])))
    return log


def test_a_silent_topic_is_ticked_and_one_that_waits_for_its_sources_is_not(tmp_path: Path) -> None:
    silent, patient = make(tmp_path / "silent", IDLE), make(tmp_path / "patient", None)
    before, ticks = (silent.watermark, patient.watermark), list[tuple[TopicLog, int]]()
    with Ticker([silent, patient], lambda log, commit: ticks.append((log, commit))):
        until(lambda: silent.watermark > before[0])
    assert (patient.watermark, patient.head) == (before[1], 1)
    assert {log for log, _ in ticks} == {silent}
    assert ticks[0][1] == 2


class FullLog(TopicLog):
    """A log whose disk is full."""

    def tick_silence(self) -> Appended:
        raise OSError(28, "No space left on device")


def test_a_topic_that_cannot_be_ticked_does_not_keep_others_from_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    silent, ticked = make(tmp_path / "silent", IDLE), threading.Event()
    full = FullLog(make(tmp_path / "full", IDLE).topic, open_storage(str(tmp_path / "full")))
    with Ticker([full, silent], lambda log, commit: ticked.set()):
        assert ticked.wait(PATIENCE)
    assert "ticking calls failed and will be tried again: [Errno 28] No space left on device." in caplog.text


def test_that_nobody_knows_once_when_windows_close_does_not_end_the_ticking(tmp_path: Path) -> None:
    log, failures = make(tmp_path, None), [OSError(5, "Input/output error")]

    def closings() -> dict[str, list[Closing]]:
        if failures:
            raise failures.pop()
        return {"calls": [Closing(timedelta(seconds=1), timedelta(), timedelta(seconds=1))]}

    ticked = threading.Event()
    with Ticker([log], lambda log, commit: ticked.set(), closings):
        assert ticked.wait(PATIENCE)


def test_a_topic_is_told_the_time_when_a_window_over_its_arrival_ends_and_then_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, other = make(tmp_path / "read", None), make(tmp_path / "other", None)
    second = Closing(timedelta(seconds=1), timedelta(), timedelta(seconds=1))
    arrived, watermark, ticks = log.clock.arrived, log.watermark, list[int]()
    rounds = Rounds(monkeypatch, Ticker, "_tick_those_due")
    with Ticker([log], lambda log, commit: ticks.append(commit), lambda: {"calls": [second]}):
        until(lambda: bool(ticks))
        rounds.pass_by()
    assert ticks == [2]
    assert log.clock.present >= arrived // 1_000_000 * 1_000_000 + 1_000_000
    assert (log.watermark, log.clock.arrived) == (watermark, arrived)
    with Ticker([other], lambda log, commit: ticks.append(commit), lambda: {"orders": [second]}):
        rounds.pass_by(1)
    assert other.head == 1


def test_a_log_that_does_not_exist_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(monkeypatch, Ticker, "_tick_those_due")
    log = TopicLog(make(tmp_path / "made", IDLE).topic, open_storage(str(tmp_path / "absent")))
    with Ticker([log], lambda log, commit: None):
        rounds.pass_by(1)
    assert log.head == -1


def test_the_longer_a_topic_is_silent_the_less_often_it_is_ticked() -> None:
    silences = [timedelta(seconds=seconds) for seconds in (0, 5, 60, 3600, 86_400)]
    assert [pause_after(silence).total_seconds() for silence in silences] == [1, 1, 6, 60, 60]
