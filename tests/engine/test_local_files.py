"""The file system that Spark's checkpoints are written through: Hadoop's, with permissions set by Java itself."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def files(spark: SparkSession) -> Any:
    jvm = spark._jvm
    return jvm.org.apache.hadoop.fs.FileSystem.get(
        jvm.java.net.URI("file:///"), jvm.org.apache.hadoop.conf.Configuration()
    )


@pytest.mark.parametrize("mode", [0o640, 0o600, 0o755, 0o1777])
def test_a_file_has_the_permissions_it_was_given(spark: SparkSession, files: Any, tmp_path: Path, mode: int) -> None:
    jvm = spark._jvm
    made = tmp_path / "made"
    made.mkdir()
    files.setPermission(
        jvm.org.apache.hadoop.fs.Path(str(made)), jvm.org.apache.hadoop.fs.permission.FsPermission(oct(mode)[2:])
    )
    assert stat.S_IMODE(made.stat().st_mode) == mode


def test_spark_writes_through_it_with_checksums(spark: SparkSession, files: Any, tmp_path: Path) -> None:
    written = files.create(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "state")), True)
    written.write(7)
    written.close()
    assert (tmp_path / "state").read_bytes() == b"\x07"
    assert (tmp_path / ".state.crc").exists()
    assert files.getClass().getName() == "headwater.LocalFiles"
