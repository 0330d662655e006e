"""The API against its own description: whatever fits it, or nearly does, is answered as it says, and never with 5xx."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.serve.conftest import Bank, event, serve

TEXT = st.text(max_size=30)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    for found in serve(tmp_path_factory.mktemp("schema") / "bank"):
        found.client.post("/streams/payments/events", json=event(1))
        found.write([("c1", "1.00", 1)])
        yield found


def test_what_fits_the_description_is_answered_and_never_with_a_mistake(bank: Bank) -> None:
    schema = schemathesis.openapi.from_url(f"{bank.client.base_url}/openapi.json")
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/changes", "/late")):  # one never ends, the other starts Spark
            continue
        seen += 1

        @given(case=operation.as_strategy())
        @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        def ask(case: schemathesis.Case) -> None:
            answered = case.call(base_url=str(bank.client.base_url).rstrip("/"))
            assert answered.status_code < 500 or case.path == "/readyz", (answered.status_code, answered.text)

        ask()
    assert seen >= 10


@given(name=TEXT, value=TEXT)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_parameter_of_a_view_is_a_mistake_of_ours(bank: Bank, name: str, value: str) -> None:
    found = bank.client.get("/views/spend", params=httpx.QueryParams([(name, value), ("card.in", value)]))
    assert found.status_code in (200, 400, 422), found.text
