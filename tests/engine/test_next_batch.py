"""What the scans of a query that follows its topics are told."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from headwater.engine.next_batch import NextBatch
from headwater.engine.source import START, Limits, LogStream, Offset
from headwater.log import TopicLog, open_storage
from headwater.log.watch import Watch
from tests.engine.test_source import COLUMNS, SALES, sales

cut_off = timedelta(seconds=20)


def make(folder: Path) -> TopicLog:
    log = TopicLog(SALES, open_storage(str(folder)))
    log.append(sales(1))
    return log


def once_more(stream: LogStream, at: Offset) -> Offset:
    """Where the next batch ends, which may be a while off."""
    deadline = time.monotonic() + cut_off.total_seconds()
    while (found := stream.latest(at)) == at and time.monotonic() < deadline:
        pass
    return found


def test_two_scans_of_a_topic_end_at_the_same_commit_whatever_is_appended_meanwhile(tmp_path: Path) -> None:
    log = make(tmp_path)
    with Watch([log]) as watch:
        next_batch = NextBatch([log], watch)
        one, two = (LogStream(log, COLUMNS, Limits(), next_batch) for _ in range(2))
        first = one.latest(START)
        log.append(sales(2))
        assert watch.wait({log: 1}, cut_off) and two.latest(START) == first == {"commit": 1, "tick": 0}
        assert one.latest(first) == two.latest(first) == {"commit": 2, "tick": 0}


def test_a_query_closes_what_is_due_once_its_topics_are_quiet(tmp_path: Path) -> None:
    log = make(tmp_path)
    with Watch([log]) as watch:
        stream = LogStream(log, COLUMNS, Limits(), NextBatch([log], watch))
        at_head = stream.latest(START)
        closed = once_more(stream, at_head)
        assert (at_head, closed) == ({"commit": 1, "tick": 0}, {"commit": 1, "tick": 1})
        assert stream.latest(closed) == closed, "once is enough"
        log.append(sales(2))
        assert watch.wait({log: 1}, cut_off)
        newest = stream.latest(closed)
        assert newest == {"commit": 2, "tick": 0}
        assert once_more(stream, newest) == {"commit": 2, "tick": 1}


def test_a_query_that_is_behind_does_not_wait(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.append(sales(2))
    with Watch([log]) as watch:
        stream = LogStream(log, COLUMNS, Limits(max_commits=1), NextBatch([log], watch))
        first = stream.latest(START)
        assert (first["commit"], stream.latest(first)["commit"]) == (1, 2)


def test_a_query_stands_at_a_meeting_closes_what_is_due_there_and_goes_on_when_it_is_over(tmp_path: Path) -> None:
    log = make(tmp_path)
    meeting: dict[TopicLog, int] | None = {log: 2}
    with Watch([log]) as watch:
        stream = LogStream(log, COLUMNS, Limits(), NextBatch([log], watch, lambda: meeting))
        first = stream.latest(START)
        for number in (2, 3, 4):
            log.append(sales(number))
        assert watch.wait({log: 3}, cut_off)
        met = stream.latest(first)
        assert met == {"commit": 2, "tick": 0}
        closed = once_more(stream, met)
        assert closed == {"commit": 2, "tick": 1}
        assert {stream.latest(closed)["commit"] for _ in range(5)} == {2}
        meeting = None
        assert once_more(stream, closed) == {"commit": 4, "tick": 0}


def test_a_query_that_has_missed_a_meeting_goes_on(tmp_path: Path) -> None:
    log = make(tmp_path)
    meeting: dict[TopicLog, int] | None = None
    with Watch([log]) as watch:
        stream = LogStream(log, COLUMNS, Limits(), NextBatch([log], watch, lambda: meeting))
        at = stream.latest(START)
        log.append(sales(2))
        assert watch.wait({log: 1}, cut_off)
        at = once_more(stream, at)
        meeting = {log: 1}
        log.append(sales(3))
        while at["commit"] < 3:
            at = once_more(stream, at)
        assert at == {"commit": 3, "tick": 0}
