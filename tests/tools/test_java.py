"""Which Java is found, shown with small programs that answer `-version` as Java does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.java import NoJava, find_java


def java_that_says(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, on_path = java_that_says(tmp_path / "home", "21.0.2"), java_that_says(tmp_path / "path", "17.0.15")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}) == home


def test_the_path_is_used_when_java_home_is_too_old(tmp_path: Path) -> None:
    java_that_says(tmp_path / "home", "1.8.0_392")
    on_path = java_that_says(tmp_path / "path", "17.0.15")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}) == on_path


@pytest.mark.parametrize("version, said", [("1.8.0_392", "Java 8"), ("11.0.22", "Java 11"), ("16", "Java 16")])
def test_an_older_java_is_refused_by_its_version(tmp_path: Path, version: str, said: str) -> None:
    on_path = java_that_says(tmp_path, version)
    with pytest.raises(NoJava, match=f"Java 17 or newer is needed: the PATH has {said}"):
        find_java({"PATH": str(on_path.parent)})


def test_without_any_java_the_error_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match="there is no JAVA_HOME and no java on the PATH"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match="JAVA_HOME has no working java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)})
