"""Several views at one cut, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.serve.tokens import Tokens
from tests.serve.conftest import Bank, event, serve
from tests.serve.test_access import bearer


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    for bank in serve(tmp_path_factory.mktemp("cut") / "bank"):
        bank.client.post("/streams/payments/events", json=event(1))
        bank.write([("c1", "1.00", 1), ("c2", "2.00", 1)])
        yield bank


def test_rows_come_with_the_commits_that_they_are_true_for(filled: Bank) -> None:
    found = filled.client.get("/read?views=Spend").json()
    assert found["commits"] == {"payments": 1}
    (view,) = found["views"]
    assert (view["view"], view["version"], view["batch"], view["more"]) == ("spend", 1, 0, False)
    assert sorted(row["card"] for row in view["rows"]) == ["c1", "c2"]
    (view,) = filled.client.get("/read?views=spend&CARD=c2&spent=2.00&window_end=2026-01-01T12:00:00Z").json()["views"]
    assert [row["spent"] for row in view["rows"]] == ["2.00"]
    (view,) = filled.client.get("/read?views=spend&limit=1").json()["views"]
    assert (len(view["rows"]), view["more"]) == (1, True)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("views=", 400),
        ("views=spend,nope", 404),
        ("views=spend,untouched", 404),
        ("views=spend&colour=red", 400),
        ("views=spend&n=many", 400),
        ("views=spend&limit=0", 400),
        ("views=spend&timeout=soon", 400),
        ("views=" + ",".join(f"v{number}" for number in range(21)), 400),
    ],
)
def test_what_cannot_be_read_says_why(filled: Bank, query: str, status: int) -> None:
    found = filled.client.get(f"/read?{query}")
    assert (found.status_code, found.json()["who"]) == (status, "caller")


def test_a_token_must_be_for_each_of_the_views(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "exposed", host="0.0.0.0"):
        bank.write([("c1", "1.00", 1)])
        token = Tokens(bank.project.folder).create("board", "read", views=["spend"])
        assert bank.client.get("/read?views=spend", headers=bearer(token)).status_code == 200
        assert bank.client.get("/read?views=spend,untouched", headers=bearer(token)).status_code == 403
