"""Windows in a few words."""

from __future__ import annotations

from headwater import model


def spell_window(window: model.Window) -> str:
    """The window in a few words.

    >>> from datetime import timedelta
    >>> spell_window(model.Hop(timedelta(minutes=5), timedelta(minutes=1)))
    'HOP of 5 minutes every 1 minute'
    """
    match window:
        case model.Tumble():
            text = f"TUMBLE of {model.spell_duration(window.size)}"
        case model.Calendar():
            text = f"TUMBLE of {_calendar(window)} in {window.zone}"
        case model.Hop():
            text = f"HOP of {model.spell_duration(window.size)} every {model.spell_duration(window.slide)}"
        case model.Cumulate():
            text = f"CUMULATE to {model.spell_duration(window.size)} by {model.spell_duration(window.step)}"
        case model.Session():
            keys = f" per {', '.join(window.keys)}" if window.keys else ""
            return f"SESSION with a gap of {model.spell_duration(window.gap)}{keys}"
    return f"{text} offset by {model.spell_duration(window.offset)}" if window.offset else text


def _calendar(window: model.Calendar) -> str:
    lengths = (("year", 12), ("month", 1)) if window.unit == "month" else (("week", 7), ("day", 1))
    name, size = next((name, size) for name, size in lengths if window.count % size == 0)
    count = window.count // size
    return f"{count} {name}{'s' if count > 1 else ''}"
