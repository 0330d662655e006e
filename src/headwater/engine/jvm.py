"""The JVM of Spark: a process that is started beside this one, and ends with it.

It is started by Spark's own script, so that class path and defaults are what Spark says. Spark's warnings and errors go
to a log, and what the process itself writes, such as how it ended, to a file beside it. While it starts, the process
that waits for it can do something else.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headwater.engine.class_archive import OWN_WAY, ClassArchive, cache_folder
from headwater.errors import SparkUnavailable

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LATE_OPTIMISATION = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times what Java waits before it optimises a method fully. While Spark starts, that takes more than a third of the
processor for code that is done before it is ready; what is really hot gets there within a second as well.
"""
_WITHOUT_INTERRUPTS = 'trap "" INT; exec "$0" "$@"'
"""Ctrl-C is for whoever has started Spark, which ends it in order."""
_LOOK = 0.01
_SPARKS_LOG = Path(__file__).with_name("spark_log.properties")
_LARGE = 1 << 20
"""Bytes that the process may have written before another one begins anew, keeping the file as the one before."""


class Jvm:
    """Starts the JVM; `gateway` waits for it, and `end` makes an end of one that nobody waits for.

    Spark's `log` is begun anew when it is large; two before it are kept.
    """

    def __init__(self, home: Path, settings: Mapping[str, str], log: Path, *, record: bool) -> None:
        self._home = home
        self._settings = settings
        self._log = log
        self._record = record
        self._archive: ClassArchive | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = threading.Event()

    def gateway(self) -> Any:
        """The way to a JVM that has started; once more without the class archive, if it ended while it started."""
        if "PYSPARK_GATEWAY_PORT" in os.environ:  # Spark has started us
            return _connected()
        archive = self._archive = self._found_archive()
        options = archive.options(record=self._record) if archive else []
        try:
            return self._start(options)
        except SparkUnavailable:
            if archive is None or not options or self._is_over.is_set():
                raise
            archive.forget()
            return self._start([])

    def keep_classes(self) -> None:
        """Say that the classes that are loaded by now are worth keeping for the next start."""
        if self._archive is not None and self._record and not self._archive.file.exists():
            with suppress(OSError):
                self._archive.keep()

    def end(self) -> None:
        """End a JVM that is being started; who waits for it is told that there is none."""
        self._is_over.set()
        if self._process is not None:
            self._process.kill()

    def _found_archive(self) -> ClassArchive | None:
        if any(own in self._settings.get(JAVA_OPTIONS, "") for own in OWN_WAY):
            return None
        folder = cache_folder()
        return ClassArchive.of(self._home, _spark_home() / "jars", folder) if folder else None

    def _start(self, options: Iterable[str]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder, "gateway")
            self._launch(told, options)
            port, secret = self._wait(told)
        os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        try:
            gateway = _connected()
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        gateway.proc = self._process
        return gateway

    def _launch(self, told: Path, options: Iterable[str]) -> None:
        stated = [*LATE_OPTIMISATION, *options, *self._logging(), self._settings.get(JAVA_OPTIONS, "")]
        settings = {**self._settings, JAVA_OPTIONS: " ".join(stated).strip()}  # the last one counts
        arguments = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        submitted = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        spark = _spark_home()
        environment = os.environ | {
            "JAVA_HOME": str(self._home),
            "SPARK_HOME": str(spark),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        }
        self.output.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if self.output.stat().st_size > _LARGE:
                self.output.replace(f"{self.output}.1")
        with self.output.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", _WITHOUT_INTERRUPTS, spark / "bin" / "spark-submit", *arguments, *submitted],
                stdin=subprocess.PIPE,  # the JVM ends when this end of it is closed
                stdout=log,
                stderr=log,
                env=environment,
            )

    @property
    def output(self) -> Path:
        """The file for what the process writes that no logger has written."""
        return self._log.with_name("jvm.log")

    def _logging(self) -> list[str]:
        """The options by which Spark writes its log."""
        options = {"log4j2.configurationFile": _SPARKS_LOG.as_uri(), "headwater.log": self._log.absolute()}
        return [shlex.quote(f"-D{name}={value}") for name, value in options.items()]

    def _wait(self, told: Path) -> tuple[int, str]:
        """The port and the secret that the JVM tells once it is there."""
        from pyspark.serializers import UTF8Deserializer, read_int

        assert self._process is not None
        while not told.is_file():
            if self._process.poll() is not None or self._is_over.is_set():
                raise SparkUnavailable("Spark did not start", detail="Its JVM ended while it started.")
            time.sleep(_LOOK)
        with told.open("rb") as information:
            return read_int(information), UTF8Deserializer().loads(information)


def _connected() -> Any:
    from pyspark.java_gateway import launch_gateway

    return launch_gateway()


def _spark_home() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())
