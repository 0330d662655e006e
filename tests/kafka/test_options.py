"""A cluster's options are refused alike, whoever has them."""

from __future__ import annotations

import pytest

from headwater.errors import SettingsRefused
from headwater.kafka.options import connection, registry
from headwater.model import Kafka, Outlet

DECLARED = [Kafka(topic="payments"), Outlet(name="sales", view="spend", to="kafka://sales")]
BROKERS = {"bootstrap.servers": "host:9092"}


@pytest.mark.parametrize("declared", DECLARED, ids=["intake", "outlet"])
def test_brokers_must_be_named_and_what_is_ours_must_not_be_set(declared: Kafka | Outlet) -> None:
    with pytest.raises(SettingsRefused, match=r"the brokers of .* are not known"):
        connection(declared, {}, ["acks"])
    with pytest.raises(SettingsRefused, match='cluster "main" sets the option "acks"') as refused:
        connection(declared, BROKERS | {"acks": "0"}, ["acks"])
    assert refused.value.fields == {"cluster": "main"}


@pytest.mark.parametrize("declared", DECLARED, ids=["intake", "outlet"])
def test_the_options_of_brokers_and_those_of_the_registry_stand_side_by_side(declared: Kafka | Outlet) -> None:
    section = BROKERS | {"sasl.username": "ann", "schema.registry.url": "http://host:8081"}
    assert connection(declared, section, []) == BROKERS | {"sasl.username": "ann"}
    assert registry(declared, section) == {"url": "http://host:8081"}
    assert registry(declared, BROKERS) is None


def test_a_declaration_comes_before_its_cluster() -> None:
    declared = Kafka(topic="payments", brokers="near:9092", registry="http://near:8081")
    assert connection(declared, BROKERS, []) == {"bootstrap.servers": "near:9092"}
    assert registry(declared, {"schema.registry.url": "http://far:8081"}) == {"url": "http://near:8081"}
