"""Files of declarations in Python."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from headwater import model
from headwater.errors import Finding, Origin
from headwater.findings import SyntaxRefused
from headwater.sql import Parsed

_EXCLUDED = (
    " It is loaded because {why}; to leave it alone, list the files and folders that declare as `declarations` in "
    "headwater.toml."
)


def load_python(path: str | Path, why: str | None = None) -> Parsed:
    """Run a file of declarations and collect those at its module level, in their order.

    An exception in it becomes a finding at the line of the file where it arose, which says `why` the file is run. A
    file may import the files beside it; what those declare is theirs. No module of the folder stays in
    `sys.modules`, so two files of one name don't meet.
    """
    file = str(path)
    linecache.checkcache(file)
    module = ModuleType(f"declarations.{Path(path).stem}")
    module.__file__ = file
    try:
        code = compile(Path(path).read_bytes(), file, "exec", dont_inherit=True)
        with _isolated(module, Path(path).resolve().parent) as beside:
            exec(code, module.__dict__)  # noqa: S102  a declaration file is the user's own program
    except (Exception, SystemExit) as problem:
        return Parsed((), (_finding(problem, file, why),), _words_of(Path(path)))
    foreign = {id(value) for other in beside for value in vars(other).values()}
    declared = {id(value): value for value in vars(module).values() if isinstance(value, model.Declaration)}
    return Parsed(tuple(value for key, value in declared.items() if key not in foreign))


def _words_of(path: Path) -> frozenset[str]:
    """Every word of a file that couldn't be run: what it would have declared is among them."""
    return frozenset(re.findall(r"[^\W\d]\w*", path.read_bytes().decode(errors="replace")))


@contextmanager
def _isolated(module: ModuleType, folder: Path) -> Iterator[list[ModuleType]]:
    """Let a module run with its folder importable; fills the list with the modules that it imported from there."""
    beside: list[ModuleType] = []
    before = set(sys.modules)
    sys.modules[module.__name__] = module
    sys.path.append(str(folder))
    try:
        yield beside
    finally:
        sys.path.remove(str(folder))
        del sys.modules[module.__name__]
        new = set(sys.modules) - before
        beside.extend(sys.modules.pop(name) for name in new if _is_beside(name, sys.modules[name], folder))


def _is_beside(name: str, module: ModuleType, folder: Path) -> bool:
    top = folder / name.partition(".")[0]
    file = getattr(module, "__file__", None)
    return file is not None and (Path(file) == top.with_suffix(".py") or Path(file).is_relative_to(top))


def _finding(problem: BaseException, file: str, why: str | None) -> Finding | SyntaxRefused:
    if isinstance(problem, (Finding, SyntaxRefused)) and problem.origin:
        return problem
    reason = _EXCLUDED.format(why=why) if why else ""
    if isinstance(problem, SyntaxError) and problem.filename == file:
        return SyntaxRefused(
            "the file can't be parsed as Python",
            detail=f"{problem.msg}.".capitalize(),
            hint=f"Correct it.{reason}" if why else None,
            origin=Origin(file, problem.lineno or 1, problem.offset or 1),
        )
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == file]
    return SyntaxRefused(
        f"the file raises {type(problem).__name__}",
        detail=f"{problem}" or None,
        hint=f"Correct it; nothing of the file was declared.{reason}",
        origin=Origin(file, (lines[-1] if lines else None) or 1),
    )
