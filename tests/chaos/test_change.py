"""Commands that change which version of a view is served, killed in the middle: nothing has changed, or it is finished.

Each is a process of its own that kills itself (SIGKILL) at a chosen call, so that no file is closed, no lock let go of
and nothing tidied up by Python.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import app
from headwater.operate.compare import MEETING
from headwater.operate.hold import Holds
from tests.operate.test_swap_stores import TWO_FILES, Shop

DIES = """
import importlib, os, signal, sys
module, path, when, time, *command = sys.argv[1:]
owner, _, name = path.rpartition(".")
target = importlib.import_module(module)
target = getattr(target, owner) if owner else target
call, times = getattr(target, name), [int(time)]

def dying(*arguments, **named):
    times[0] -= 1
    if times[0] > 0:
        return call(*arguments, **named)
    if when == "after":
        result = call(*arguments, **named)
        if hasattr(result, "__enter__"):
            result.__enter__()
    os.kill(os.getpid(), signal.SIGKILL)

setattr(target, name, dying)
sys.argv = ["headwater", *command]
from headwater.cli import main
main()
"""
HOLD, SWAP, STORE = "headwater.operate.hold", "headwater.operate.swap", "headwater.store.sqlite"
SWAPS = [
    (HOLD, "Holds.promoting", "after", 1),
    (HOLD, "Holds.fenced", "after", 1),
    (HOLD, "Holds.fence", "after", 1),
    (HOLD, "Holds.keep", "after", 1),
    (HOLD, "Holds.swapping", "after", 1),
    (STORE, "SqliteStore.promote", "before", 1),
    (STORE, "SqliteStore.promote", "after", 1),
    (STORE, "SqliteStore.promote", "after", 2),
]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path, TWO_FILES).fill()
    yield opened
    opened.project.close()


def killed(folder: Path, point: tuple[str, str, str, int], *command: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DIES, *map(str, point), *command, "-p", str(folder)], capture_output=True, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL, (ended.returncode, ended.stdout, ended.stderr)


def headwater(folder: Path, *command: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, [*command, "-p", str(folder)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return outcome.exit_code, outcome.output


@pytest.mark.parametrize("back", [False, True], ids=["promote", "rollback"])
@pytest.mark.parametrize("point", SWAPS, ids=lambda point: f"{point[2]} {point[1]} {point[3]}")
def test_a_swap_that_is_killed_has_changed_nothing_or_is_finished(
    shop: Shop, tmp_path: Path, point: tuple[str, str, str, int], back: bool
) -> None:
    if back:
        shop.project.versions.promote("shops")
    command = ("rollback", "shops") if back else ("promote", "shops", "--max-diff", "100%")
    before, after = (2, 1) if back else (1, 2)
    killed(tmp_path, point, *command)
    with hw.open(tmp_path) as project:
        project.views.opened().run._begun(None)  # as the next run does
        assert shop.served() in ([before] * 2, [after] * 2)
        assert [shop.sums(store) for store in shop.store.parts] == [
            {"a": 3 * shop.served()[0], "b": 2 * shop.served()[0]}
        ] * 2  # type: ignore[operator]
    if shop.served() == [before] * 2:
        code, text = headwater(tmp_path, *command)
        assert (code, f"v{before} → v{after} is served" in text) == (0, True), text
    assert shop.served() == [after] * 2
    assert headwater(tmp_path, "versions", "shops")[0] == 0


def test_a_comparison_that_is_killed_at_a_meeting_holds_nobody_up_for_long(tmp_path: Path) -> None:
    shop = Shop(tmp_path, TWO_FILES)
    shop.write(1, 1, a=1)
    shop.write(2, 2, a=1)  # no commit that both have come to
    shop.store.promote("shops", 1)
    killed(tmp_path, (HOLD, "Holds.meet", "after", 1), "compare", "shops")
    holds = shop.project.views.opened().catalog.holds
    assert Holds(holds.home, lambda: holds.now() - MEETING).meeting("shops") is not None, "nobody has tidied it up"
    later = Holds(holds.home, lambda: holds.now() + MEETING)
    assert later.meeting("shops") is None
    shop.write(2, 3, a=1)
    shop.write(1, 3, a=1)
    assert headwater(tmp_path, "compare", "shops")[0] == 1
    assert shop.served() == [1, 1]
    shop.project.close()


@pytest.mark.parametrize(
    ("point", "command"),
    [
        (("headwater.operate.change", "Outlook.change", "after", 1), ["plan"]),
        ((HOLD, "Holds.hold", "after", 1), ["promote", "--hold"]),
        ((HOLD, "Holds.hold", "after", 1), ["replay", "shops", "--hold"]),
        (("headwater.operate.wish", "Wishes.ask_replay", "after", 1), ["replay", "shops", "--hold"]),
        ((HOLD, "Holds.let_go", "after", 1), ["versions", "shops", "--prune"]),
    ],
    ids=lambda value: " ".join(map(str, value[:2])),
)
def test_what_only_asks_and_what_is_begun_leaves_what_is_served_when_it_is_killed(
    shop: Shop, tmp_path: Path, point: tuple[str, str, str, int], command: list[str]
) -> None:
    if "plan" in command or "promote" in command:
        text = (tmp_path / "shop.sql").read_text()
        (tmp_path / "shop.sql").write_text(text.replace("sum(n)", "max(n)"))
    if "--prune" in command:
        shop.project.versions.promote("shops", keep_old=timedelta())
    served = shop.served()
    killed(tmp_path, point, *command)
    assert shop.served() == served
    assert headwater(tmp_path, "versions", "shops")[0] == 0
    assert headwater(tmp_path, "plan")[0] in (0, 3)
