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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH, HEIGHT, TALL = 1440, 900, 1236
QUESTION = """SELECT country, sum(amount) AS paid, sum(payments) AS payments
FROM payments_by_country
GROUP BY country ORDER BY paid DESC"""


@contextmanager
def demo(length: str, folder: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The demo in a process of its own, for so long at most, and where it is served, once every view has rows."""
    command = [sys.executable, "-c", "from headwater.cli import main; main()", "demo", "--for", length, "--port", "0"]
    both = subprocess.STDOUT
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=both, text=True) as process:
        try:
            yield process, _url_of(process)
        finally:
            process.kill()


def _url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    url, lines = "", list[str]()
    for line in process.stdout:
        lines.append(line)
        url = found[0] if (found := re.match(r"http://[\d.:]+", line)) else url
        if "every view is served" in line:
            return url
    raise RuntimeError(f"the demo has ended: {''.join(lines)}")


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
    with demo("60m") as (process, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        light = browser.new_page(color_scheme="light", viewport={"width": WIDTH, "height": HEIGHT})
        light.goto(url)
        light.wait_for_timeout(1000 * seconds)
        look(light, url)
        ask(browser.new_page(color_scheme="dark", viewport={"width": WIDTH, "height": HEIGHT}), url)
        browser.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)


if __name__ == "__main__":
    main()
