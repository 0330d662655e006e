"""The dashboard in a real browser.

The demo is walked through while it runs; then it is ended, and every view is what the log says.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect, sync_playwright

import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server
from headwater.serve.tokens import Tokens
from tests.serve.conftest import DECLARED
from tools.screenshots import demo

PATIENCE = 120_000
"""How many milliseconds something may take to appear, on a machine that is busy."""


@pytest.fixture
def page(chromium_server: Path) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_server, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield page
        browser.close()


def moves(page: Page) -> None:
    """The first chart is drawn anew with what has come."""
    drawn = "document.querySelector('canvas').toDataURL()"
    before = page.evaluate(drawn)
    page.wait_for_function(f"before => {drawn} != before", arg=before)


def look_at_the_overview(page: Page, url: str, shots: Path) -> None:
    page.goto(url)
    expect(page.get_by_text("6 views follow")).to_be_visible()
    moves(page)
    expect(page.get_by_role("link", name="kiosk")).to_be_visible()
    page.screenshot(path=shots / "overview.png")
    page.get_by_label("light or dark").click()
    expect(page.locator("body.body--dark")).to_be_visible()
    page.reload()
    expect(page.locator("body.body--dark")).to_be_visible()
    page.screenshot(path=shots / "dark.png")


def look_at_a_view(page: Page, shots: Path) -> None:
    page.locator(".lineage").get_by_role("link", name="payments_by_country").click()
    expect(page.get_by_role("gridcell", name="DE").first).to_be_visible()
    expect(page.get_by_text("CREATE MATERIALIZED VIEW payments_by_country")).to_be_visible()
    page.get_by_role("gridcell", name="DE").last.click()
    expect(page.get_by_text(re.compile("events are behind it, read up to payments"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="versions").click()
    expect(page.get_by_role("cell", name="yes")).to_be_visible()
    page.reload()
    expect(page.get_by_role("cell", name="yes")).to_be_visible()
    page.screenshot(path=shots / "view.png")


def look_at_a_stream(page: Page, shots: Path) -> None:
    page.get_by_role("link", name="payments", exact=True).click()
    expect(page.get_by_role("cell", name="time-out-of-range").first).to_be_visible()
    page.screenshot(path=shots / "stream.png")
    page.get_by_role("button", name="redrive").click()
    expect(page.get_by_text(re.compile(r"[1-9]\d* came back, \d+ are still dead"))).to_be_visible()


def ask(page: Page, shots: Path) -> None:
    page.get_by_role("link", name="query").click()
    write_a_question(page)
    with suppress(AssertionError):  # keys that come faster than a busy page takes them may be lost: one writes again
        expect(page.get_by_role("columnheader", name="paid")).to_be_visible(timeout=30_000)
    if not page.get_by_role("columnheader", name="paid").is_visible():
        page.reload()
        write_a_question(page)
    expect(page.get_by_role("columnheader", name="paid")).to_be_visible()
    expect(page.get_by_text(re.compile("^6 rows in"))).to_be_visible()
    page.screenshot(path=shots / "query.png")


def write_a_question(page: Page) -> None:
    for patience in (10_000, 20_000, 40_000, 80_000):  # who types before the names are there is offered none of them
        page.locator(".cm-content").click()
        page.keyboard.press("Control+A")
        page.keyboard.type("SELECT country, sum(amount) AS paid FROM payments_by_c")
        with suppress(Error):
            page.get_by_role("option", name="payments_by_country").wait_for(timeout=patience)
            break
    page.wait_for_timeout(200)  # what is offered is not taken by a key that was meant for the text
    page.keyboard.press("Enter")
    page.keyboard.type(" GROUP BY country")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")


def walk(page: Page, url: str, shots: Path) -> None:
    """Every page, as a person would look at it."""
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    look_at_the_overview(page, url, shots)
    look_at_a_view(page, shots)
    look_at_a_stream(page, shots)
    ask(page, shots)
    assert not broken


@pytest.mark.timeout(1200)
def test_the_demo_is_seen_in_a_browser_and_ends_with_every_view_verified(page: Page, tmp_path: Path) -> None:
    with demo("30m", tmp_path) as (process, url):
        walk(page, url, tmp_path)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    assert "ledger remainder 0, verify identical" in out
    assert out.count("identical\n") >= 6


def come_in(page: Page, url: str, token: str) -> None:
    page.goto(url)
    page.get_by_label("token").fill(token)
    page.get_by_role("button", name="log in").click()


def test_where_others_can_reach_it_one_logs_in_and_acts_with_the_role_operate(page: Page, tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    tokens = Tokens(tmp_path)
    reader, operator = tokens.create("reader", "read"), tokens.create("operator", "operate")
    with hw.open(tmp_path) as project, open_server(project, ServeSettings(port=0, host="0.0.0.0")) as server:
        project.append("payments", b'{"id": "p-1", "card":')
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        come_in(page, url, "hw_wrong")
        expect(page.get_by_role("alert")).to_contain_text("not known")
        come_in(page, url, reader)
        expect(page.get_by_text("reader · read")).to_be_visible()
        page.goto(f"{url}/dashboard/streams/payments")
        expect(page.get_by_role("cell", name="unreadable-event")).to_be_visible()
        expect(page.get_by_role("button", name="redrive")).to_be_disabled()
        page.get_by_role("button", name="log out").click()
        come_in(page, url, operator)
        expect(page.get_by_text("operator · operate")).to_be_visible()
        page.goto(f"{url}/dashboard/streams/payments")
        page.get_by_role("button", name="redrive").click()
        expect(page.get_by_text("0 came back, 1 are still dead")).to_be_visible()
        page.get_by_role("link", name="1 alert firing").click()
        expect(page.get_by_role("cell", name="1 > 0")).to_be_visible()
        page.get_by_role("link", name="spend", exact=True).click()
        page.get_by_role("button", name="pause").click()
        expect(page.locator(".pill.warn").get_by_text("paused", exact=True)).to_be_visible()
        page.get_by_role("button", name="resume").click()
        expect(page.get_by_role("button", name="pause")).to_be_visible()
        tokens.revoke("operator")
        expect(page.get_by_label("token")).to_be_visible()  # the page notices by itself
