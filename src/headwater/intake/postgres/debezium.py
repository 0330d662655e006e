"""The process in which Debezium reads: its properties, its start, and what it prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from headwater.errors import SourceUnavailable
from headwater.intake.changes.columns import UNCHANGED
from headwater.intake.postgres.database import Database

_COMMON = {
    "name": "headwater",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "headwater",
    "plugin.name": "pgoutput",
    "publication.autocreate.mode": "disabled",
    # a position is kept by the logs alone, and PostgreSQL is told as soon as they have it
    "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
    "offset.flush.interval.ms": "0",
    "lsn.flush.mode": "connector",
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "1000",
    "tombstones.on.delete": "false",
    "skipped.operations": "none",
    # values as they are
    "decimal.handling.mode": "string",
    "time.precision.mode": "isostring",
    "interval.handling.mode": "string",
    "binary.handling.mode": "base64",
    "hstore.handling.mode": "json",
    "include.unknown.datatypes": "true",
    "unavailable.value.placeholder": UNCHANGED,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    # what fails is begun anew by us
    "errors.max.retries": "0",
    "slot.max.retries": "0",
    "poll.interval.ms": "20",
    "max.batch.size": "8192",
    "max.queue.size": "32768",
}


class Debezium:
    """A process of Debezium, which reads one slot after the other."""

    def __init__(self, database: Database, java: Path, log: Path) -> None:
        self._database = database
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch(mode=0o600, exist_ok=True)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headwater.intake.postgres.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=log.parent,
                env=os.environ | {"JAVA_HOME": str(java)},
                start_new_session=True,  # Ctrl-C in a terminal is ours to hear
            )
        self._log = log

    def begin(self, properties: dict[str, str]) -> None:
        """Begin to read."""
        log = str(self._log)
        self._send(json.dumps(_COMMON | self._database.properties | properties | {"headwater.log": log}))

    def lines(self) -> Iterator[list[bytes]]:
        """The parts of each line that it prints, until it ends; what it failed of is an error."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            parts = line.rstrip(b"\n").split(b"\t", 5)
            if parts[0] == b"failed":
                raise self._failed(b"\t".join(parts[1:]).decode())
            yield parts
        raise self._failed("Its process has ended")

    def acknowledge(self, position: int) -> None:
        """Say that everything up to there is in the logs."""
        self._send(str(position))

    def end(self) -> None:
        """Stop reading; what was read and not taken is forgotten."""
        self._send("stop")
        for parts in self.lines():
            if parts == [b"stopped"]:
                return

    def stop(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended, which is heard where its lines are read
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def _failed(self, reason: str) -> SourceUnavailable:
        return SourceUnavailable(
            f"Debezium stopped reading {self._database.title}",
            detail=f"{reason.strip().rstrip('.')}. What was taken in is in the log, and it is begun again from there.",
            hint=f"See whether PostgreSQL runs; Debezium's own words are in {self._log}.",
            topic=self._database.topic,
        )


def by_queries(queries: Mapping[str, str]) -> dict[str, str]:
    """The properties for a snapshot in which the rows of tables are those of a query each."""
    option = "snapshot.select.statement.overrides"
    named = {f"{option}.{table}": query for table, query in queries.items()}
    return {option: ",".join(queries)} | named if queries else {}


def properties_of(slot: str, publication: str, tables: Sequence[str], *, snapshot: bool) -> dict[str, str]:
    """The properties for a slot: a snapshot of tables, or what was changed since the slot was read."""
    return {
        "slot.name": slot,
        "publication.name": publication,
        "table.include.list": ",".join(re.escape(table) for table in tables),
        "snapshot.mode": "initial" if snapshot else "no_data",
    }
