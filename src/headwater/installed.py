"""What installed packages bring along: kinds of stores, of outlets' targets and of intakes, each by an entry point.

The *group* of an entry point says what it brings (`headwater.stores`, `headwater.outlets`, `headwater.intakes`), its
name is what a project calls it by, and what it points at is a function that opens one.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from headwater.errors import HeadwaterError, SettingsRefused


def installed(group: str) -> list[str]:
    """The names that packages bring along in a group."""
    return sorted({point.name for point in entry_points(group=group)})


def open_installed(group: str, name: str, title: str, *given: Any, **fields: Any) -> Any:
    """What the function gives that is installed under a name; `title` says in an error what is being opened.

    What it raises, and is no error of ours, is a `SettingsRefused` with these fields.
    """
    point = next((found for found in entry_points(group=group) if found.name == name), None)
    if point is None:
        raise SettingsRefused(
            f'{title} needs a package that brings "{name}" along',
            detail=f"None of those that are installed has an entry point of that name in the group {group}.",
            hint="Install it where Headwater is installed.",
            **fields,
        )
    try:
        return point.load()(*given)
    except HeadwaterError:
        raise
    except Exception as cause:
        raise SettingsRefused(
            f"{title} can't be opened",
            detail=f'{point.value}, which is installed as "{name}" in {group}, raised {type(cause).__name__}: {cause}.',
            **fields,
        ) from cause
