"""A topic of a real Kafka broker that an outlet sends to, and what consumers see of it."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.patience import PATIENCE


class KafkaTopic:
    """A topic of its own for a test."""

    def __init__(self, brokers: str, partitions: int = 1, **config: str) -> None:
        self.brokers, self.name = brokers, f"spend-{uuid4().hex[:8]}"
        self.admin = AdminClient({"bootstrap.servers": brokers})
        self.create(partitions, **config)

    @property
    def settings(self) -> str:
        return f'[kafka.main]\n"bootstrap.servers" = "{self.brokers}"\n'

    def create(self, partitions: int = 1, **config: str) -> None:
        self.admin.create_topics([NewTopic(self.name, partitions, 1, config=config)])[self.name].result(PATIENCE)

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result(PATIENCE)

    def deny(self, operation: AclOperation) -> None:
        """Forbid everybody to do something with the topic."""
        everybody = "User:*", "*", operation, AclPermissionType.DENY
        acl = AclBinding(ResourceType.TOPIC, self.name, ResourcePatternType.LITERAL, *everybody)
        self.admin.create_acls([acl])[acl].result(PATIENCE)

    def messages(self, isolation: str = "read_committed") -> list[Message]:
        """Every message that a consumer sees, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.brokers,
                "group.id": uuid4().hex,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "fetch.wait.max.ms": 10,
            }
        )
        count = len(consumer.list_topics(self.name, 10).topics[self.name].partitions)
        consumer.assign([TopicPartition(self.name, partition, 0) for partition in range(count)])
        found, ended = [], 0
        while ended < count:
            message = consumer.poll(10)
            assert message is not None, "nothing comes"
            if message.error() is None:
                found.append(message)
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended += 1
        consumer.close()
        return sorted(found, key=lambda one: one.partition())

    def values(self) -> list[Any]:
        """The values of all messages, read as JSON."""
        return [None if one.value() is None else json.loads(one.value()) for one in self.messages()]
