"""Outlets to a service over HTTP: at least once, each request recognizable, and what is refused is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import Fenced, SettingsRefused, TargetDenied, TargetUnavailable
from headwater.log import open_storage
from headwater.operate.outlet import Sent
from headwater.outlets import Place, Target
from headwater.outlets.encode import JsonEncoder
from headwater.outlets.holding import Holding
from headwater.outlets.message import Messages
from headwater.outlets.webhook import Waiting, WebhookTarget
from headwater.testing.crash import Crash, Fuse
from tests.outlets.hook import Hook, hooked
from tests.outlets.shop import NOON, Shop, row

QUICK = '[catch_up]\nbackoff = "1 ms"\nattempts = 2\n'


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found


def shop_of(tmp_path: Path, hook: Hook, given: str = "", **more: str) -> Shop:
    given = f" WITH ({given})" if given else ""
    return Shop(tmp_path, f"CREATE OUTLET o FROM spend TO '{hook.url}'{given}", **{"settings": QUICK, **more})


def send(shop: Shop) -> Sent:
    with shop.project() as project:
        (sent,) = project.send()
    return sent


class Stopwatch:
    """A pause that takes no time, and remembers how long it should have been."""

    is_wanted = False

    def __init__(self) -> None:
        self.waited: list[float] = []

    def wait(self, duration: timedelta) -> None:
        self.waited.append(duration.total_seconds())


def patient(shop: Shop, watch: Stopwatch, now: datetime = NOON) -> Sent:
    """Send with a stopwatch in place of time."""

    def target(planned: Any, surroundings: Any) -> Target:
        messages = Messages("shop", planned, JsonEncoder())
        holding = Holding("o", open_storage(str(shop.folder / "places")))
        return WebhookTarget(planned, messages, {}, holding, Waiting(watch, lambda: now, lambda: 1.0))

    with shop.project(target) as project:
        (sent,) = project.send()
    return sent


def test_each_change_is_a_request_that_can_be_told_from_others(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook)
    shop.write(0, [row("a", "1.00"), row("b", "2.00")])
    shop.write(1, deletes=[row("a", "1.00")])
    assert send(shop).error is None
    assert [(body["id"], body["op"]) for body in hook.bodies] == [
        ("1.0.0", "insert"),
        ("1.0.1", "insert"),
        ("1.1.0", "delete"),
    ]
    assert hook.keys == ["shop/spend/1.0.0", "shop/spend/1.0.1", "shop/spend/1.1.0"]
    headers = hook.requests[0][0]
    assert headers["Content-Type"] == "application/json"
    assert headers["traceparent"].startswith("00-")
    assert send(shop).changes == 3
    assert len(hook.requests) == 3


def test_changes_may_share_a_request(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook, "per_request = 2, envelope = 'row'", options="WITH (emit = 'final')")
    shop.write(0, [row("a", "1.00"), row("b", "2.00"), row("c", "3.00")])
    assert send(shop).error is None
    assert [[found["card"] for found in body] for body in hook.bodies] == [["a", "b"], ["c"]]
    assert hook.keys == ["shop/spend/1.0.0+1", "shop/spend/1.0.2"]


def test_a_service_that_is_busy_is_asked_again_when_it_says_so(tmp_path: Path, hook: Hook) -> None:
    shop, watch = shop_of(tmp_path, hook), Stopwatch()
    shop.write(0, [row("a", "1.00")])
    hook.answers = [(429, {"Retry-After": "7"}), (503, {"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"}), 500, 502, 200]
    assert patient(shop, watch).error is None
    assert watch.waited == [7.0, 30.0, 2.0, 4.0]
    assert hook.keys == ["shop/spend/1.0.0"] * 5


@pytest.mark.parametrize("asked", ["soon", "-5", "1e400"])
def test_what_a_service_asks_for_in_other_words_is_passed_by(tmp_path: Path, hook: Hook, asked: str) -> None:
    shop, watch = shop_of(tmp_path, hook), Stopwatch()
    shop.write(0, [row("a", "1.00")])
    hook.answers = [(503, {"Retry-After": asked}), 200]
    assert patient(shop, watch).error is None
    assert watch.waited in ([0.5], [0.0], [3600.0])


def test_after_the_last_attempt_a_change_is_a_dead_letter_and_the_next_is_sent(tmp_path: Path, hook: Hook) -> None:
    shop, watch = shop_of(tmp_path, hook, "attempts = 3"), Stopwatch()
    shop.write(0, [row("a", "1.00"), row("b", "2.00")])
    hook.answers = [500, 500, 500, 200]
    sent = patient(shop, watch)
    assert (sent.changes, sent.dead, len(watch.waited)) == (1, 1, 2)
    with shop.project() as project:
        (letter,) = project.dead("o").to_pylist()
    assert (letter["position"], letter["error"]) == ("1.0.0", "delivery-refused")
    assert letter["reason"] == "the answer was 500 Internal Server Error: told, after 3 attempts"


def test_one_change_that_is_refused_does_not_take_the_others_of_its_request_along(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook, "per_request = 3")
    shop.write(0, [row("a", "1.00"), row("b", "2.00"), row("c", "3.00")])
    hook.answers = [422, 200, 422, 200]
    sent = send(shop)
    assert (sent.changes, sent.dead) == (2, 1)
    assert [[found["after"]["card"] for found in body] for body in hook.bodies] == [
        ["a", "b", "c"],
        ["a"],
        ["b"],
        ["c"],
    ]


@pytest.mark.parametrize("status", [301, 401, 404, 410])
def test_where_nobody_takes_changes_the_outlet_stops(tmp_path: Path, hook: Hook, status: int) -> None:
    shop = shop_of(tmp_path, hook)
    shop.write(0, [row("a", "1.00")])
    hook.answers = [status]
    sent = send(shop)
    assert isinstance(sent.error, TargetDenied)
    assert sent.state == "stopped"
    assert send(shop).error is None  # once it is mended, it goes on
    assert [body["id"] for body in hook.bodies] == ["1.0.0", "1.0.0"]


def test_a_lost_answer_means_that_the_request_is_sent_again(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook)
    shop.write(0, [row("a", "1.00"), row("b", "2.00")])
    hook.answers = [200, 0]
    assert send(shop).error is None
    assert hook.keys == ["shop/spend/1.0.0", "shop/spend/1.0.1", "shop/spend/1.0.1"]


def test_a_service_that_is_away_is_nobody_s_fault_but_its_own(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook)
    shop.write(0, [row("a", "1.00")])
    shop.declare("CREATE OUTLET o FROM spend TO 'http://127.0.0.1:9/hook'")
    sent = send(shop)
    assert isinstance(sent.error, TargetUnavailable)
    assert sent.dead == 0


@pytest.mark.parametrize(("point", "again"), [("before keep", True), ("after keep", False)])
def test_after_a_crash_at_most_one_request_is_sent_twice(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch, point: str, again: bool
) -> None:
    shop, fuse, keep = shop_of(tmp_path, hook), Fuse(), Holding.keep
    shop.write(0, [row("a", "1.00"), row("b", "2.00"), row("c", "3.00")])

    class Point(Crash):
        def __post_init__(self) -> None:
            """Every point is allowed."""

    def dying(self: Holding, place: Place) -> None:
        fuse.passes("before keep")
        keep(self, place)
        fuse.passes("after keep")

    fuse.arm(Point(point, 2))
    with monkeypatch.context() as patched:
        patched.setattr(Holding, "keep", dying)
        assert type(send(shop).error).__name__ == "Crashed"
    assert send(shop).error is None
    assert [body["id"] for body in hook.bodies] == ["1.0.0", "1.0.1", *(["1.0.1"] if again else []), "1.0.2"]


def test_a_zombie_sends_nothing_more(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook)
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        planned = project.plan().outlet("o")
        zombie, feed = project.outlets.run(planned).target(), project.views.opened().ask.feed(planned)
        (first,) = feed.after(zombie.open())
        assert send(shop).error is None
        with pytest.raises(Fenced, match="taken over by another run"):
            zombie.deliver(first, lambda refused: None)
        zombie.close()
    assert len(hook.requests) == 1


def test_headers_come_from_the_settings(tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_TOKEN", "s3cret")
    settings = f'{QUICK}[webhooks.crm]\nAuthorization = "Bearer ${{CRM_TOKEN}}"\n'
    shop = shop_of(tmp_path, hook, "headers = 'crm'", settings=settings)
    shop.write(0, [row("a", "1.00")])
    assert send(shop).error is None
    assert hook.requests[0][0]["Authorization"] == "Bearer s3cret"


def test_headers_that_are_missing_are_named(tmp_path: Path, hook: Hook) -> None:
    shop = shop_of(tmp_path, hook, "headers = 'crm'")
    shop.write(0, [row("a", "1.00")])
    assert isinstance(send(shop).error, SettingsRefused)


def test_an_instant_without_a_zone_is_in_utc() -> None:
    waiting = Waiting(Stopwatch(), lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: 0.0)
    assert waiting.before(2, "Thu, 01 Jan 2026 00:00:05 -0000") == timedelta(seconds=5)
