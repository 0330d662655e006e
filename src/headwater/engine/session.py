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
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from headwater.engine.java import find_home
from headwater.engine.jvm import Jvm
from headwater.engine.local_files import without_processes
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
"""The settings that a view's rows depend on; not to be changed by a project."""
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Let whoever has taken Ctrl-C keep it: Spark takes it too when it starts, to end its jobs in the middle."""
    taken = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread() and taken not in (None, signal.default_int_handler):
        signal.signal(signal.SIGINT, taken)


class Spark:
    """The process's Spark for a project: its session is opened when it is first asked for, or begun before that.

    `home` is a folder for what it needs beside the data. With `record`, a class archive is made if there is none.
    """

    def __init__(self, name: str, settings: Mapping[str, str], home: Path, *, record: bool = False) -> None:
        self.name = name
        self.settings = settings
        self.home = home
        self.record = record
        self._guard = threading.Lock()
        self._jvm: Jvm | None = None
        self._begun: Future[Any] | None = None

    @property
    def is_begun(self) -> bool:
        """Tells whether it has started, or is about to."""
        return self._begun is not None

    def is_there(self) -> bool:
        """Tells whether who asks for the session has it, or the reason why there is none, at once."""
        return self._begun is not None and self._begun.done()

    def begin(self) -> None:
        """Start it in a thread of its own, if it was not begun; what goes wrong is told to who asks for the session."""
        with self._guard:
            if self._begun is None:
                self._begun = Future()
                Thread(target=self._open, args=(self._begun,), name="headwater-spark", daemon=True).start()

    def session(self) -> Any:
        """The session, once it is there. One that did not start is attempted again when it is asked for again."""
        with self._guard:
            begun, opens_here = self._begun or Future(), self._begun is None
            self._begun = begun
        if opens_here:
            self._open(begun)
        try:
            return begun.result()
        except BaseException:
            with self._guard:
                self._begun = None
            raise

    def keep_classes(self) -> None:
        """Say that it has done what others will do again: the next start is to be faster by it."""
        if self._jvm is not None:
            self._jvm.keep_classes()

    def close(self) -> None:
        """Make an end of a JVM that is still being started; a session that is there stays the process's."""
        with self._guard:
            if self._jvm is not None and self._begun is not None and not self._begun.done():
                self._jvm.end()
                self._jvm, self._begun = None, None

    def _open(self, begun: Future[Any]) -> None:
        try:
            begun.set_result(self._opened())
        except BaseException as failure:
            begun.set_exception(failure)

    def _opened(self) -> Any:
        refused = [key for key in self.settings if key in REQUIRED and self.settings[key] != REQUIRED[key]]
        if refused:
            raise SparkUnavailable(
                f'setting "{refused[0]}" can\'t be changed',
                detail="The rows of views depend on it, and a replay has to give the same rows.",
                hint=f"Remove it from [spark] in headwater.toml: it is {REQUIRED[refused[0]]}.",
            )
        with _ONE_AT_A_TIME:
            return self._started()

    def _started(self) -> Any:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable  # or workers start the system's Python, without our packages
        builder = SparkSession.builder.appName(f"headwater:{self.name}")
        builder = builder.master(self.settings.get("spark.master", "local[*]"))
        heap = {"spark.driver.memory": heap_of(machine_memory())}
        settings = {**heap, **SETTINGS, **self.settings, **REQUIRED}
        for key, value in settings.items():
            builder = builder.config(key, value)
        try:
            with _interrupts_kept():
                self._connect(settings)
                session = builder.getOrCreate()
        except (PySparkException, OSError, RuntimeError, SparkUnavailable) as cause:
            detail = cause.detail if isinstance(cause, SparkUnavailable) else f"{str(cause).strip().splitlines()[0]}."
            raise SparkUnavailable(
                "Spark did not start",
                detail=detail,
                hint=f"See {self.home / LOG_FILE} and jvm.log beside it; check JAVA_HOME and the settings under "
                "[spark] in headwater.toml.",
            ) from cause
        _settle_in(session)
        return session

    def _connect(self, settings: Mapping[str, str]) -> None:
        """Let PySpark have a JVM, unless the process has one."""
        from pyspark import SparkContext

        if SparkContext._gateway is None:
            java = find_home(self.home / "java")
            os.environ["JAVA_HOME"] = str(java)
            self._jvm = Jvm(java, settings, self.home / LOG_FILE, record=self.record)
            SparkContext._ensure_initialized(gateway=self._jvm.gateway())


def _settle_in(session: Any) -> None:
    """Take from a session what costs time, and what it would say beside the errors that it raises."""
    from headwater.engine.lookups import remember

    without_processes(session)
    remember(session.sparkContext._jvm)
    for chatty in (
        "SQLQueryContextLogger",
        "DataFrameQueryContextLogger",
        "py4j",
    ):  # what went wrong is in the error that they would print as well
        logging.getLogger(chatty).setLevel(logging.CRITICAL)


def open_session(name: str, settings: Mapping[str, str], home: Path) -> Any:
    """The process's Spark session, started if there is none; `home` is a folder for what it needs beside the data."""
    return Spark(name, settings, home).session()
