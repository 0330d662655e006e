"""How much memory Spark is given: a quarter of what the machine, or the container, has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.engine import memory
from headwater.engine.memory import GIGABYTE, gigabytes_of, machine_memory


@pytest.mark.parametrize(("stated", "found"), [("1073741824\n", GIGABYTE), ("max\n", None), (None, None)])
def test_a_container_may_have_less_than_the_machine(
    stated: str | None, found: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CONTAINER", ())
    machine, file = machine_memory(), tmp_path / "memory.max"
    if stated is not None:
        file.write_text(stated)
    monkeypatch.setattr(memory, "_CONTAINER", (file,))
    assert machine_memory() == (found or machine)


def test_a_session_has_the_heap_that_it_is_given(spark: SparkSession) -> None:
    assert gigabytes_of(spark) == 2  # as tests/conftest.py says
