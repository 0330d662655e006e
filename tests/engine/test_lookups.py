"""Names that Python asks the JVM for over and over: asked for once, and the columns are the same."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def test_a_function_is_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    F.upper("a")
    asked: list[str] = []
    sent = GatewayClient.send_command

    def noted(client: GatewayClient, command: str, *rest: Any, **named: Any) -> Any:
        asked.append(command)
        return sent(client, command, *rest, **named)

    monkeypatch.setattr(GatewayClient, "send_command", noted)
    columns = [F.upper("a"), F.upper("b"), F.upper("c")]
    assert not [command for command in asked if command.startswith("r")]  # a question about a name
    assert [command for command in asked if "\nupper\n" in command]
    frame = spark.createDataFrame([("x", "y", "z")], "a STRING, b STRING, c STRING").select(*columns)
    assert frame.collect()[0] == ("X", "Y", "Z")
