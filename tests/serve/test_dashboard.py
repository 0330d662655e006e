"""The demo, walked through in a real browser while it runs; then it is ended and every view is what the log says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

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


def started(demo: subprocess.Popen[str]) -> str:
    """Where the demo is served, once every view has rows."""
    assert demo.stdout is not None
    url = ""
    for line in demo.stdout:
        url = found[0] if (found := re.match(r"http://[\d.:]+", line)) else url
        if "every view is served" in line:
            return url
    raise AssertionError("the demo has ended")


def walk(page: Page, url: str, shots: Path) -> None:
    """Every page, as a person would look at it."""
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(url)
    events = page.get_by_text(re.compile(r"^\d+,?\d*$")).first
    first = events.inner_text()
    expect(events).not_to_have_text(first)  # they come in
    expect(page.locator("canvas").first).to_be_visible()
    page.screenshot(path=shots / "overview.png")
    page.get_by_label("light or dark").click()
    expect(page.locator("body.body--dark")).to_be_visible()
    page.screenshot(path=shots / "dark.png")
    page.get_by_role("link", name="payments_by_country").click()
    expect(page.get_by_role("gridcell", name="DE").first).to_be_visible()
    page.screenshot(path=shots / "view.png")
    page.get_by_role("link", name="payments", exact=True).click()
    expect(page.get_by_role("cell", name="time-out-of-range").first).to_be_visible()
    page.screenshot(path=shots / "stream.png")
    page.get_by_role("link", name="query").click()
    page.get_by_role("button", name="run").click()
    expect(page.get_by_role("columnheader", name="window_end").first).to_be_visible()
    page.screenshot(path=shots / "query.png")
    assert not broken


@pytest.mark.timeout(600)
def test_the_demo_is_seen_in_a_browser_and_ends_with_every_view_verified(page: Page, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from headwater.cli import main; main()", "demo", "--for", "9m", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as demo:
        try:
            walk(page, started(demo), tmp_path)
            demo.send_signal(signal.SIGINT)
            out, _ = demo.communicate(timeout=300)
        finally:
            demo.kill()
    assert demo.returncode == 0, out
    assert "ledger remainder 0, verify identical" in out
    assert out.count("identical\n") >= 6
