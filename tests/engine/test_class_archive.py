"""The archive of classes: made by one Java for the next, and never in the way of a start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.engine.class_archive import ClassArchive, cache_folder
from headwater.engine.java import find_java
from tests.patience import PATIENCE

JAVA = find_java().resolve()
HOME = JAVA.parent.parent
SHARED = [option for option in (HOME / "lib" / "server" / "classes.jsa",) if option.is_file()]
needs_sharing = pytest.mark.skipif(not SHARED, reason="this Java has no archive of its own classes to add to")

START = """
import sys, threading
from pathlib import Path
from headwater.engine.session import Spark

home = Path(sys.argv[1])
own = {"spark.driver.extraJavaOptions": sys.argv[2]}
spark = Spark("archived", {"spark.master": "local[1]", **own}, home, record=True)
spark.begin()
for number in range(200):
    print("line", number, file=sys.stderr, flush=True)
    threading.Event().wait(0.01)
session = spark.session()
print(session.range(3).count())
beans = session._jvm.java.lang.management.ManagementFactory
found = [str(one) for one in beans.getRuntimeMXBean().getInputArguments() if "BackEdge" in str(one)]
print(found[-1] == sys.argv[2], len(found))
"""


def archive_in(folder: Path) -> ClassArchive:
    folder.mkdir(mode=0o700, exist_ok=True)
    archive = ClassArchive.of(HOME, folder, folder)
    assert archive is not None
    return archive


def run_java(*options: str) -> str:
    done = subprocess.run([JAVA, *options, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()[0] + done.stderr


@needs_sharing
def test_what_one_java_has_loaded_is_used_by_the_next_if_it_was_worth_keeping(tmp_path: Path) -> None:
    archive = archive_in(tmp_path / "cache")
    (recording, _) = archive.options(record=True)
    assert recording == f"-XX:ArchiveClassesAtExit={archive.own}"
    assert archive.options(record=False) == [], "who doesn't record leaves nothing behind"
    told = run_java(recording, "-Xlog:cds*=error")
    assert archive.options(record=False) == [], "nobody has said that it is worth keeping"
    assert not archive.own.exists()
    run_java(recording, "-Xlog:cds*=error")
    archive.keep()
    options = archive.options(record=True)
    assert options[0] == f"-XX:SharedArchiveFile={archive.file}"
    assert run_java(*options) == told
    assert [file.name for file in archive.file.parent.iterdir()] == [archive.file.name]


@needs_sharing
@pytest.mark.parametrize("at", [0, 100, 40_000, -5_000])
def test_java_starts_with_an_archive_that_is_damaged(tmp_path: Path, at: int) -> None:
    archive = archive_in(tmp_path / "cache")
    run_java(archive.options(record=True)[0], "-Xlog:cds*=error")
    archive.keep()
    options = archive.options(record=True)
    damaged = bytearray(archive.file.read_bytes())
    damaged[at : at + 64 if at >= 0 else None] = bytes(64 if at >= 0 else -at)
    archive.file.chmod(0o600)
    archive.file.write_bytes(damaged)
    assert run_java(*options).startswith("openjdk")


@needs_sharing
def test_an_archive_that_is_not_complete_is_not_used(tmp_path: Path) -> None:
    archive = archive_in(tmp_path / "cache")
    archive.own.write_bytes(bytes(4096))
    archive.keep()
    assert archive.options(record=False) == []
    assert archive.own.exists(), "it may be being written"
    os.utime(archive.own, (0, 0))
    assert archive.options(record=False) == []
    assert not archive.own.exists(), "who wrote it has died"


@needs_sharing
def test_another_set_of_jars_has_an_archive_of_its_own(tmp_path: Path) -> None:
    before = archive_in(tmp_path)
    (tmp_path / "more.jar").write_bytes(b"")
    assert archive_in(tmp_path).file != before.file


def test_a_folder_that_others_can_write_to_has_none(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    assert ClassArchive.of(HOME, tmp_path, folder) is None


def test_a_java_without_an_archive_of_its_own_classes_has_none(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert ClassArchive.of(tmp_path / "java", tmp_path, tmp_path) is None


def test_the_cache_is_the_users(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "headwater"
    (tmp_path / "file").touch()
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path / "file")}) is None


@needs_sharing
def test_spark_starts_though_java_dies_of_the_archive_and_what_others_write_meanwhile_is_left_to_them(
    tmp_path: Path,
) -> None:
    """A Java that dies as soon as it is given an archive, which is removed then."""
    java = tmp_path / "java"
    (java / "bin").mkdir(parents=True)
    (java / "lib").symlink_to(HOME / "lib")
    (java / "release").write_bytes((HOME / "release").read_bytes())
    launcher = java / "bin" / "java"
    launcher.write_text(f'#!/bin/sh\ncase "$*" in *SharedArchiveFile*) kill -9 $$;; esac\nexec "{JAVA}" "$@"\n')
    launcher.chmod(0o755)
    cache = tmp_path / "cache"
    environment = os.environ | {"JAVA_HOME": str(java), "XDG_CACHE_HOME": str(cache)}
    from pyspark.find_spark_home import _find_spark_home

    (cache / "headwater").mkdir(parents=True, mode=0o700)
    archive = ClassArchive.of(java, Path(_find_spark_home()) / "jars", cache / "headwater")
    assert archive is not None
    archive.file.write_bytes(b"an archive")
    done = subprocess.run(
        [sys.executable, "-c", START, tmp_path / "home", "-XX:Tier4BackEdgeThreshold=40001"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=PATIENCE,
    )
    assert done.stdout == "3\nTrue 2\n", "a project's own options come after ours"
    assert done.stderr.splitlines() == [f"line {number}" for number in range(200)]
    assert not archive.file.exists()
