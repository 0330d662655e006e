"""Administration over HTTP: wishes are written down, and seen by everyone."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from headwater.serve.tokens import Tokens
from tests.serve.conftest import Bank, event, serve
from tests.serve.test_access import bearer


def test_a_view_is_paused_and_resumed(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=event(1))
    bank.write([("c1", "1.00", 1)])
    paused = bank.client.post("/views/Spend/pause", params={"reason": "maintenance"})
    assert (paused.status_code, paused.json()["view"]) == (202, "spend")
    assert paused.json()["paused"]["reason"] == "maintenance"
    view = bank.client.get("/status").json()["views"][0]
    assert (view["state"], view["paused"]["since"]) == ("paused", paused.json()["paused"]["since"])
    assert 'headwater_view_paused{view="spend"} 1.0' in bank.client.get("/metrics").text
    assert bank.client.get("/views/spend").status_code == 200, "what it has is served"
    bank.client.post("/views/untouched/pause")
    assert bank.client.get("/readyz").json() == {"ready": True, "stopped": 0, "empty": 0, "unsound": 0}, (
        "as its operator wants it"
    )
    resumed = bank.client.post("/views/spend/resume")
    assert (resumed.status_code, resumed.json()) == (202, {"view": "spend", "paused": None})
    assert bank.client.get("/status").json()["views"][0]["state"] == "at rest"


def test_a_replay_is_asked_for(bank: Bank) -> None:
    found = bank.client.post("/views/spend/replay")
    assert (found.status_code, found.json()) == (202, {"view": "spend", "replay": "asked"})
    assert bank.project.wishes.is_replay_asked("spend")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/views/spend/pause?reason=" + "x" * 501, 422),
        ("/views/nope/pause", 404),
        ("/views/nope/resume", 404),
        ("/views/nope/replay", 404),
        ("/views/nope/promote", 404),
        ("/views/nope/rollback", 404),
        ("/views/spend/promote?max_diff=2", 422),
        ("/views/payments/pause", 404),
        ("/streams/nope/pause", 404),
        ("/streams/spend/pause", 404),
        ("/streams/payments/pause", 400),
        ("/streams/payments/resume", 400),
    ],
)
def test_what_cannot_be_administered_is_refused(bank: Bank, path: str, status: int) -> None:
    found = bank.client.post(path)
    assert (found.status_code, found.json()["who"]) == (status, "caller")


def test_changed_declarations_are_promoted_or_nothing_is(bank: Bank) -> None:
    file = bank.project.folder / "bank.sql"
    declared = file.read_text()
    file.write_text(declared + "CREATE MATERIALIZED VIEW cards AS SELECT card FROM payments;")
    told = {
        "added": ["cards"],
        "changed": [],
        "removed": [],
        "unchanged": ["spend", "untouched"],
        "topics": [],
        "outlets": [],
    }
    assert bank.client.post("/promote?dry_run=true").json() == told
    assert bank.client.get("/views/cards").json()["title"] == 'the project has no view "cards"'
    assert bank.client.post("/promote").json() == told
    assert bank.client.get("/views/cards").json()["title"] == 'view "cards" has no rows yet'
    file.write_text(declared + "CREATE MATERIALIZED VIEW cards AS SELECT colour FROM payments;")
    refused = bank.client.post("/promote")
    assert (refused.status_code, refused.json()["who"]) == (409, "author")
    assert [finding["line"] for finding in refused.json()["findings"]] == [declared.count("\n") + 1]
    file.write_text(declared.replace("id STRING NOT NULL", "id STRING"))
    refused = bank.client.post("/promote")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:headwater:error:promotion-refused")
    assert bank.client.get("/views/cards").json()["title"] == 'view "cards" has no rows yet'


def test_only_operators_administer_and_only_what_they_may(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "exposed", host="0.0.0.0"):
        tokens = Tokens(bank.project.folder)
        writer, keeper = tokens.create("writer", "write"), tokens.create("keeper", "operate", views=["spend"])
        for action in ("pause", "resume", "replay"):
            assert bank.client.post(f"/views/spend/{action}", headers=bearer(writer)).status_code == 403
            assert bank.client.post(f"/views/untouched/{action}", headers=bearer(keeper)).status_code == 403
            assert bank.client.post(f"/views/spend/{action}", headers=bearer(keeper)).status_code == 202
        assert bank.client.post("/promote", headers=bearer(keeper)).status_code == 403, "it is about the whole"


def test_who_did_what_is_told_to_operators_of_the_whole(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "exposed", host="0.0.0.0"):
        tokens = Tokens(bank.project.folder)
        keeper, reader = tokens.create("keeper", "operate"), tokens.create("reader", "read")
        assert bank.client.post("/views/spend/pause?reason=migration", headers=bearer(keeper)).status_code == 202
        assert bank.client.post("/views/spend/resume", headers=bearer(reader)).status_code == 403
        bank.project.admin.resume("spend")
        assert bank.client.get("/audit", headers=bearer(reader)).status_code == 403
        acts = bank.client.get("/audit", headers=bearer(keeper)).json()["acts"]
        me = f"user {getpass.getuser()}"
        assert [(act["actor"], act["act"], act["subject"]) for act in acts] == [
            (me, "token create", "keeper"),
            (me, "token create", "reader"),
            ("token keeper", "pause view", "spend"),
            (me, "resume view", "spend"),
        ]
        assert acts[2]["details"] == {"reason": "migration"}
        text = (bank.project.folder / ".headwater" / "audit.jsonl").read_text()
        assert keeper not in text and keeper.removeprefix("hw_") not in text


def test_versions_are_listed_and_swaps_refused_where_there_is_one(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=event(1))
    bank.write([("c1", "1.00", 1)])
    listed = bank.client.get("/views/spend/versions").json()
    assert (listed["held"], [(one["version"], one["served"]) for one in listed["versions"]]) == (False, [(1, True)])
    for path in ("promote", "rollback"):
        refused = bank.client.post(f"/views/spend/{path}")
        assert (refused.status_code, "version" in refused.json()["title"] + refused.text) == (409, True)
    assert bank.client.get("/views/spend/compare").status_code == 409
    assert bank.client.post("/views/spend/replay", params={"hold": True}).status_code == 202
    assert bank.client.get("/views/spend/versions").json()["held"]
    assert bank.client.get("/plan").json()["changes"] is True
