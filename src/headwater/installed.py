"""Parts of installed packages: those of our extras, and kinds of stores, of targets and of intakes of others.

Those of others come by an entry point. Its *group* says what it brings (`headwater.stores`, `headwater.outlets`,
`headwater.intakes`), its name is what a project calls it by, and what it points at is a function that opens one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any

from headwater.errors import ExtraMissing, HeadwaterError, SettingsRefused


def installed(group: str) -> list[str]:
    """The names that packages bring along in a group."""
    return sorted({point.name for point in entry_points(group=group)})


def open_installed(group: str, name: str, title: str, *arguments: Any, **fields: Any) -> Any:
    """The object from the function installed under a name; `title` says in an error what is being opened.

    What it raises, and is no error of ours, is a `SettingsRefused` with these fields.
    """
    point = next((point for point in entry_points(group=group) if point.name == name), None)
    if point is None:
        raise SettingsRefused(
            f'{title} needs a package that brings "{name}" along',
            detail=f"None of those that are installed has an entry point of that name in the group {group}.",
            hint="Install it where Headwater is installed.",
            **fields,
        )
    try:
        return point.load()(*arguments)
    except HeadwaterError:
        raise
    except Exception as cause:
        raise SettingsRefused(
            f"{title} can't be opened",
            detail=f'{point.value}, which is installed as "{name}" in {group}, raised {type(cause).__name__}: {cause}.',
            **fields,
        ) from cause


@contextmanager
def extra(name: str, title: str, **fields: Any) -> Iterator[None]:
    """Let an import that fails say which extra to install; `title` is what needs it."""
    try:
        yield
    except ModuleNotFoundError as cause:
        raise ExtraMissing(
            f"{title} needs the package {cause.name}",
            detail=f"It is not installed: it comes with the extra {name}.",
            hint=f"Run `pip install 'headwater[{name}]'`.",
            extra=name,
            **fields,
        ) from cause
