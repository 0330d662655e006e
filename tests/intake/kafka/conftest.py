"""Topics of a real broker, and projects that take them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from tests.intake.kafka.shop import Shop
from tests.servers.kafka import KafkaServer

collect_ignore = ["golden/make.py"]  # it needs packages that only it needs


@pytest.fixture
def shop(kafka_server: KafkaServer, tmp_path: Path) -> Callable[..., Shop]:
    """Makes a project with one stream or table that takes in a Kafka topic of its own."""

    def make(**declared: str | int) -> Shop:
        return Shop(kafka_server.bootstrap, f"payments-{uuid4().hex[:8]}", tmp_path, **declared)  # type: ignore[arg-type]

    return make
