"""Messages of one partition on their way into a commit."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from confluent_kafka import Message

from headwater.intake.decode import Decoded, Decoder
from headwater.intake.kafka.gather import messages_of, with_envelopes
from headwater.intake.kafka.tombstones import with_deletions
from headwater.intake.messages import Codec
from headwater.kafka.client import Partition
from headwater.model import Kafka, Table


@dataclass(frozen=True)
class KafkaPiece:
    """Messages of a partition in the order of their offsets, and its next offset behind them."""

    partition: Partition
    messages: Sequence[Message]
    after: int
    kafka: Kafka
    codec: Codec | None

    @property
    def source(self) -> str:
        """`payments[0]`."""
        return str(self.partition)

    @property
    def where(self) -> str:
        """The partition: a dead letter is at `payments[0]:42`."""
        return str(self.partition)

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The messages as rows and dead letters, which keep what came beside a message's value."""
        wanted = [message for message in self.messages if message.offset() not in without] if without else self.messages
        messages = messages_of(decoder.topic, self.kafka, wanted)
        with _without_collecting() if self.codec is not None else nullcontext():
            read = messages if self.codec is None else self.codec.read(messages)
            if isinstance(decoder.topic, Table):
                read = with_deletions(decoder.topic, self.codec, read, wanted)
            decoded = decoder.decode(read, source=self.source, where=self.where, arrived_at=arrived_at)
        return replace(decoded, dead=with_envelopes(decoded.dead, wanted))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """No collection of garbage meanwhile: so many records that live for a moment would have it go through everything
    that the process holds, again and again, which costs as much as reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
