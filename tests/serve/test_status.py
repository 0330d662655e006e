"""How the whole is, over HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from headwater.errors import CallError, HeadwaterError, InternalError, StoreUnavailable
from headwater.serve.problem import problem_of, status_of
from headwater.store.sound import mark
from tests.serve.conftest import Bank, event


def test_the_status_names_every_topic_and_view(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=[event(1), event(2, amount="much")])
    bank.write([("c1", "1.00", 1)], commit=0)
    found = bank.client.get("/status").json()
    (topic,) = found["topics"]
    assert (topic["topic"], topic["head"], topic["rows"], topic["dead"]) == ("payments", 1, 1, 1)
    assert [(source["name"], source["holds"]) for source in topic["sources"]] == [("http", True)]
    spend, untouched = found["views"]
    assert (spend["state"], spend["lag"], spend["ledger"]["remainder"]) == ("at rest", 1, 0)
    assert (untouched["state"], untouched["version"], untouched["ledger"]) == ("empty", None, None)


def test_the_process_is_alive_before_its_views_are_ready(bank: Bank) -> None:
    assert bank.client.get("/healthz").json() == {"alive": True}
    found = bank.client.get("/readyz")
    assert (found.status_code, found.json()) == (503, {"ready": False, "stopped": 0, "empty": 2, "unsound": 0})


def test_a_view_of_which_rows_were_dropped_is_not_served(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=event(1))
    bank.write([("c1", "1.00", 1)])
    assert bank.client.get("/views/spend").status_code == 200
    store = bank.project.views.opened().ask.store("spend")
    epoch = store.open(bank.target, bank.project.plan().view("spend").fingerprint)
    mark(store, bank.target, epoch, 1, dropped=7)
    for way in ("/views/spend", "/views/spend/changes"):
        found = bank.client.get(way)
        assert found.status_code == 500 and found.json()["type"] == "urn:headwater:error:rows-dropped", way
        assert "headwater replay spend" in found.json()["hint"]
    ready = bank.client.get("/readyz")
    assert (ready.status_code, ready.json()["unsound"]) == (503, 1)
    (spend, _) = bank.client.get("/status").json()["views"]
    assert (spend["state"], spend["unsound"]) == ("unsound", {"version": 1, "dropped": 7})
    assert 'headwater_view_unsound{view="spend"} 1.0' in bank.client.get("/metrics").text
    firing = [alert["detail"] for alert in bank.client.get("/alerts").json()["alerts"]]
    assert firing == ["Spark dropped 7 rows of version 1: headwater replay spend"]


def test_metrics_are_what_prometheus_reads(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=event(1))
    bank.write([("c1", "1.00", 1)], commit=0)
    families = {found.name: found for found in text_string_to_metric_families(bank.client.get("/metrics").text)}
    samples = {(s.name, *sorted(s.labels.values())): s.value for family in families.values() for s in family.samples}
    assert samples["headwater_topic_rows_total", "payments"] == 1
    assert samples["headwater_view_lag_commits", "spend"] == 1
    assert samples["headwater_store_lag_commits", "main", "spend"] == 1
    assert samples["headwater_view_events_total", "spend", "used"] == 1
    assert samples["headwater_view_ledger_remainder", "spend"] == 0


def test_alerts_are_told_with_their_rules(bank: Bank) -> None:
    bank.client.post("/streams/payments/events", json=[event(1), event(2, amount="much")])
    found = bank.client.get("/alerts").json()
    assert [rule["when"] for rule in found["rules"]] == ["remainder", "stopped", "dead", "held"]
    (alert,) = found["alerts"]
    assert (alert["rule"], alert["kind"], alert["name"], alert["state"]) == (
        "dead letters", "topic", "payments", "firing",
    )  # fmt: skip
    assert [shown["rule"] for shown in bank.client.get("/status").json()["alerts"]] == ["dead letters"]
    firing = 'headwater_alert_firing{kind="topic",name="payments",rule="dead letters"} 1.0'
    assert firing in bank.client.get("/metrics").text


def test_lineage_leads_from_streams_to_stores(bank: Bank) -> None:
    found = bank.client.get("/lineage").json()
    assert {node["name"]: node["kind"] for node in found["nodes"]} == {
        "payments": "stream", "spend": "view", "untouched": "view", "store main": "store",
    }  # fmt: skip
    assert {"from": "payments", "to": "spend"} in found["edges"]
    assert {"from": "spend", "to": "store main"} in found["edges"]


def test_what_the_server_does_not_have_is_a_problem_too(bank: Bank) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("DELETE", "/status", 405)):
        found = bank.client.request(method, path)
        assert (found.status_code, found.headers["content-type"]) == (status, "application/problem+json")
        assert (found.json()["status"], found.json()["who"]) == (status, "caller")


def test_every_error_has_a_status_and_someone_who_must_act() -> None:
    cases: list[tuple[HeadwaterError, int, str]] = [
        (CallError("x"), 400, "caller"),
        (StoreUnavailable("x"), 503, "operator"),
        (InternalError("x"), 500, "headwater"),
    ]
    for error, status, who in cases:
        assert (status_of(error), problem_of(error)["who"]) == (status, who)


def test_what_is_deployed_asks_for_metrics_that_exist(bank: Bank) -> None:
    deployed = Path(__file__).parent.parent.parent / "deploy"
    yaml.safe_load((deployed / "compose.yaml").read_text())
    yaml.safe_load((deployed / "prometheus.yml").read_text())
    (group,) = yaml.safe_load((deployed / "alerts.yml").read_text())["groups"]
    panels = json.loads((deployed / "grafana" / "headwater.json").read_text())["panels"]
    asked = [rule["expr"] for rule in group["rules"]] + [
        target["expr"] for panel in panels for target in panel["targets"]
    ]
    bank.client.post("/streams/payments/events", json=event(1))
    given = set(re.findall(r"^# TYPE (headwater_\w+) ", bank.client.get("/metrics").text, re.MULTILINE))
    named = {name for expression in asked for name in re.findall(r"headwater_\w+", expression)}
    assert len(named) >= 8
    assert named <= given
