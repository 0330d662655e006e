"""What stages become, where nothing else shows it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headwater.errors import ViewFailed
from headwater.testing import scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
SESSIONS = """
CREATE STREAM clicks (visitor STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE MATERIALIZED VIEW visits WITH (emit = 'changes', horizon = '20 seconds') AS
SELECT visitor, window_start, window_end, count(*) AS n
FROM SESSION(TABLE clicks PARTITION BY visitor, DESCRIPTOR(at), INTERVAL '5' SECOND)
GROUP BY visitor, window_start, window_end;
"""


def clicks(*seconds: int) -> list[dict[str, str]]:
    return [{"visitor": "x", "at": (START + timedelta(seconds=second)).isoformat()} for second in seconds]


@pytest.mark.parametrize("per_batch", [1, None])
def test_a_session_longer_than_the_stated_horizon_stops_its_view(spark: object, per_batch: int | None) -> None:
    assert spark
    with scenario(SESSIONS) as found:
        found.append("clicks", clicks(1, 4, 8, 12, 16), commits=[2, 3])
        found.run(per_batch=per_batch)
        row = {"visitor": "x", "window_start": "2026-01-01T00:00:01Z", "window_end": "2026-01-01T00:00:21Z", "n": 5}
        found.expect("visits", [row])
        found.append("clicks", clicks(20, 24), commits=[1, 1])
        with pytest.raises(ViewFailed, match="a session is longer than the horizon that the view states"):
            found.run(per_batch=per_batch)
        found.expect("visits", [row])


HOPS = """
CREATE STREAM sales (shop STRING, amount INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE MATERIALIZED VIEW recent WITH (emit = 'changes', execution = 'settle'{}) AS
SELECT shop, window_end, sum(amount) AS total
FROM HOP(TABLE sales, DESCRIPTOR(at), INTERVAL '2' SECOND, INTERVAL '20' SECOND) GROUP BY shop, window_end;
"""


@pytest.mark.parametrize("every", ["", ", every = '4 seconds'"])
def test_what_panes_show_of_open_windows_is_found_again_if_it_was_lost(spark: object, every: str) -> None:
    assert spark
    with scenario(HOPS.format(every)) as found:
        for second in range(0, 30, 3):
            at = (START + timedelta(seconds=second)).isoformat()
            found.append("sales", [{"shop": "a", "amount": second, "at": at}])
            found.run(per_batch=1)
            if second % 2:
                for kept in found.folder.rglob("open-*.arrow"):
                    kept.unlink()
        step = found.project.plan().view("recent").physical.step
        assert step is not None and step.adds == "panes"
        assert found.project.verify("recent").identical


STACKED = """
CREATE STREAM sales (shop STRING, cash INT, card INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW paid AS
SELECT shop, way, amount FROM sales LATERAL VIEW stack(2, 'cash', cash, 'card', card) t AS way, amount;
"""


def test_a_generator_is_called_with_all_of_its_arguments(spark: object) -> None:
    assert spark
    with scenario(STACKED) as found:
        found.append("sales", [{"shop": "a", "cash": 1, "card": 2, "at": START.isoformat()}])
        found.run()
        ways = [("cash", 1), ("card", 2)]
        found.expect("paid", [{"shop": "a", "way": way, "amount": amount} for way, amount in ways])
