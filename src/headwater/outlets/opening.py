"""From the URL of an outlet's target to the target.

Kinds of targets that aren't ours come from installed packages, by an entry point of the group `headwater.outlets` whose
name is the scheme of their URLs: a function that takes what `open_target` takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headwater.errors import SettingsRefused
from headwater.installed import extra, open_installed
from headwater.log import Storage
from headwater.model import TargetKind
from headwater.outlets.encode import Encoder, JsonEncoder
from headwater.outlets.framed import Format, FramedEncoder
from headwater.outlets.holding import Holding
from headwater.outlets.json_schema import JsonSchema
from headwater.outlets.message import Messages
from headwater.outlets.protocol import Target
from headwater.plan import PlannedOutlet
from headwater.schemas.registry import SchemaRegistry
from headwater.sql.outlets import GROUP
from headwater.waiting import Halting

OpenTarget = Callable[[PlannedOutlet, "Surroundings"], Target]
"""The way in which a project comes to its targets: `open_target`, or something that does more."""


@dataclass(frozen=True)
class Surroundings:
    """The surroundings that a target may need to know: the project's name and folder, and settings of headwater.toml.

    `clusters` are those of Kafka, `webhooks` the headers of requests, `storage` the options of the object store, if the
    project has one. `places` keeps the places of targets that keep none. `schemas` is the project's own registry.
    """

    project: str
    folder: Path
    clusters: Mapping[str, Mapping[str, str]]
    webhooks: Mapping[str, Mapping[str, str]]
    storage: Mapping[str, str]
    places: Storage
    pause: Halting
    now: Callable[[], datetime]
    chance: Callable[[], float]
    schemas: SchemaRegistry | None = None


def open_target(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    """The target of an outlet, before it is opened."""
    return _KINDS[planned.outlet.kind](planned, surroundings)


def _delta(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    """`delta://exports/spend` is a path from the project's folder, `delta:///var/x` another, `delta://s3://x` a URL."""
    from headwater.outlets.delta import DeltaTarget

    address = planned.outlet.address
    location = address if "://" in address else str(surroundings.folder / address)
    return DeltaTarget(surroundings.project, planned, location, dict(surroundings.storage) if "://" in address else {})


def _webhook(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    with extra("webhook", f'outlet "{planned.name}"', outlet=planned.name):
        from headwater.outlets.webhook import Waiting, WebhookTarget
    messages = Messages(surroundings.project, planned, JsonEncoder())
    holding = Holding(planned.name, surroundings.places)
    waiting = Waiting(surroundings.pause, surroundings.now, surroundings.chance)
    return WebhookTarget(planned, messages, _headers(planned, surroundings), holding, waiting)


def _headers(planned: PlannedOutlet, surroundings: Surroundings) -> Mapping[str, str]:
    section = planned.outlet.headers
    if section is None:
        return {}
    if section not in surroundings.webhooks:
        raise SettingsRefused(
            f'outlet "{planned.name}" sends headers that headwater.toml doesn\'t have',
            detail=f"There is no section [webhooks.{section}].",
            hint=f'Write [webhooks.{section}] and, for example, Authorization = "Bearer ${{TOKEN}}".',
            outlet=planned.name,
        )
    return surroundings.webhooks[section]


def _kafka(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    with extra("kafka", f'outlet "{planned.name}"', outlet=planned.name):
        from headwater.outlets.kafka import KafkaTarget
    options = surroundings.clusters.get(planned.outlet.cluster, {})
    values, keys = _encoders(planned, options, surroundings.schemas)
    messages = Messages(surroundings.project, planned, values, keys)
    return KafkaTarget(surroundings.project, planned, messages, options)


def _encoders(
    planned: PlannedOutlet, options: Mapping[str, str], schemas: SchemaRegistry | None
) -> tuple[Encoder, Encoder]:
    """The encoders of the values of messages, and of their keys."""
    outlet = planned.outlet
    if outlet.format == "json":
        return JsonEncoder(), JsonEncoder()
    with extra("kafka", f'outlet "{planned.name}"', outlet=planned.name):
        form = _format(outlet.format)
        from headwater.outlets.registered import registers_of
    registers = registers_of(outlet, options, schemas)
    name = re.sub(r"\W|^(?=\d)", "_", planned.view.name, flags=re.ASCII)
    value = FramedEncoder(form, registers, f"{outlet.address}-value", name)
    return value, FramedEncoder(form, registers, f"{outlet.address}-key", f"{name}_key")


def _format(name: str) -> Format:
    if name == "avro":
        from headwater.outlets.avro import Avro

        return Avro()
    if name == "protobuf":
        from headwater.outlets.protobuf import Protobuf

        return Protobuf()
    return JsonSchema()


def _foreign(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    title = f'the target of outlet "{planned.name}"'
    opened: Target = open_installed(GROUP, planned.outlet.scheme, title, planned, surroundings, outlet=planned.name)
    return opened


_KINDS: Mapping[TargetKind, OpenTarget] = {
    "kafka": _kafka,
    "delta": _delta,
    "webhook": _webhook,
    "foreign": _foreign,
}
