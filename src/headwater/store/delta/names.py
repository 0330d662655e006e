"""Where things are in the folder of a Delta store.

    lake/spend/                   the view's own name: a Delta table with the rows of the promoted version
    lake/spend/_v1/               version 1, a Delta table of its own; its files are those of the table above, too
    lake/spend/_v1/_change_data/  its changelog, as Delta's change data feed
    lake/spend/_versions/1        says that there is, or was, a version 1

The folder of a version starts with `_`, so that a VACUUM of the table above leaves it alone.
"""

from __future__ import annotations

from headwater.errors import ArgumentRefused
from headwater.store.protocol import Target

VERSIONS = "_versions"
CHANGES = "_change_data"


def folder_of(view: str) -> str:
    """The view's name as one folder. Other tools take `%` in a path for an escape, so odd characters are spelled so:

    >>> folder_of("spend"), folder_of("../a b")
    ('spend', '~2e~~2e~~2f~a~20~b')
    """
    return "".join(c if c.isalnum() or c in "-_" else f"~{ord(c):x}~" for c in view)


def version_of(version: int) -> str:
    """The folder of a version, below that of its view."""
    return f"_v{version}"


def file_of(number: int, part: int, identity: str) -> str:
    """A file of rows, named for the entry that it is written for: names sort as rows were added."""
    return f"{number:020d}-{part:04d}-{identity}.parquet"


def number_of(path: str) -> int:
    """The number of the entry that a file was written for; −1 if it isn't a file of ours."""
    name = path.rpartition("/")[2]
    own = len(name) == len(file_of(0, 0, "0" * 32)) and name[:20].isdigit()
    return int(name[:20]) if own else -1


def check_names(target: Target) -> None:
    """Refuse names that a Delta table can't have."""
    names = [column.name.lower() for column in target.columns]
    doubled = [name for place, name in enumerate(names) if name in names[:place]]
    if target.view and not doubled and not set(names) & {"_change_type", "_commit_version", "_commit_timestamp"}:
        return
    told = f'Two columns are called "{doubled[0]}" but for capitals.' if doubled else "It has no name."
    raise ArgumentRefused(
        f'view "{target.view}" can\'t be kept in a Delta store',
        detail=told if doubled or not target.view else "A column has a name that Delta's change data feed needs.",
        hint="Give the view or the column another name.",
        view=target.view,
    )
