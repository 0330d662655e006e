"""The settings of the session: what a long run depends on, and a short one doesn't show."""

from __future__ import annotations

from pyspark.sql import SparkSession


def test_state_can_be_copied_to_the_checkpoint_as_a_whole(spark: SparkSession) -> None:
    """After some tens of batches Spark copies a snapshot of its state, and needs Hadoop's local file system for it."""
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    assert files.getScheme() == "file"
