"""The calls to write instead of a function that Spark doesn't have and another system does.

The table is data, `foreign.toml`. Windows that are written as functions (`TUMBLE_START(at, …)`, `time_bucket(…)`) are
told apart: here a window is a table function, whose bounds are columns.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

_GROUP_WINDOW = re.compile(
    r"(?P<kind>tumble|hop|session|cumulate)(_(?P<bound>start|end|rowtime|proctime))?", re.IGNORECASE
)
_BUCKETS = ("time_bucket", "date_bin", "time_slice", "time_floor", "timestamp_bucket", "tostartofinterval")
_BOUNDS = {"start": "window_start", "end": "window_end", "rowtime": "window_time", "proctime": "window_time"}
_LENGTHS = {
    "tumble": ("INTERVAL '1' MINUTE",),
    "hop": ("INTERVAL '1' MINUTE", "INTERVAL '5' MINUTE"),
    "session": ("INTERVAL '10' MINUTE",),
    "cumulate": ("INTERVAL '1' HOUR", "INTERVAL '1' DAY"),
}
SOURCE = "{source}"
"""Stands in a hint for what the query reads."""


@cache
def foreign() -> Mapping[str, Mapping[str, str]]:
    """The table: `write`, `hint` and `instead`, each by the name of a function in lower case."""
    return tomllib.loads(files(__package__).joinpath("foreign.toml").read_text("utf-8"))


def hint_for(name: str, arguments: Sequence[str]) -> str | None:
    """The words to write instead of a call of a function that Spark doesn't have; None if nothing is known of it.

    >>> hint_for("JSON_VALUE", ["body", "'$.city'"])
    "Write get_json_object(body, '$.city')."
    """
    known, lowered = foreign(), name.lower()
    if lowered in known["write"]:
        return f"Write {_filled(known['write'][lowered], arguments)}."
    return known["hint"].get(lowered)


def hint_instead(name: str, arguments: Sequence[str]) -> str | None:
    """The words to write instead of a call of a function of Spark with arguments that another system's takes."""
    template = foreign()["instead"].get(name.lower())
    return None if template is None else f"Write {_filled(template, arguments)}."


def window_hint(name: str, arguments: Sequence[str]) -> str | None:
    """The words to write instead of a window that is called as a function; None if the call is none."""
    if name.lower() in _BUCKETS:
        size = next((text for text in arguments if text[:1] == "'" or "INTERVAL" in text.upper()), "'5 minutes'")
        time = next((text for text in arguments if re.fullmatch(r"[\w.`]+", text) and not text[0].isdigit()), "at")
        size = size if "INTERVAL" in size.upper() else f"INTERVAL {size}"
        if name.lower() == "time_slice" and len(arguments) > 2:
            size = f"INTERVAL '{arguments[1]}' {arguments[2].strip(chr(39)).upper()}"
        return _window("TUMBLE", time, (size,), "window_start")
    called = _GROUP_WINDOW.fullmatch(name)
    if called is None:
        return None
    kind = called["kind"].lower()
    bound = _BOUNDS.get((called["bound"] or "").lower(), "window_start, window_end")
    time, *lengths = (*arguments, "at")[: max(len(arguments), 1)]
    return _window(kind.upper(), time, tuple(lengths) or _LENGTHS[kind], bound)


def _window(kind: str, time: str, lengths: Sequence[str], bound: str) -> str:
    parted = " PARTITION BY …" if kind == "SESSION" else ""
    call = f"{kind}(TABLE {SOURCE}{parted}, DESCRIPTOR({time.rpartition('.')[2]}), {', '.join(lengths)})"
    return f"Write FROM {call}, {bound} in SELECT, and window_start, window_end in GROUP BY."


def _filled(template: str, arguments: Sequence[str]) -> str:
    """The template with the arguments where they belong, and … for those that are missing."""
    filled = template.replace("{*}", ", ".join(arguments))
    return re.sub(r"\{(\d)\}", lambda slot: arguments[int(slot[1])] if int(slot[1]) < len(arguments) else "…", filled)
