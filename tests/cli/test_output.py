"""Lines of JSON: the same spelling as over HTTP."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headwater.cli.output import print_json
from headwater.serve.encode import to_json

RECORDS: list[dict[str, Any]] = [
    {"raw": b"text", "other": b"\x00\xff", "price": Decimal("9.50"), "at": datetime(2026, 1, 1, tzinfo=UTC)},
    {"day": date(2026, 1, 1), "took": timedelta(seconds=90), "text": "ü", "nothing": None, "n": 7},
    {"ratio": math.nan, "most": math.inf, "parts": [{"raw": b"x", "least": -math.inf}], "at": date(2026, 1, 1)},
]


@pytest.mark.parametrize("record", RECORDS)
def test_values_are_spelled_as_over_http(record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    print_json(record)
    assert json.loads(capsys.readouterr().out) == json.loads(to_json(record))
