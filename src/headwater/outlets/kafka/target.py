"""A Kafka topic as the target of an outlet: one transaction for each delivery, with the place of the outlet in it.

Each outlet has a transactional id. Whoever opens the outlet takes the id over: what an older run had begun is undone,
and what it begins is refused. A consumer that reads what is committed (`isolation.level=read_committed`) sees each
change once, and those of a delivery together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, Producer

from headwater.errors import HeadwaterError, MessageTooLarge, TargetReplaced
from headwater.kafka.admin import Described
from headwater.kafka.answers import FENCED, logger
from headwater.outlets.kafka.cluster import Cluster
from headwater.outlets.kafka.progress import Progress, name_of, read
from headwater.outlets.message import Message, Messages
from headwater.outlets.protocol import Bury, Delivery, Place, Refused
from headwater.outlets.withdrawn import withdrawn
from headwater.plan import PlannedOutlet
from headwater.store.refusals import this_process

_SENT = {
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # as Java's clients do, so that they find a key in the same partition
    "linger.ms": 5,
    "delivery.report.only.error": True,
}
_CONSEQUENCES = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Errors of messages that only went down with their transaction."""
_QUEUE_SECONDS = 1.0
_CLOSE_SECONDS = 5.0


class KafkaTarget:
    """A `Target` that is a Kafka topic."""

    def __init__(self, project: str, planned: PlannedOutlet, messages: Messages, options: Mapping[str, str]) -> None:
        self._cluster = Cluster(planned.outlet, options)
        self._messages = messages
        self._name = name_of(project, planned.name)
        self._topic = Described(0, ())
        self._producer: Producer | None = None
        self._refusal: KafkaError | None = None

    def open(self) -> Place | None:
        """Take the transactional id over, and read how far was sent; who is fenced can read who has it now."""
        self._topic = self._cluster.describe()
        self._cluster.make(self._name)
        with self._cluster.translated("to send in transactions"):
            self._producer = Producer(self._options(), logger=logger)
            self._producer.init_transactions()
        known = read(self._cluster, self._name)
        if known is not None:
            self._check(known.topic)
        place = known.place if known else None
        self._transact([], place, _nothing)
        return place

    def _options(self) -> dict[str, object]:
        limit = self._cluster.limit()
        own = {"transactional.id": self._name, **_SENT}
        # so that a message that the brokers would refuse is refused here, alone, and no batch of them is too large
        return {**self._cluster.options, **own} | ({"message.max.bytes": limit} if limit else {})

    def _check(self, known: Described) -> None:
        """Refuse a topic that isn't the one that was sent to."""
        fewer = len(self._topic.partitions) < len(known.partitions)
        other = known.identity and self._topic.identity and known.identity != self._topic.identity
        if fewer or other:
            what = f"It had {len(known.partitions)} partitions and has {len(self._topic.partitions)}." if fewer else ""
            raise TargetReplaced(
                f'the Kafka topic "{self._cluster.topic}" of outlet "{self._cluster.outlet.name}" was made anew',
                detail=f"What was sent before is not in it. {what}".strip() + " Nothing was sent to it.",
                hint="Declare an outlet of another name for it: it begins with what the view has.",
                outlet=self._cluster.outlet.name,
                topic=self._cluster.topic,
            )

    def deliver(self, delivery: Delivery, bury: Bury) -> None:
        """Send the changes and the place in one transaction."""
        gone = withdrawn(delivery) if self._cluster.outlet.envelope == "row" else []
        self._transact(self._messages.of(delivery), delivery.place, bury, gone)

    def _transact(
        self, messages: Iterable[Message], place: Place | None, bury: Bury, gone: Sequence[Refused] = ()
    ) -> None:
        producer = self._sender
        progress = Progress(place, this_process(), self._topic)
        try:
            producer.begin_transaction()
            refused = [*gone, *(refusal for message in messages if (refusal := self._send(message)) is not None)]
            if refused:
                bury(refused)
            producer.produce(self._name, key=self._name, value=progress.as_json(), partition=0)
            producer.commit_transaction()
        except KafkaException as failed:
            raise self._failed(self._cause(failed.args[0])) from failed

    def _cause(self, problem: KafkaError) -> KafkaError:
        """The reason for which a producer has ended: a message is refused as fatal, a transaction with the cause."""
        if problem.code() == KafkaError._FATAL:
            try:
                self._sender.commit_transaction()
            except KafkaException as failed:
                problem = failed.args[0]
        return problem

    def _send(self, message: Message) -> Refused | None:
        """Give a message to the producer; what is too large is refused."""
        headers: list[tuple[str, str | bytes | None]] = list(message.headers.items())
        while True:
            try:
                self._sender.produce(
                    self._cluster.topic, key=message.key, value=message.value, headers=headers, on_delivery=self._told
                )
                return None
            except BufferError:  # as much waits to be sent as may
                self._sender.poll(_QUEUE_SECONDS)
            except KafkaException as failed:
                if failed.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                value = message.value or b""
                reason = f"the message has {len(value):,} bytes, more than the topic takes"
                return Refused(message.change_id, message.key, value, reason, MessageTooLarge)

    def _told(self, problem: KafkaError | None, _: object) -> None:
        """Remember why a message was not taken: what ends its transaction says only that one was not."""
        if problem is not None and problem.code() not in _CONSEQUENCES:
            self._refusal = problem

    def _failed(self, problem: KafkaError) -> HeadwaterError:
        if problem.code() in FENCED:
            known = None
            with suppress(HeadwaterError):
                known = read(self._cluster, self._name)
            return self._cluster.fenced(known.holder if known else "Another run")
        return self._cluster.error(self._refusal or problem, "changes")

    @property
    def _sender(self) -> Producer:
        assert self._producer is not None, "a target is opened first"
        return self._producer

    def close(self) -> None:
        """Undo what was begun and not committed."""
        if self._producer is None:
            return
        with suppress(KafkaException):
            self._producer.abort_transaction(_CLOSE_SECONDS)
        self._producer = None


def _nothing(_: Sequence[Refused]) -> None:
    """Nothing is refused where nothing is sent."""
