"""The API against its own description: whatever fits it, or nearly does, is answered as it says, and never with 5xx.

Values are those that the description lets expect, those that it doesn't, and odd ones: deep, huge, of other scripts.
`SCHEMA_EXAMPLES` says how many requests each route gets of each; more in `make chaos`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from tests.patience import PATIENCE
from tests.serve.conftest import Bank, event, serve

IN_CHAOS = os.environ.get("HYPOTHESIS_PROFILE") == "chaos"
EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", 300 if IN_CHAOS else 8))
TEXT = st.text(max_size=30)
NEVER_ENDS = "/changes"
STARTS_SPARK = ("/late", "/why")
"""Of a view that there is; others are refused before."""
LONGEST = 35.0
"""Seconds that an answer may take: a read waits 30 for a position at most."""
ODD = [
    "", "0", "-1", "1e400", "1e-999999999", "9" * 5_000, "NaN", "null", "\0", "..", "%ff", "[" * 1_000, '{"a":' * 500,
    "x" * 8_000, "'", "-9223372036854775809", "+1000000-01-01T00:00:00Z", "\U0001f6b0" * 500, "true,false", "W10",
]  # fmt: skip


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"sql": [value]}
    return value


ODD_BODIES: list[Any] = [
    None, [], 7, "x" * 100_000, deep(400), [[]] * 10_000, {"sql": "SELECT " + "(" * 2_000}, {"sql": "x" * 200_000},
    {"sql": "SELECT 1", "limit": 10**30}, {"sql": {"a": 1}, "native": "yes"}, {"\0": "\0"}, {"schema": "[" * 5_000},
    [event(number, amount="9" * 400) for number in range(300)], {"id": deep(300)},
]  # fmt: skip


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    for found in serve(tmp_path_factory.mktemp("schema") / "bank", longest_wait="1 second", heartbeat="1 second"):
        found.client.post("/streams/payments/events", json=event(1))
        found.write([("c1", "1.00", 1)])
        yield found


def ask(bank: Bank, case: schemathesis.Case) -> None:
    """Send a request: the answer is no mistake of ours, and comes in time."""
    began = time.monotonic()
    try:
        answered = case.call(base_url=str(bank.client.base_url).rstrip("/"), stream=True, timeout=PATIENCE)
    except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL, UnicodeError):
        return  # what a client refuses to send
    told = "" if case.path.endswith(NEVER_ENDS) and answered.status_code == 200 else answered.text
    answered.close() if hasattr(answered, "close") else None
    assert answered.status_code < 500 or answered.status_code == 504 or case.path == "/readyz", (
        answered.status_code, case.as_curl_command()[:3_000], told[:2_000],
    )  # fmt: skip
    assert time.monotonic() - began < LONGEST


def with_something_odd(data: st.DataObject, case: schemathesis.Case) -> None:
    """Put names that there are, and odd values, into a request."""
    known = "spend" if "/views" in case.path else "payments"
    names = ODD if case.path.endswith(STARTS_SPARK) else [known, known, known, *ODD]
    for name in case.path_parameters or {}:
        case.path_parameters[name] = data.draw(st.sampled_from([text for text in names if text not in ("", "..")]))
    for name in list(case.query or {}) or ["limit"]:
        case.query[name] = data.draw(st.sampled_from(ODD))
    if case.operation.body:
        case.body = data.draw(st.sampled_from(ODD_BODIES))


@pytest.mark.timeout(0 if IN_CHAOS else 300)
def test_what_fits_the_description_or_does_not_is_answered_and_never_with_a_mistake(bank: Bank) -> None:
    schema = schemathesis.openapi.from_url(f"{bank.client.base_url}/openapi.json")
    quietly = settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    seen = []
    for found in schema.get_all_operations():
        operation = found.ok()
        seen.append(operation.path)

        @given(case=operation.as_strategy())
        @quietly
        def fits(case: schemathesis.Case) -> None:
            ask(bank, case)

        @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        @quietly
        def does_not_fit(case: schemathesis.Case) -> None:
            ask(bank, case)

        @given(case=operation.as_strategy(), data=st.data())
        @quietly
        def is_odd(case: schemathesis.Case, data: st.DataObject) -> None:
            with_something_odd(data, case)
            ask(bank, case)

        fits()
        if operation.path_parameters or operation.query or operation.body:
            with suppress(Unsatisfiable):  # any text fits
                does_not_fit()
            is_odd()
    assert len(seen) >= 25
    assert {"/views/{name}/changes", "/views/{name}/late", "/views/{name}/replay", "/promote"} <= set(seen)


@given(name=TEXT, value=TEXT)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_parameter_of_a_view_is_a_mistake_of_ours(bank: Bank, name: str, value: str) -> None:
    found = bank.client.get("/views/spend", params=httpx.QueryParams([(name, value), ("card.in", value)]))
    assert found.status_code in (200, 400, 422), found.text
