"""The registry: what is registered, what is refused, and that a log is all it needs."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import HeadwaterError, SchemaIncompatible, SchemaRefused, UnknownSchema
from headwater.log import TopicLog, open_storage
from headwater.schemas.known import TOPIC, Draft, Reference
from headwater.schemas.level import Level
from headwater.schemas.registry import SchemaRegistry

GOLDEN = Path(__file__).parents[1] / "intake" / "kafka" / "golden"


@pytest.fixture
def log(tmp_path: Path) -> TopicLog:
    return TopicLog(TOPIC, open_storage(str(tmp_path)))


@pytest.fixture
def registry(log: TopicLog) -> SchemaRegistry:
    return SchemaRegistry(log)


def avro(*fields: Any, name: str = "Payment") -> Draft:
    return Draft("AVRO", json.dumps({"type": "record", "name": name, "fields": list(fields)}))


ID = {"name": "id", "type": "string"}
AMOUNT = {"name": "amount", "type": "int"}
NOTE = {"name": "note", "type": "string", "default": ""}


def test_a_schema_has_one_number_and_a_version_in_each_subject(registry: SchemaRegistry) -> None:
    first, same = registry.register("a", avro(ID)), registry.register("a", Draft("AVRO", avro(ID).text + " \n"))
    second, other = registry.register("a", avro(ID, NOTE)), registry.register("b", avro(ID, NOTE))
    assert [(one.version, one.number) for one in (first, same, second, other)] == [(1, 1), (1, 1), (2, 2), (1, 2)]
    assert [(one.subject, one.version) for one in registry.places(2)] == [("a", 2), ("b", 1)]
    assert registry.find("a", avro(ID)).version == 1
    assert registry.subjects() == ["a", "b"]


def test_a_log_is_all_that_it_needs(registry: SchemaRegistry, log: TopicLog) -> None:
    registry.register("a", avro(ID))
    registry.register("a", avro(ID, NOTE))
    registry.register("b", avro(ID))
    registry.set_level(Level.FULL, "a")
    registry.delete("a", 1)
    again = SchemaRegistry(TopicLog(TOPIC, log.storage))
    assert [one.version for one in again.versions("a")] == [2]
    assert [one.version for one in again.versions("a", deleted=True)] == [1, 2]
    assert (again.level("a"), again.level("b"), again.level()) == (Level.FULL, None, Level.BACKWARD)
    assert again.register("a", avro(ID, NOTE, {**NOTE, "name": "more"})).number == 3


@pytest.mark.parametrize(
    ("level", "versions", "new", "fits"),
    [
        (Level.BACKWARD, [avro(ID)], avro(ID, NOTE), True),
        (Level.BACKWARD, [avro(ID)], avro(ID, AMOUNT), False),
        (Level.BACKWARD, [avro(ID, AMOUNT)], avro(ID), True),
        (Level.FORWARD, [avro(ID)], avro(ID, AMOUNT), True),
        (Level.FORWARD, [avro(ID, AMOUNT)], avro(ID), False),
        (Level.FULL, [avro(ID)], avro(ID, NOTE), True),
        (Level.FULL, [avro(ID, AMOUNT)], avro(ID), False),
        (Level.BACKWARD, [avro(ID), avro(ID, NOTE)], avro(ID, {**NOTE, "type": "bytes", "default": ""}), True),
        (Level.BACKWARD, [avro(ID), avro(ID, AMOUNT)], avro(AMOUNT), True),
        (Level.BACKWARD_TRANSITIVE, [avro(ID), avro(ID, AMOUNT)], avro(AMOUNT), False),
        (Level.FORWARD, [avro(AMOUNT), avro(ID)], avro(ID), True),
        (Level.FORWARD_TRANSITIVE, [avro(AMOUNT), avro(ID)], avro(ID, name="Payment"), True),
        (Level.NONE, [avro(ID)], avro(AMOUNT, name="Other"), True),
        (Level.FULL_TRANSITIVE, [avro(ID)], Draft("JSON", "{}"), False),
    ],
)
def test_a_new_version_gets_on_with_earlier_ones_as_far_as_is_asked(
    registry: SchemaRegistry, level: Level, versions: list[Draft], new: Draft, fits: bool
) -> None:
    registry.set_level(Level.NONE)
    for version in versions:
        registry.register("a", version)
    registry.set_level(level, "a")
    if fits:
        registry.register("a", new)
    else:
        assert registry.check("a", new)
        with pytest.raises(SchemaIncompatible, match="Nothing was registered"):
            registry.register("a", new)
        assert len(registry.versions("a")) == len(versions)


def test_deleting_hides_a_version_and_for_good_removes_it(registry: SchemaRegistry) -> None:
    registry.register("a", avro(ID))
    registry.register("a", avro(ID, NOTE))
    assert refusal(lambda: registry.delete("a", 1, permanent=True)) == 40407
    assert registry.delete("a", 1) == [1]
    assert refusal(lambda: registry.version("a", 1)) == 40402
    assert registry.numbered(1).text == avro(ID).text  # messages that name it are still read
    assert registry.delete("a", 1, permanent=True) == [1]
    assert refusal(lambda: registry.numbered(1)) == 40403
    assert refusal(lambda: registry.delete("a", permanent=True)) == 40405
    assert registry.delete("a") == [2]
    assert refusal(lambda: registry.versions("a")) == 40401
    assert registry.delete("a", permanent=True) == [2]
    assert registry.subjects(deleted=True) == []
    assert (registry.register("a", avro(ID)).version, registry.register("b", avro(AMOUNT)).number) == (1, 3)


def refusal(action: Any) -> Any:
    with pytest.raises(HeadwaterError) as refused:
        action()
    return refused.value.fields["status"]


def test_a_schema_may_refer_to_others_which_stay_for_as_long_as_it_does(registry: SchemaRegistry) -> None:
    till, payments = ((GOLDEN / f"{name}.proto").read_text() for name in ("till", "payments"))
    registry.register("till", Draft("PROTOBUF", till))
    found = registry.register("payments", Draft("PROTOBUF", payments, (Reference("till.proto", "till", 1),)))
    assert registry.referring("till", 1) == [found.number]
    assert refusal(lambda: registry.delete("till", 1)) == 42206
    assert refusal(lambda: registry.register("x", Draft("PROTOBUF", payments))) == 42201
    unknown = Draft("PROTOBUF", payments, (Reference("till.proto", "till", 7),))
    assert refusal(lambda: registry.register("x", unknown)) == 42201
    registry.delete("payments")
    registry.delete("payments", permanent=True)
    assert registry.delete("till", 1) == [1]


@pytest.mark.parametrize(
    "draft",
    [
        Draft("AVRO", "{"),
        Draft("AVRO", '{"type": "recrd"}'),
        Draft("JSON", "[]"),
        Draft("PROTOBUF", "message {"),
        Draft("PROTOBUF", 'syntax = "proto3"; message A { B b = 1; }'),
        Draft("THRIFT", "{}"),
    ],
)
def test_what_is_no_schema_is_refused(registry: SchemaRegistry, draft: Draft) -> None:
    with pytest.raises(SchemaRefused):
        registry.register("a", draft)
    with pytest.raises(UnknownSchema):
        registry.versions("a")


def test_protobuf_is_the_same_as_text_and_as_descriptor(registry: SchemaRegistry) -> None:
    golden = json.loads((GOLDEN / "protobuf.json").read_text())["schemas"]
    till = registry.register("till", Draft("PROTOBUF", golden["1"]["schema"]))
    assert registry.register("till", Draft("PROTOBUF", (GOLDEN / "till.proto").read_text())) == till


def test_two_processes_give_no_number_twice(registry: SchemaRegistry, log: TopicLog) -> None:
    other = SchemaRegistry(TopicLog(TOPIC, log.storage))

    def fill(which: SchemaRegistry, name: str) -> None:
        for number in range(10):
            which.register(f"{name}{number}", avro({"name": f"{name}{number}", "type": "int"}))

    threads = [threading.Thread(target=fill, args=pair) for pair in ((registry, "x"), (other, "y"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [registry.version(subject, 1).number for subject in registry.subjects()]
    assert sorted(numbers) == list(range(1, 21))
