"""Alerts: rules held against figures, what states they go through, and who is told."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import SettingsRefused
from headwater.model import Rule
from headwater.operate import Alert
from headwater.operate.alert import Alarms, Measure
from headwater.operate.ledger import Ledger
from headwater.operate.measure import Gauges
from headwater.operate.notify import ATTEMPTS, Notifier, Webhook
from headwater.operate.status import Status, ViewStatus
from headwater.operate.watchman import Watchman
from headwater.outlets.webhook import Waiting
from tests.outlets.hook import Hook, hooked
from tests.patience import until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
STREAM = "CREATE STREAM sales (id STRING NOT NULL, amount INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);"
BEHIND = Rule(name="behind", when="lag", above=10, lasting=60 * SECOND)


def states(alarms: Alarms) -> list[tuple[str, str, str, datetime]]:
    return [(found.rule, found.name, found.state, found.since) for found in alarms.alerts()]


def take(alarms: Alarms, lag: float, at: datetime, name: str = "spend") -> list[str]:
    """What is told when a view is so far behind."""
    return [alert.state for alert in alarms.take({"behind": [Measure("view", name, lag, "behind")]}, at)]


def test_an_alert_is_pending_fires_after_a_while_and_is_resolved() -> None:
    alarms = Alarms([BEHIND])
    assert take(alarms, 10, NOON) == [], "as much as the threshold is not above it"
    assert alarms.alerts() == ()
    assert take(alarms, 11, NOON) == []
    assert states(alarms) == [("behind", "spend", "pending", NOON)]
    assert take(alarms, 12, NOON + 59 * SECOND) == []
    assert take(alarms, 13, NOON + 60 * SECOND) == ["firing"]
    assert take(alarms, 14, NOON + 70 * SECOND) == [], "it is told once"
    assert states(alarms) == [("behind", "spend", "firing", NOON + 60 * SECOND)]
    assert alarms.alerts()[0].value == 14
    assert take(alarms, 0, NOON + 80 * SECOND) == ["resolved"]
    assert states(alarms) == [("behind", "spend", "resolved", NOON + 80 * SECOND)]
    assert take(alarms, 0, NOON + timedelta(hours=2)) == []
    assert alarms.alerts() == (), "it is shown for an hour"


def test_one_that_was_pending_goes_without_a_trace_and_begins_anew() -> None:
    alarms = Alarms([BEHIND])
    take(alarms, 11, NOON)
    take(alarms, 0, NOON + 30 * SECOND)
    assert alarms.alerts() == ()
    take(alarms, 11, NOON + 40 * SECOND)
    assert take(alarms, 11, NOON + 70 * SECOND) == []


def test_a_rule_watches_what_it_names_and_the_next_run_goes_on() -> None:
    rule = Rule(name="behind", when="lag", of=("Spend",))
    first = Alarms([rule])
    assert take(first, 1, NOON, "other") == []
    assert take(first, 1, NOON) == ["firing"]
    kept = [Alert.read(json.loads(json.dumps(found.as_dict(), default=str))) for found in first.alerts()]
    again = Alarms([rule], kept)
    assert take(again, 1, NOON + SECOND) == [], "whoever was told is not told again"
    assert take(again, 0, NOON + 2 * SECOND) == ["resolved"]


def view(logged: int, late: int) -> ViewStatus:
    ledger = Ledger("spend", 1, {}, logged, used=logged - late, filtered=0, late=late, duplicates=0)
    return ViewStatus("spend", "at rest", "live", "changes", "main", 1, {}, {}, None, ledger)


def test_the_share_of_late_rows_is_that_of_the_last_minutes() -> None:
    gauges, found = Gauges(), list[list[float]]()
    for minute, (logged, late) in enumerate([(1000, 900), (1100, 910), (1200, 920)]):
        status = Status("bank", NOON + timedelta(minutes=6 * minute), (), (view(logged, late),))
        gauges.take(status)
        found.append([measure.value for measure in gauges.measure("late", status)])
    assert found == [[], [0.1], [0.1]], "what was late before anyone looked is not news"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sales.sql").write_text(STREAM)
    return tmp_path


def write(folder: Path, settings: str = "") -> Path:
    (folder / "headwater.toml").write_text(f'name = "shop"\n{settings}')
    return folder


def test_without_rules_dead_letters_are_told(folder: Path) -> None:
    with hw.open(write(folder)) as project:
        assert project.alerts().alerts == ()
        project.append("sales", [{"id": "1", "amount": "much", "at": NOON}])
        (alert,) = project.alerts().firing
        assert (alert.rule, alert.kind, alert.name, alert.value) == ("dead letters", "topic", "sales", 1)
        assert alert.detail == "1 events can't be read: headwater dead sales"
        assert [found.rule for found in project.status().alerts] == ["dead letters"]
        assert [rule.when for rule in project.alerts().rules] == ["remainder", "stopped", "dead", "held"]


RULES = """
[[alerts]]
name = "a source is silent"
when = "watermark"
above = "1 hour"
of = ["sales"]

[[alerts]]
when = "dead"
above = 5
for = "1 minute"

[alerting]
to = "{url}"
headers = "ops"
secret = "${{ALERT_SECRET}}"
every = "50 ms"
[webhooks.ops]
Authorization = "Bearer ${{OPS_TOKEN}}"
"""


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ('[[alerts]]\nwhen = "moon"', 'setting "alerts.0.when"'),
        ('[[alerts]]\nwhen = "lag"\nabove = -1', 'setting "alerts.0.above"'),
        ('[[alerts]]\nwhen = "lag"\nfro = "1 minute"', 'Did you mean "for"?'),
        ('[[alerts]]\nwhen = "lag"\nof = ["nope"]', 'alert "lag nope" watches "nope"'),
        ('[[alerts]]\nwhen = "lag"\n[[alerts]]\nwhen = "lag"', '2 alerts are called "lag"'),
        ('[alerting]\nto = "ftp://host"', 'setting "alerting.to"'),
        ('[alerting]\nsecret = "spelled out"', 'setting "alerting.secret" holds a secret'),
    ],
)
def test_rules_that_cannot_be_used_are_refused(folder: Path, rules: str, words: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        hw.open(write(folder, rules))
    assert words in str(refused.value)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found


def test_a_run_tells_a_webhook_and_other_processes_see_it(
    folder: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALERT_SECRET", "not a word of this")
    monkeypatch.setenv("OPS_TOKEN", "hush")
    write(folder, RULES.format(url=hook.url))
    told: list[Alert] = []
    with hw.open(folder) as project, hw.open(folder) as other:
        project.append("sales", [{"id": "1", "amount": 1, "at": NOON}])
        hook.answers = [503]
        with project._overview.watched(threading.Event(), told.append):
            until(lambda: len(hook.requests) == 2 and project.alerts().firing)
            mine, theirs = (found.alerts().firing[0] for found in (project, other))
            assert (theirs.rule, theirs.state, theirs.since) == (mine.rule, mine.state, mine.since)
    (alert,) = told
    assert (alert.rule, alert.state, alert.name) == ("a source is silent", "firing", "sales")
    (headers, body), (_, again) = hook.requests
    assert body == again
    assert body == {"project": "shop"} | alert.as_dict() | {"since": alert.since.isoformat()}
    assert headers["Authorization"] == "Bearer hush"
    signed = hmac.new(b"not a word of this", json.dumps(body, ensure_ascii=False).encode(), hashlib.sha256)
    assert headers["Headwater-Signature"] == f"sha256={signed.hexdigest()}"
    assert hook.keys[0] == hook.keys[1], "a repetition can be told"
    kept = (folder / ".headwater" / "alerts.json").read_text()
    assert not [word for word in ("hush", "not a word", hook.url) if word in kept]


def test_who_looks_goes_on_after_a_look_that_failed(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    failures: list[Exception] = [OSError(24, "Too many open files"), KeyError("sales")]

    def status() -> Status:
        if failures:
            raise failures.pop(0)
        return Status("shop", NOON, (), (replace(view(10, 0), heads={"sales": 99}),))

    told: list[Alert] = []
    watchman = Watchman([Rule(name="behind", when="lag", above=10)], timedelta(milliseconds=1), folder)
    with watchman.watching(status, None, told.append):
        until(lambda: told)
    assert [(alert.rule, alert.name, alert.state) for alert in told] == [("behind", "spend", "firing")]
    assert "Too many open files. Make sure that the project's folder can be read" in caplog.text
    assert "please report it" in caplog.text


def test_an_alert_that_cannot_be_sent_at_all_does_not_keep_the_next_one_from_it(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    headers, alert = {"Authorization": "\u2603"}, Alert("dead letters", "topic", "sales", "firing", 1, 0, NOON, "one")
    with Notifier("shop", Webhook(hook.url, headers), Waiting(Stopwatch(), lambda: NOON, lambda: 0.0)) as notifier:
        notifier.send(alert)
        until(lambda: notifier.undelivered)
        del headers["Authorization"]
        notifier.send(alert)
        until(lambda: notifier.undelivered is None)
    assert len(hook.requests) == 1
    assert "it could not be sent (UnicodeEncodeError)" in caplog.text
    assert "\u2603" not in caplog.text


class Stopwatch:
    """A pause that takes no time."""

    is_wanted = False

    def wait(self, duration: timedelta) -> None:
        """Go on at once."""


@pytest.mark.parametrize(("answer", "requests"), [(404, 1), (500, ATTEMPTS), (0, ATTEMPTS)])
def test_a_webhook_that_takes_nothing_is_given_up_and_its_address_is_not_told(
    hook: Hook, answer: int, requests: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hook.answers = [answer] * ATTEMPTS
    waiting = Waiting(Stopwatch(), lambda: NOON, lambda: 0.0)
    with Notifier("shop", Webhook(hook.url, {}), waiting) as notifier:
        notifier.send(Alert("dead letters", "topic", "sales", "firing", 1, 0, NOON, "1 events can't be read"))
    assert len(hook.requests) == requests
    assert notifier.undelivered is not None
    assert hook.url not in notifier.undelivered
    assert not [record for record in caplog.records if "/hook" in record.getMessage()]
    assert "an alert could not be delivered" in caplog.text
