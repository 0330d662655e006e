"""Reading one's own write: many clients append and read at once, and every read has the event of its own append.

`make chaos` makes 10,000 of them (CHAOS_WRITES).
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from pyspark.sql import SparkSession

import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server

WRITES = int(os.environ.get("CHAOS_WRITES", "200"))
CLIENTS = 32
SQL = """
CREATE STREAM payments (id STRING NOT NULL, card STRING NOT NULL, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW seen WITH (key = 'id') AS SELECT id, card FROM payments;
"""


class Client:
    """Appends events and reads each, over one connection."""

    def __init__(self, url: str, number: int) -> None:
        self._http = httpx.Client(base_url=url, timeout=120)
        self._number = number
        self.missed: list[str] = []
        self.busy = 0

    def write_and_read(self, count: int) -> None:
        for write in range(count):
            name = f"{self._number}-{write}"
            event = {"id": name, "card": f"c{self._number}", "at": "2026-01-01T12:00:00Z"}
            token = self._ask("POST", "/streams/payments/events", json=event)["token"]
            found = self._ask("GET", f"/views/seen?id={name}&after={token}&timeout=60")
            if [row["id"] for row in found["rows"]] != [name]:
                self.missed.append(name)
        self._http.close()

    def _ask(self, method: str, path: str, **more: object) -> dict[str, list[dict[str, str]]]:
        """Ask, and come back when told to."""
        while True:
            found = self._http.request(method, path, **more)  # type: ignore[arg-type]
            if found.status_code != 429:
                assert found.is_success, found.text
                return dict(found.json())
            self.busy += 1
            time.sleep(0.05)


def test_every_read_has_the_event_of_its_own_append(tmp_path: Path, spark: SparkSession) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "own"\n[spark]\n"spark.master" = "local[2]"\n')
    (tmp_path / "own.sql").write_text(SQL)
    stop = threading.Event()
    with hw.open(tmp_path) as project, open_server(project, ServeSettings(port=0, dashboard=False)) as server:
        running = threading.Thread(target=lambda: project.run(stop=stop))
        running.start()
        try:
            clients = [Client(server.url, number) for number in range(CLIENTS)]
            Client(server.url, CLIENTS).write_and_read(1)
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda client: client.write_and_read(-(-WRITES // CLIENTS)), clients))
        finally:
            stop.set()
            running.join(60)
        assert [missed for client in clients for missed in client.missed] == []
        assert project.read("payments").num_rows >= WRITES
