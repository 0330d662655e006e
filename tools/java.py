"""Find a Java that Spark and Kafka can run on: 17 or newer, from `JAVA_HOME`, then `java` on the PATH.

As a command it prints the path of the `java` that was found, or ends with exit code 1 and one line that says why not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')  # Java 8 calls itself 1.8


class NoJava(Exception):
    """No Java of the needed version was found; the text says what was looked at."""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The `java` to run, or NoJava with one line that says what was found instead."""
    seen = []
    for place, java in _candidates(environment):
        version = major_version(java)
        if version is not None and version >= OLDEST:
            return java
        seen.append(f"{place} has {'no working java' if version is None else f'Java {version}'}")
    found = ", ".join(seen) or "there is no JAVA_HOME and no java on the PATH"
    raise NoJava(f"Java {OLDEST} or newer is needed: {found}")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "the PATH", Path(found)


def major_version(java: Path) -> int | None:
    """The feature release of a `java` (17, 21, …); None if it doesn't run or doesn't say."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(told.stderr + told.stdout)


def parse_version(text: str) -> int | None:
    """The feature release in what `java -version` prints.

    >>> parse_version('openjdk version "21-ea" 2023-09-19'), parse_version('java version "1.8.0_392"')
    (21, 8)
    """
    found = _VERSION.search(text)
    return int(found[1]) if found else None


if __name__ == "__main__":
    try:
        print(find_java())
    except NoJava as reason:
        sys.exit(str(reason))
