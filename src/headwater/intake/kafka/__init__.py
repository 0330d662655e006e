"""The Kafka intake: partitions are sources, and the next offset of each is part of the commit that has its rows."""

from headwater.intake.kafka.intake import Halting, KafkaIntake, Taken

__all__ = ["Halting", "KafkaIntake", "Taken"]
