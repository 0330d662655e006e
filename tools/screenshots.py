"""The pictures of the dashboard in the documentation: the demo runs for a while, and a browser looks at its pages.

Take them on a machine that does nothing else: the figures that they show are real.

    python tools/screenshots.py [SECONDS]      how long the demo runs before the first one; 150 unless told
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH, HEIGHT, TALL = 1440, 900, 1236
QUESTION = """SELECT country, sum(amount) AS paid, sum(payments) AS payments
FROM payments_by_country
GROUP BY country ORDER BY paid DESC"""


def started(demo: subprocess.Popen[str]) -> str:
    """Where the demo is served, once every view has rows."""
    assert demo.stdout is not None
    url = ""
    for line in demo.stdout:
        url = found[0] if (found := re.match(r"http://[\d.:]+", line)) else url
        if "every view is served" in line:
            return url
    raise SystemExit("the demo has ended")


def take(page: Page, name: str) -> None:
    """A picture, once what moves has been drawn."""
    page.wait_for_timeout(3000)
    page.screenshot(path=IMAGES / f"{name}.png")
    print(f"{name}.png {(IMAGES / f'{name}.png').stat().st_size // 1000} kB")


def look(page: Page, url: str) -> None:
    """The pages in light."""
    page.set_viewport_size({"width": WIDTH, "height": TALL})
    page.goto(url)
    take(page, "overview")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(f"{url}/dashboard/streams/payments")
    take(page, "stream")
    page.goto(f"{url}/dashboard/views/payments_by_country")
    take(page, "view")
    page.goto(f"{url}/dashboard/views/fraud_alerts")
    page.get_by_role("gridcell").first.click()
    page.get_by_text("events are behind it").wait_for()
    take(page, "why")


def ask(page: Page, url: str) -> None:
    """A query, and the names that are offered for the next one."""
    page.goto(f"{url}/dashboard/query")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(QUESTION)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.get_by_role("columnheader", name="paid").wait_for()
    page.keyboard.type(", p")
    page.get_by_role("option").first.wait_for()
    take(page, "query")


def main() -> None:
    """Run the demo, look at it, and end it."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 150.0
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium: `make servers` installs it")
    command = [sys.executable, "-c", "from headwater.cli import main; main()", "demo", "--for", "60m", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo, sync_playwright() as playwright:
        url = started(demo)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        light = browser.new_page(color_scheme="light", viewport={"width": WIDTH, "height": HEIGHT})
        light.goto(url)
        light.wait_for_timeout(1000 * seconds)
        look(light, url)
        ask(browser.new_page(color_scheme="dark", viewport={"width": WIDTH, "height": HEIGHT}), url)
        browser.close()
        demo.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
