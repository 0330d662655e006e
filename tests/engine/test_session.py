"""The session: how it starts, and the settings that a long run depends on, and a short one doesn't show."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.engine.session import Spark
from headwater.errors import SparkUnavailable
from tests.patience import until


def test_state_can_be_copied_to_the_checkpoint_as_a_whole(spark: SparkSession) -> None:
    """After some tens of batches Spark copies a snapshot of its state, and needs Hadoop's local file system for it."""
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    assert files.getScheme() == "file"


def test_a_session_that_was_begun_is_the_one_that_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    begun = Spark("tests", {}, tmp_path)
    assert not begun.is_there()
    begun.begin()
    begun.begin()
    until(begun.is_there)
    assert begun.session() is spark
    begun.close()
    assert spark.range(2).count() == 2, "one that is there stays"


def test_what_went_wrong_is_told_to_each_who_asks(spark: SparkSession, tmp_path: Path) -> None:
    refused = Spark("tests", {"spark.sql.ansi.enabled": "false"}, tmp_path)
    refused.begin()
    for _ in range(2):
        with pytest.raises(SparkUnavailable, match=r'setting "spark.sql.ansi.enabled" can\'t be changed'):
            refused.session()


def test_what_spark_warns_of_is_in_a_log_that_is_begun_anew_when_it_is_large(spark: SparkSession) -> None:
    log = Path(spark._jvm.java.lang.System.getProperty("headwater.log"))
    logger = spark._jvm.org.apache.logging.log4j.LogManager.getLogger("org.apache.spark.sql.Tried")
    logger.info("this is of no note")
    logger.warn("this is of note")
    assert "WARN Tried: this is of note\n" in log.read_text()
    assert "of no note" not in log.read_text()
    for _ in range(12):
        logger.warn("x" * 1_000_000)
    logger.error("this is new")
    assert log.stat().st_size < 10 * 2**20
    assert "ERROR Tried: this is new\n" in log.read_text()
    assert log.with_name(f"{log.name}.1").exists()
