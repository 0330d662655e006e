"""One Spark session, with the settings that were measured to matter.

Spark starts when it is first needed, and once per process: a session that the process already has is used as it is, but
for what would change results (the time zone, ANSI errors).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwater.engine.java import find_home
from headwater.engine.local_files import without_processes
from headwater.engine.lookups import remember
from headwater.engine.memory import heap_of, machine_memory
from headwater.errors import SparkUnavailable

_STREAMING = "org.apache.spark.sql.execution.streaming"
_FILE_MANAGER = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
SETTINGS: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # the other manager runs readlink for each checkpoint file
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
    "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # the tick of a source closes what is due; a batch without data would do it again
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # sources are told apart by name, never by their order in a query
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    # or Spark computes given rows while it plans, and leaves what they are joined with unread, and uncounted
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # a list of thousands of files is not worth a job of its own
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
LOG_FILE = "spark.log"
REQUIRED: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
}
"""What a view's rows depend on; not to be changed by a project."""


@contextmanager
def _noise_to(file: Path) -> Iterator[None]:
    """Let what starts meanwhile write its standard error to a file: the JVM keeps it for as long as it lives."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = os.dup(2)
    try:
        with file.open("ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Let whoever has taken Ctrl-C keep it: Spark takes it too when it starts, to end its jobs in the middle."""
    taken = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread() and taken not in (None, signal.default_int_handler):
        signal.signal(signal.SIGINT, taken)


def open_session(name: str, settings: Mapping[str, str], home: Path) -> Any:
    """The process's Spark session, started if there is none; `home` is a folder for what it needs beside the data."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    refused = [key for key in settings if key in REQUIRED and settings[key] != REQUIRED[key]]
    if refused:
        raise SparkUnavailable(
            f'setting "{refused[0]}" can\'t be changed',
            detail="The rows of views depend on it, and a replay has to give the same rows.",
            hint=f"Remove it from [spark] in headwater.toml: it is {REQUIRED[refused[0]]}.",
        )
    if SparkSession.getActiveSession() is None:
        os.environ["JAVA_HOME"] = str(find_home(home / "java"))
    os.environ["PYSPARK_PYTHON"] = sys.executable  # or workers start the system's Python, without our packages
    builder = SparkSession.builder.appName(f"headwater:{name}").master(settings.get("spark.master", "local[*]"))
    heap = {"spark.driver.memory": heap_of(machine_memory())}
    for key, value in {**heap, **SETTINGS, **settings, **REQUIRED}.items():
        builder = builder.config(key, value)
    try:
        with _noise_to(home / LOG_FILE), _interrupts_kept():
            session = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as cause:
        raise SparkUnavailable(
            "Spark did not start",
            detail=f"{str(cause).strip().splitlines()[0]}.",
            hint=f"See {home / LOG_FILE}; check JAVA_HOME and the settings under [spark] in headwater.toml.",
        ) from cause
    session.sparkContext.setLogLevel("OFF")
    without_processes(session)
    remember(session.sparkContext._jvm)
    for chatty in (
        "SQLQueryContextLogger",
        "DataFrameQueryContextLogger",
        "py4j",
    ):  # what went wrong is in the error that they would print as well
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    return session
