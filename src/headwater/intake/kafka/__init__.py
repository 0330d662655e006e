"""The Kafka intake: partitions are sources, and the next offset of each is part of the commit that has its rows."""

from headwater.intake.kafka.inlet import KafkaInlet

__all__ = ["KafkaInlet"]
