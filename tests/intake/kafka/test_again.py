"""A data file that is lost is made anew from Kafka, to the bit; or it is left as it is, with a reason."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from headwater.errors import LogDamaged, RetentionGap
from headwater.log.seal import checksum_in
from headwater.project import Project
from tests.intake.kafka.shop import Shop, event
from tests.servers.kafka import KafkaServer


@pytest.fixture
def shop(kafka_server: KafkaServer, tmp_path: Path) -> Shop:
    """A project that has taken in a topic in three commits: of two partitions, with dead letters between."""
    found = Shop(kafka_server.bootstrap, f"payments-{uuid4().hex[:8]}", tmp_path)
    for turn in range(3):
        found.send([event(10 * turn + n, n) for n in range(5)] + [b"poison", event(10 * turn + 9, 7)], 0)
        found.send([event(100 + 10 * turn + n, 3 * n) for n in range(4)], 1)
        with found.open() as project:
            project.take_in()
    return found


def files(shop: Shop) -> list[Path]:
    return sorted((shop.folder / "data" / "log" / "payments").glob("*.parquet"))


def rows(project: Project) -> list[dict[str, object]]:
    found: list[dict[str, object]] = project.read("payments").to_pylist()
    return found


def test_lost_files_are_made_anew_to_the_bit(shop: Shop) -> None:
    with shop.open() as project:
        expected = rows(project)
    assert len(expected) == 30
    before = {path: path.read_bytes() for path in files(shop)}
    assert len(before) >= 3 and all(checksum_in(path.name) is not None for path in before)
    first, second, *_ = before
    first.unlink()
    second.write_bytes(before[second][:100])
    with shop.open() as project:
        with pytest.raises(LogDamaged):
            rows(project)
        repaired = project.integrity.remake("payments")
        assert set(repaired.back) == {first.name, second.name}
        assert repaired.left == ()
    assert {path: path.read_bytes() for path in files(shop)} == before
    with shop.open() as project:
        assert rows(project) == expected


def test_what_kafka_has_let_go_of_is_refused(shop: Shop) -> None:
    files(shop)[0].unlink()
    shop.delete_before(0, 3)
    with shop.open() as project, pytest.raises(RetentionGap, match="no longer has what is lost"):
        project.integrity.remake("payments")


def test_a_file_that_would_be_another_is_left_lost(shop: Shop) -> None:
    """Its rows are read with another declaration, and wouldn't be what they were."""
    lost = files(shop)[0]
    lost.unlink()
    file = shop.folder / "payments.sql"
    file.write_text(
        file.read_text().replace("WATERMARK FOR at AS at)", "WATERMARK FOR at AS at - INTERVAL '1' SECOND)")
    )
    with shop.open() as project:
        repaired = project.integrity.remake("payments")
    assert repaired.back == ()
    assert [hurt.path for hurt in repaired.left] == [lost.name]
    assert not lost.exists()


def test_rows_that_were_sent_are_not_looked_for_in_kafka(shop: Shop) -> None:
    with shop.open() as project:
        project.append("payments", [{"id": "by hand", "amount": 1, "at": "2026-01-01T00:00:30Z"}])
        sent = files(shop)[-1]
        sent.unlink()
        repaired = project.integrity.remake("payments")
    assert (repaired.back, [hurt.path for hurt in repaired.left]) == ((), [sent.name])
