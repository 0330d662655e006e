"""What `headwater run` tells."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime

from headwater.cli.run import Narrator, ended_by_signals
from headwater.errors import PromotionRefused, TargetDenied, ViewFailed
from headwater.operate import Alert, CaughtUp, Reading, Sent
from headwater.operate.promotion import Promotion
from headwater.outlets import Place
from tests.patience import PATIENCE

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOLLOWS = Reading("spend", {"payments": 7}, {"payments": 9}, 30, AT, version=2)


def test_lines_name_the_view_and_where_it_is() -> None:
    lines: list[str] = []
    narrator = Narrator(as_records=False, write=lines.append)
    narrator.progress(Reading("spend", {}, {"payments": 9}, version=2))
    narrator.progress(FOLLOWS)
    narrator.progress(FOLLOWS)
    narrator.progress(Reading("spend", {}, {}, note="attempt 2 of 5 in 0.5 s: locked"))
    narrator.progress(FOLLOWS)
    assert [line.split(" ", 1)[1].strip() for line in lines] == [
        "INFO    view starts view=spend version=2 heads=payments:9",
        "INFO    view follows view=spend version=2 commits=payments:7 lag=2 watermark=2026-01-01T12:00:00.000 rows=30",
        'WARNING view waits view=spend note="attempt 2 of 5 in 0.5 s: locked"',
        "INFO    view follows view=spend version=2 commits=payments:7 lag=2 watermark=2026-01-01T12:00:00.000 rows=30",
    ], "one that goes on is told of now and then, and when it goes on again"


def test_a_watermark_that_is_not_known_yet_is_a_dot() -> None:
    lines: list[str] = []
    Narrator(as_records=False, write=lines.append).progress(
        replace(FOLLOWS, watermark=datetime(1970, 1, 1, tzinfo=UTC))
    )
    assert " watermark=· " in lines[0]


def test_lines_name_the_outlet_and_how_far_it_has_sent() -> None:
    lines: list[str] = []
    narrator = Narrator(as_records=False, write=lines.append)
    sends = Sent("hook", "spend", "https://host/hook", "sending", Place(2, 7), changes=30)
    for sent in (Sent("hook", "spend", "https://host/hook", "sending"), sends, sends):
        narrator.sent(sent)
    narrator.sent(replace(sends, state="waiting", note="attempt in 0.5 s: away"))
    narrator.sent(sends)
    narrator.failed(TargetDenied("nobody is there", outlet="hook"))
    assert [line.split(" ", 1)[1].strip() for line in lines] == [
        'INFO    outlet sends outlet=hook view=spend place="version 2, batch 7" changes=30 dead=0',
        'WARNING outlet waits outlet=hook note="attempt in 0.5 s: away"',
        'INFO    outlet sends outlet=hook view=spend place="version 2, batch 7" changes=30 dead=0',
        'ERROR   outlet stopped error=target-denied summary="nobody is there" outlet=hook',
    ]
    assert narrator.failures == 1


def test_promotions_and_alerts_are_told() -> None:
    lines: list[str] = []
    narrator = Narrator(as_records=False, write=lines.append)
    narrator.promoted(Promotion(added=("a", "b"), changed=("c",)))
    narrator.promoted(PromotionRefused("a project that runs can't take these declarations over"))
    narrator.alerted(Alert("dead letters", "topic", "sales", "firing", 2, 0, AT, "2 events can't be read"))
    narrator.progress(Reading("spend", {}, {}, paused=True))
    assert [line.split(" ", 1)[1].strip() for line in lines] == [
        "INFO    declarations promoted added=a,b changed=c",
        "ERROR   declarations refused error=promotion-refused "
        'summary="a project that runs can\'t take these declarations over"',
        'ERROR   alert fires rule="dead letters" topic=sales value=2 detail="2 events can\'t be read"',
        "INFO    view is paused view=spend",
    ]
    assert narrator.failures == 0


def test_json_lines_have_stable_names() -> None:
    lines: list[str] = []
    narrator = Narrator(as_records=True, write=lines.append)
    narrator.progress(FOLLOWS)
    narrator.ended(CaughtUp("spend", 2, error=ViewFailed('view "spend" stopped', detail="Why.", view="spend")))
    follows, stopped = (json.loads(line) for line in lines)
    assert list(follows) == ["at", "level", "event", "view", "version", "commits", "lag", "watermark", "rows"]
    assert (stopped["level"], stopped["event"], stopped["error"]) == ("error", "view stopped", "view-failed")


def test_a_signal_asks_for_the_end_and_what_was_there_before_is_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ended_by_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(PATIENCE)
    assert signal.getsignal(signal.SIGTERM) is before
