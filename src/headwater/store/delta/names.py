"""Where things are in the folder of a Delta store.

    lake/spend/                   the view's own name: a Delta table with the rows of the promoted version
    lake/spend/_v1/               version 1, a Delta table of its own; its files are those of the table above, too
    lake/spend/_v1/_change_data/  its changelog, as Delta's change data feed
    lake/spend/_versions/1        says that there is, or was, a version 1

The folder of a version starts with `_`, so that a VACUUM of the table above leaves it alone.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from headwater.errors import ArgumentRefused
from headwater.log.seal import named
from headwater.store.protocol import Target

VERSIONS = "_versions"
CHANGES = "_change_data"
_OWN = re.compile(r"(\d{20})-\d{4}-[0-9a-f]{32}(-[0-9a-f]{8})?\.parquet")
"""Files from before there were checksums have none in their names."""


def folder_of(view: str) -> str:
    """The view's name as one folder. Other tools take `%` in a path for an escape, so odd characters are spelled so:

    >>> folder_of("spend"), folder_of("../a b")
    ('spend', '~2e~~2e~~2f~a~20~b')
    """
    return "".join(c if c.isalnum() or c in "-_" else f"~{ord(c):x}~" for c in view)


def version_of(version: int) -> str:
    """The folder of a version, below that of its view."""
    return f"_v{version}"


def file_of(number: int, part: int, data: Any) -> str:
    """A file of rows, named for the entry that it is written for: names sort as rows were added.

    The name ends in the checksum of its bytes.
    """
    return named(f"{number:020d}-{part:04d}-{uuid.uuid4().hex}", data)


def merged_of(path: str, data: Any) -> str:
    """A file that sorts where the one at `path` does, whose rows it has."""
    return named(f"{path[:25]}-{uuid.uuid4().hex}", data)


def number_of(path: str) -> int:
    """The number of the entry that a file was written for; −1 if it isn't a file of ours."""
    own = _OWN.fullmatch(path.rpartition("/")[2])
    return int(own[1]) if own else -1


def check_names(target: Target) -> None:
    """Refuse names that a Delta table can't have."""
    names = [column.name.lower() for column in target.columns]
    doubled = [name for position, name in enumerate(names) if name in names[:position]]
    if target.view and not doubled and not set(names) & {"_change_type", "_commit_version", "_commit_timestamp"}:
        return
    told = f'Two columns are called "{doubled[0]}" but for capitals.' if doubled else "It has no name."
    raise ArgumentRefused(
        f'view "{target.view}" can\'t be kept in a Delta store',
        detail=told if doubled or not target.view else "A column has a name that Delta's change data feed needs.",
        hint="Give the view or the column another name.",
        view=target.view,
    )
