"""A Kafka server: one node that is broker and controller (KRaft), without replication."""

from __future__ import annotations

import contextlib
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.engine.java import find_java
from tests.servers.process import ask, free_port, running, server_folder

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
num.partitions=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
group.min.session.timeout.ms=500
"""
CLUSTER = "aGVhZHdhdGVyLS10ZXN0cw"  # sixteen bytes in base64, as Kafka wants them
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A whole request: its length, the call ApiVersions in version 0, the number 1, no client name."""


@dataclass(frozen=True)
class KafkaServer:
    """A running broker that creates a topic when it is first used."""

    port: int

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def calls(self) -> set[int]:
        """The calls of Kafka's protocol that the broker takes, by number; none if it doesn't answer yet."""
        answer = ask(self.port, API_VERSIONS)
        if len(answer) < 14:
            return set()
        _, number, error, count = struct.unpack_from(">iihi", answer)
        assert (number, error) == (1, 0), answer
        return {call for call, _, _ in struct.iter_unpack(">hhh", answer[14 : 14 + 6 * count])}


@dataclass(frozen=True)
class FormattedKafka:
    """A broker that can be started and stopped several times; its data and its address stay."""

    server: KafkaServer
    folder: Path
    java: list[str | Path]

    @contextlib.contextmanager
    def running(self) -> Iterator[KafkaServer]:
        """The broker, from when it answers to the end of the block."""
        command = [*self.java, "kafka.Kafka", self.folder / "server.properties"]
        with running(command, folder=self.folder, answers=lambda: bool(self.server.calls())):
            yield self.server


@contextlib.contextmanager
def format_kafka(jars: Path) -> Iterator[FormattedKafka]:
    """A folder that the broker of these jars can run in, and a port for it."""
    port, controller = free_port(), free_port()
    with server_folder() as folder:
        properties = folder / "server.properties"
        properties.write_text(PROPERTIES.format(port=port, controller=controller, folder=folder))
        java = [find_java(), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars / "*"]
        form = ["kafka.tools.StorageTool", "format", "--config", properties, "--cluster-id", CLUSTER]
        subprocess.run([*java, *form], check=True, capture_output=True, cwd=folder)
        yield FormattedKafka(KafkaServer(port), folder, java)


@contextlib.contextmanager
def start_kafka(jars: Path) -> Iterator[KafkaServer]:
    """Format a folder and run the broker of these jars in it."""
    with format_kafka(jars) as formatted, formatted.running() as server:
        yield server
