"""Outlets at work: beside the view, patient where that can help, and alone where they fail."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli import app
from headwater.errors import HeadwaterError, OutletBusy, TargetDenied, TargetUnavailable
from headwater.outlets import Place
from tests.outlets.hook import Hook, hooked
from tests.outlets.shop import Shop, row, sending
from tests.patience import PATIENCE, until

QUICK = '[catch_up]\nbackoff = "1 ms"\nlongest_backoff = "20 ms"\nattempts = 3\n'


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path, hook: Hook) -> Shop:
    return Shop(tmp_path, f"CREATE OUTLET o FROM spend TO '{hook.url}'", settings=QUICK)


def test_an_outlet_follows_its_view(shop: Shop, hook: Hook) -> None:
    failures: list[HeadwaterError] = []
    with shop.project() as project:
        with sending(project, ["o"], failures.append) as sends:
            for number in range(3):  # it is there before the view has anything
                shop.write(number, [row("a", f"{number}.00")])
                until(lambda count=number + 1: len(hook.requests) == count)  # type: ignore[misc]
            assert sends.is_going_on
            assert project.status().outlets[0].sent.state == "sending"
        (status,) = project.status().outlets
    assert (status.sent.state, status.sent.place, status.lag, failures) == ("at rest", Place(1, 2), 0, [])


def test_an_outlet_that_is_promoted_goes_on_behind_what_was_sent(shop: Shop, hook: Hook) -> None:
    failures: list[HeadwaterError] = []
    with shop.project() as project, sending(project, ["o"], failures.append) as sends:
        shop.write(0, [row("a", "1.00")])
        until(lambda: len(hook.requests) == 1)
        shop.declare(f"CREATE OUTLET o FROM spend TO '{hook.url}' WITH (per_request = 10)")
        promotion = project.admin.promote()
        assert (promotion.outlets, promotion.changed) == (("o",), ())
        sends.renew(promotion.outlets, promotion.outlets)
        shop.write(1, [row("a", "2.00"), row("b", "3.00")])
        until(lambda: len(hook.requests) == 2)
        assert len(hook.bodies[1]) == 2, "it sends as it is declared now, and nothing twice"
        shop.declare("")
        sends.renew(project.admin.promote().outlets, ())
        until(lambda: not sends.is_going_on)
    assert failures == []


def test_what_may_succeed_later_is_tried_again_without_end(shop: Shop, hook: Hook) -> None:
    failures: list[HeadwaterError] = []
    hook.answers = [0] * 8  # more failures than there are attempts
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project, sending(project, ["o"], failures.append):
        until(lambda: len(hook.requests) == 9 and project.status().outlets[0].sent.place == Place(1, 0))
    assert failures == []


def test_patience_ends_where_the_settings_say_so(shop: Shop, hook: Hook) -> None:
    settings = (shop.folder / "headwater.toml").read_text()
    (shop.folder / "headwater.toml").write_text(f'{settings}give_up_after = "100 ms"\n')
    failures: list[HeadwaterError] = []
    hook.answers = [0] * 1000
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project, sending(project, ["o"], failures.append):
        until(lambda: bool(failures))
    assert [type(found) for found in failures] == [TargetUnavailable]


def test_an_outlet_whose_notes_cannot_be_kept_sends_all_the_same(
    shop: Shop, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    (shop.folder / ".headwater" / "outlets" / "o.json").mkdir(parents=True)
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        (sent,) = project.send()
    assert (sent.error, sent.place, len(hook.requests)) == (None, Place(1, 0), 1)
    assert "how far outlet o is could not be written down" in caplog.text
    assert [found.name for found in (shop.folder / ".headwater" / "outlets").iterdir() if found.is_dir()] == ["o.json"]


def test_an_outlet_that_fails_for_good_stops_alone(shop: Shop, hook: Hook) -> None:
    shop.declare(f"CREATE OUTLET o FROM spend TO '{hook.url}'; CREATE OUTLET p FROM spend TO 'delta://exports/spend'")
    hook.answers = [404]
    failures: list[HeadwaterError] = []
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        with sending(project, ["o", "p"], failures.append):
            until(lambda: bool(failures) and project.status().outlets[1].sent.place == Place(1, 0))
            shop.write(1, [row("a", "2.00")])
            until(lambda: project.status().outlets[1].sent.place == Place(1, 1))
        states = {found.sent.outlet: (found.sent.state, found.lag) for found in project.status().outlets}
    assert [type(found) for found in failures] == [TargetDenied]
    assert states == {"o": ("stopped", 2), "p": ("at rest", 0)}


def test_a_run_ends_although_its_target_makes_it_wait(shop: Shop, hook: Hook) -> None:
    hook.answers = [(503, {"Retry-After": "600"})]
    shop.write(0, [row("a", "1.00")])
    began = time.monotonic()
    with shop.project() as project, sending(project, ["o"], lambda error: None):
        until(lambda: bool(hook.requests))
    assert time.monotonic() - began < PATIENCE
    assert not [thread for thread in threading.enumerate() if thread.name == "headwater-outlet"]


def test_a_run_that_sends_is_not_fenced_off_by_one_that_comes_along(shop: Shop, hook: Hook) -> None:
    failures: list[HeadwaterError] = []
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project, sending(project, ["o"], failures.append) as sends:
        until(lambda: project.status().outlets[0].sent.place == Place(1, 0))
        with shop.project() as other:
            (sent,) = other.send()
        assert isinstance(sent.error, OutletBusy)
        with shop.project() as third:
            assert third.status().outlets[0].sent.state == "at rest"
        shop.write(1, [row("a", "2.00")])
        until(lambda: len(hook.requests) == 2)
        assert sends.is_going_on
    assert failures == []
    with shop.project() as other:
        assert [found.error for found in other.send()] == [None]


def test_how_an_outlet_is_can_be_asked_from_elsewhere(shop: Shop, hook: Hook) -> None:
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        assert [(found.sent.state, found.lag) for found in project.status().outlets] == [("empty", 1)]
        project.send()
    shop.write(1, [row("a", "2.00"), row("b", "2.00")])
    (found,) = json.loads(CliRunner().invoke(app, ["status", "--json", "-p", str(shop.folder)]).stdout)["outlets"]
    assert (found["outlet"], found["state"], found["lag"], found["changes"]) == ("o", "at rest", 1, 1)
    assert found["place"] == {"version": 1, "batch": 0, "changes": None}
    shown = CliRunner().invoke(app, ["status", "-p", str(shop.folder)], env={"COLUMNS": "200"}).stdout
    assert hook.url in shown


def test_what_could_not_be_delivered_can_be_asked_for(shop: Shop, hook: Hook) -> None:
    hook.answers = [422]
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        project.send()
        assert project.dead("o", error="message-too-large").num_rows == 0
    (line,) = CliRunner().invoke(app, ["dead", "o", "--json", "-p", str(shop.folder)]).stdout.splitlines()
    letter = json.loads(line)
    assert (letter["position"], letter["error"], letter["attempts"]) == ("1.0.0", "delivery-refused", 1)
    assert letter["reason"] == "the answer was 422 Unprocessable Entity: told"
    shown = CliRunner().invoke(app, ["dead", "o", "-p", str(shop.folder)], env={"COLUMNS": "200"}).stdout
    assert "delivery-refused" in shown


def test_an_outlet_that_is_not_declared_is_named(shop: Shop) -> None:
    with shop.project() as project, pytest.raises(HeadwaterError, match='no outlet "x"'):
        project.send("x")
