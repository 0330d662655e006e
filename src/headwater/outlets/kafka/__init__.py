"""Sending to Kafka: each change once, for consumers that read what is committed."""

from headwater.outlets.kafka.target import KafkaTarget

__all__ = ["KafkaTarget"]
