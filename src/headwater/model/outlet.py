"""An outlet: where the changes of a view are sent on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from headwater.errors import Origin

Envelope = Literal["change", "row", "upsert", "debezium"]
"""The part of a change that is sent: all that is known of it; the row that it added; the row under its key, nothing
if it is gone; or what Debezium would send."""
Accumulation = Literal["accumulate", "discard"]
"""The figure sent of a total that changes: the new total, or the difference from what was sent before."""
TargetKind = Literal["kafka", "delta", "webhook", "foreign"]
"""The kinds of targets that an outlet can send to; a foreign one comes from a package of somebody else."""
SCHEMES: dict[str, TargetKind] = {"kafka": "kafka", "delta": "delta", "https": "webhook", "http": "webhook"}
"""The kind of a target, by the scheme of its URL."""


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """A declared outlet: it sends what `view` emits to the target that the URL `to` names.

    `start` is what the first run begins with: all that the view has (`earliest`), or what changes from then on
    (`latest`). `key` are the columns that a message of Kafka is keyed by; empty: those that tell the view's rows apart.
    `brokers` are addresses, else those of `cluster`, a section of headwater.toml. Schemas of Avro, Protobuf and JSON
    Schema go to `registry`, an address, else that of the cluster, else the project's own. For a webhook: `per_request`
    is how many changes share a request, `attempts` how often one is sent, `timeout` how long its answer may take, and
    `headers` the section of headwater.toml whose headers go with it. `view_origin` is where the view is named.
    """

    name: str
    view: str
    to: str
    envelope: Envelope = "change"
    format: Literal["json", "avro", "protobuf", "json-schema"] = "json"
    registry: str | None = None
    accumulation: Accumulation = "accumulate"
    start: Literal["earliest", "latest"] = "earliest"
    key: tuple[str, ...] = ()
    brokers: str | None = None
    cluster: str = "main"
    per_request: int = 1
    attempts: int = 10
    timeout: timedelta = timedelta(seconds=10)
    headers: str | None = None
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    view_origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def scheme(self) -> str:
        """The scheme of its target's URL."""
        return self.to.partition("://")[0].lower()

    @property
    def kind(self) -> TargetKind:
        """The kind of target that it sends to."""
        return SCHEMES.get(self.scheme, "foreign")

    @property
    def address(self) -> str:
        """The rest of its target's URL behind the scheme: a topic, a path, an address."""
        return self.to.partition("://")[2]
