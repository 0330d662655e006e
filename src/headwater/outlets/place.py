"""From the URL of an outlet's target to the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import SettingsRefused
from headwater.model import TargetKind
from headwater.outlets.encode import encoder_of
from headwater.outlets.message import Messages
from headwater.outlets.protocol import Target
from headwater.plan import PlannedOutlet

OpenTarget = Callable[[PlannedOutlet, "Surroundings"], Target]
"""How a project comes to its targets: `open_target`, or something that does more."""


@dataclass(frozen=True)
class Surroundings:
    """What a target may need to know of where it is: the project's name and folder, and settings of headwater.toml.

    `clusters` are those of Kafka; `storage` has the options of the object store, if the project has one.
    """

    project: str
    folder: Path
    clusters: Mapping[str, Mapping[str, str]]
    storage: Mapping[str, str]


def open_target(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    """The target of an outlet, before it is opened."""
    return _KINDS[planned.outlet.kind](planned, surroundings)


def _delta(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    """`delta://exports/spend` is a path from the project's folder, `delta:///var/x` another, `delta://s3://x` a URL."""
    from headwater.outlets.delta import DeltaTarget

    place = planned.outlet.place
    location = place if "://" in place else str(surroundings.folder / place)
    return DeltaTarget(surroundings.project, planned, location, dict(surroundings.storage) if "://" in place else {})


def _kafka(planned: PlannedOutlet, surroundings: Surroundings) -> Target:
    messages = Messages(surroundings.project, planned, encoder_of(planned.outlet))
    try:
        from headwater.outlets.kafka import KafkaTarget
    except ModuleNotFoundError as cause:
        raise SettingsRefused(
            f'outlet "{planned.name}" needs the package {cause.name}',
            detail="It is not installed: Kafka is an extra.",
            hint="Run `pip install 'headwater[kafka]'`.",
            outlet=planned.name,
        ) from cause
    options = surroundings.clusters.get(planned.outlet.cluster, {})
    return KafkaTarget(surroundings.project, planned, messages, options)


_KINDS: Mapping[TargetKind, OpenTarget] = {"kafka": _kafka, "delta": _delta}
