"""Data files, checked: a file's bytes against the checksum in its name, when a process first reads it.

A file on a disk is checked again only if its size, its time of change or its inode are others. One in an object store
that is fetched whole is checked each time, a larger one once.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from headwater.log.damage import MISSING
from headwater.log.datafile import DataFile
from headwater.log.seal import checksum, checksum_in
from headwater.log.storage import WHOLE_READ_LIMIT, Storage

_MOST_KNOWN = 200_000
_known: dict[str, object] = {}
"""The files that this process has found whole, and what each looked like then."""


class FileAltered(Exception):
    """A file that is not as it was written; says how."""


def open_checked(storage: Storage, file: DataFile) -> pa.NativeFile:
    """A reader of a file whose bytes are those that were written; `FileNotFoundError` or `FileAltered` if not."""
    url = f"{storage.url}/{file.path}"
    looks = storage.looks(file.path)
    opened = storage.open(file.path, file.size)
    if looks is None or _known.get(url) != looks:
        try:
            check(opened, file)
        except BaseException:
            opened.close()
            raise
        if looks is not None:
            _remember(url, looks)
    return opened


def check(opened: pa.NativeFile, file: DataFile) -> None:
    """Read a file to its end and compare; it is back at its start after that. One without a checksum has its size."""
    if opened.size() != file.size:
        raise FileAltered(f"it has {opened.size()} bytes instead of {file.size}")
    expected, actual = checksum_in(file.path), 0
    if expected is None:
        return
    while part := opened.read_buffer(WHOLE_READ_LIMIT):
        actual = checksum(part, actual)
    opened.seek(0)
    if actual != expected:
        raise FileAltered(f"its checksum is {actual:08x}, and it was written with {expected:08x}")


def check_files(storage: Storage, files: Sequence[DataFile]) -> dict[str, str]:
    """The faults of some files, by their paths; for readers that open them themselves."""
    with ThreadPoolExecutor(min(8, max(1, len(files)))) as pool:
        faults = list(pool.map(lambda file: _wrong_with(storage, file), files))
    return {file.path: fault for file, fault in zip(files, faults, strict=True) if fault is not None}


def _wrong_with(storage: Storage, file: DataFile) -> str | None:
    looks = storage.looks(file.path)
    if looks is not None and _known.get(f"{storage.url}/{file.path}") == looks:
        return None
    try:
        open_checked(storage, file).close()
    except FileNotFoundError:
        return MISSING
    except FileAltered as altered:
        return str(altered)
    except OSError as cause:
        return str(cause)
    return None


def _remember(url: str, looks: object) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[url] = looks
