"""Random damage to files at rest: flipped bits, cut, zeroed, emptied, deleted, swapped and repeated files.

`DAMAGES` is how often each test damages something, `SEED` what is chosen by.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

DAMAGES = int(os.environ.get("CHAOS_DAMAGES", "60"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))


def flip(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def cut(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def zero(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    data[at : at + 512] = bytes(len(data[at : at + 512]))
    path.write_bytes(data)


def empty(_: random.Random, path: Path) -> None:
    path.write_bytes(b"")


def delete(_: random.Random, path: Path) -> None:
    path.unlink()


def swap(rng: random.Random, path: Path) -> None:
    other = rng.choice(_beside(path))
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def repeat(rng: random.Random, path: Path) -> None:
    """Another file's bytes in this one's place."""
    other = rng.choice(_beside(path))
    path.write_bytes(other.read_bytes())


def _beside(path: Path) -> list[Path]:
    return sorted(found for found in path.parent.iterdir() if found.is_file() and found != path)


ALONE: list[Callable[[random.Random, Path], None]] = [flip, flip, flip, cut, zero, empty, delete]
KINDS = [*ALONE, swap, repeat]


def damage(
    rng: random.Random, folder: Path, among: Callable[[Sequence[Path]], Sequence[Path]] = lambda files: files
) -> tuple[str, set[str]]:
    """Damage one file below a folder, of those that are chosen; what was done, and the files that differ now."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    before = {path: path.read_bytes() for path in files}
    path = rng.choice(among(files))
    kind = rng.choice(KINDS if len(_beside(path)) else ALONE)
    kind(rng, path)
    changed = {found for found, data in before.items() if not found.exists() or found.read_bytes() != data}
    return f"{kind.__name__} {path.relative_to(folder)}", {str(found.relative_to(folder)) for found in changed}
