"""The memory of Spark. Its own default of 1 GB is little for a machine of today: a slice of some million rows
that comes back as Arrow doesn't fit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

GIGABYTE = 1024**3
_LEAST, _MOST = GIGABYTE, 4 * GIGABYTE
_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def heap_of(memory: int) -> str:
    """The heap for a machine with so many bytes, as Spark spells it: a quarter of them, from 1 to 4 GB.

    >>> heap_of(24 * GIGABYTE), heap_of(8 * GIGABYTE), heap_of(2 * GIGABYTE)
    ('4096m', '2048m', '1024m')
    """
    return f"{max(_LEAST, min(memory // 4, _MOST)) // 1024**2}m"


def machine_memory() -> int:
    """The bytes of memory of the machine, or of the container if that may use less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *filter(None, map(_limit_in, _CONTAINER))])


def gigabytes_of(spark: Any) -> int:
    """The gigabytes of the heap of a session's driver, rounded."""
    heap: int = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    return round(heap / GIGABYTE)


def _limit_in(file: Path) -> int | None:
    """The limit that a file states; None if there is none."""
    try:
        stated = file.read_text().strip()
    except OSError:
        return None
    return int(stated) if stated.isdecimal() else None
