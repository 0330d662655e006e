"""Messages of Kafka read again, between positions that the log has moved over before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime

import pyarrow as pa

from headwater.errors import RetentionGap
from headwater.intake.decode import Decoder
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.piece import KafkaPiece
from headwater.intake.kafka.ranges import Range, messages_in
from headwater.intake.run import joined, sources_of
from headwater.kafka.client import Client, Partition
from headwater.log.producer import Move
from headwater.model import Kafka, Topic
from headwater.schemas.written import Schemas

_PARTITION = re.compile(r"(?P<topic>.+)\[(?P<number>\d+)\]")


def read_again(
    topic: Topic, options: Mapping[str, str], group: str, schemas: Schemas, moves: Sequence[Move], arrived_at: datetime
) -> tuple[pa.Table, pa.Array]:
    """The rows of messages that were moved over, in the order of the moves, and the source of each."""
    assert isinstance(topic.intake, Kafka)
    kafka, decoder, codec = topic.intake, Decoder(topic), codec_of(topic, options, schemas)
    parts = [(str(decoder.topic.name), decoder.schema.empty_table())]
    for move in moves:
        with closing(Client(kafka, options, group)) as client:  # of its own: none hears of another's end
            range_ = _range(client, kafka, move)
            if range_ is None:
                continue
            for messages, after in messages_in(client, kafka, range_):
                piece = KafkaPiece(range_.partition, messages, after, kafka, codec)
                parts.append((piece.source, piece.decode(decoder, arrived_at, ()).rows))
    return joined(parts), sources_of(parts)


def _range(client: Client, kafka: Kafka, move: Move) -> Range | None:
    """The messages that a move went over; None if it says something else than how far a partition was read."""
    named = _PARTITION.fullmatch(move.producer.partition(":")[2])
    if named is None or move.before is None:
        return None
    partition = Partition(named["topic"], int(named["number"]))
    low = client.bounds(partition).low
    if move.before < low:
        raise RetentionGap(
            f'"{partition}" no longer has what is lost',
            detail=f"Its first offset is {low}, and {move.before} is needed. Nothing was changed.",
            hint="Put it back from a backup (--from URL), or declare it lost (--declare-lost).",
            topic=kafka.topic,
        )
    return Range(partition, move.before, move.after, 0)
