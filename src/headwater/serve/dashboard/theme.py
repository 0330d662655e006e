"""The look of the dashboard: colours for light and dark as variables of CSS, and the few classes that pages use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

Health = Literal["good", "warn", "bad", "new", "rest"]
STATES: dict[str, Health] = {"following": "good", "sending": "good", "waiting": "warn", "stopped": "bad",
                             "starting": "new", "paused": "warn", "unreachable": "bad", "unsound": "bad"}  # fmt: skip
FATES = {"used": "#2fa671", "unmatched": "#17a2b8", "filtered": "#4c8bf5", "late": "#e5a00d", "duplicates": "#a678de",
         "dead": "#e5534b"}  # fmt: skip
SERIES = ("#4c8bf5", "#2fa671", "#e5a00d", "#a678de", "#e5534b", "#17a2b8", "#d97757", "#8a94a6")
GREY = "#8a94a6"
STYLE = (Path(__file__).parent / "theme.css").read_text("utf-8")


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: the same one wherever the same names are drawn."""
    return {name: SERIES[number % len(SERIES)] for number, name in enumerate(names)}


def health_of(state: str, remainder: int = 0) -> Health:
    """The health of a view or an outlet, by its state; a ledger that doesn't add up is never good."""
    return "bad" if remainder else STATES.get(state, "rest")
