"""A project to be mistreated: every operator that keeps state, and random events with everything that can be wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = 'name = "shop"\n[spark]\n"spark.master" = "local[2]"\n'
STREAMS = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '3' SECOND) WITH (key = 'shop');
CREATE STREAM visits (id STRING, shop STRING, visitor STRING, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '3' SECOND) WITH (key = 'shop', unique = 'id');
"""
VIEWS = {
    "tumbling": """WITH (emit = 'changes', grace = '10 seconds') AS
        SELECT shop, window_end, sum(amount) AS total, count(*) AS n, first(id) AS one, collect_list(id) AS every
        FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '5' SECOND) GROUP BY shop, window_end""",
    "sessions": """AS SELECT shop, window_start, window_end, count(*) AS n
        FROM SESSION(TABLE visits PARTITION BY shop, DESCRIPTOR(at), INTERVAL '2' SECOND)
        GROUP BY shop, window_start, window_end""",
    "hopping_once": """WITH (emit = 'final') AS SELECT window_end, count(*) AS n, count(DISTINCT visitor) AS visitors
        FROM HOP(TABLE visits, DESCRIPTOR(at), INTERVAL '4' SECOND, INTERVAL '8' SECOND) GROUP BY window_end""",
    "both": """WITH (emit = 'final', grace = '5 seconds') AS SELECT shop, window_end, count(*) AS n
        FROM TUMBLE(TABLE (SELECT shop, at FROM sales UNION ALL SELECT shop, at FROM visits), DESCRIPTOR(at),
        INTERVAL '10' SECOND) GROUP BY shop, window_end""",
    "bought": """WITH (emit = 'final') AS SELECT v.id AS visit, s.id AS sale, s.amount
        FROM visits v LEFT JOIN sales s ON v.shop = s.shop AND s.at BETWEEN v.at AND v.at + INTERVAL '2' SECOND""",
}


def make(folder: Path, views: list[str]) -> Path:
    """The project in a folder, with some of its views."""
    folder.mkdir()
    (folder / "headwater.toml").write_text(SETTINGS)
    declared = (f"CREATE MATERIALIZED VIEW {name} {VIEWS[name]};\n" for name in views)
    (folder / "project.sql").write_text(STREAMS + "".join(declared))
    return folder


class Traffic:
    """Events of both streams as they might arrive: out of order, late, doubled, in commits of any size, and silence."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._clock = {"sales": 0.0, "visits": 0.0}
        self._sent: list[dict[str, Any]] = []
        self._number = 0

    def append(self, project: Project, commits: int) -> None:
        """Some commits of each stream, one after the other."""
        for _ in range(commits):
            topic = self._chance.choice(("sales", "visits"))
            if self._chance.random() < 0.1:
                project.log.tick(topic, START + timedelta(seconds=self._clock[topic]))
            else:
                project.append(topic, list(self._events(topic)))

    def _events(self, topic: str) -> Iterator[dict[str, Any]]:
        for _ in range(self._chance.randint(1, 12)):
            if topic == "visits" and self._sent and self._chance.random() < 0.15:
                yield self._chance.choice(self._sent[-30:])
                continue
            self._clock[topic] += self._chance.random()
            behind = self._chance.choice((0, 0, 0, 1, 4, 20)) * self._chance.random()
            self._number += 1
            event = {
                "id": str(self._number),
                "shop": self._chance.choice(("a", "b", "c", None)),
                "at": START + timedelta(milliseconds=round(1000 * max(0.001, self._clock[topic] - behind))),
            }
            if topic == "sales":
                yield event | {"amount": f"{self._chance.randint(1, 999)}.{self._chance.randint(10, 99)}"}
            else:
                self._sent.append(event | {"visitor": self._chance.choice(("x", "y", "z"))})
                yield self._sent[-1]
