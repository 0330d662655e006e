"""The options of a cluster: a section `[kafka.NAME]` of headwater.toml, which intakes and outlets share.

An option of librdkafka is passed on as it is written there, but for those that exactly-once rests on. Those of the
schema registry stand beside them, behind `schema.registry.`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.errors import SettingsRefused
from headwater.model import Kafka, Outlet

REGISTRY = "schema.registry."
"""The beginning of the options of the schema registry."""
BROKERS = "bootstrap.servers"


def connection(declared: Kafka | Outlet, options: Mapping[str, str], own: Iterable[str]) -> dict[str, str]:
    """The options by which brokers are reached; `SettingsRefused` if they name none, or set what is ours: `own`."""
    owned = next((name for name in own if name in options), None)
    if owned is not None:
        raise SettingsRefused(
            f'cluster "{declared.cluster}" sets the option "{owned}"',
            detail="That each event is taken in, and each change sent, exactly once rests on it.",
            hint=f"Take it out of [kafka.{declared.cluster}] in headwater.toml.",
            cluster=declared.cluster,
        )
    brokers = declared.brokers or options.get(BROKERS)
    if not brokers:
        raise SettingsRefused(
            f"the brokers of {_title(declared)} are not known",
            detail=f"Its declaration names none, and headwater.toml has none in [kafka.{declared.cluster}].",
            hint=f"Say brokers = 'host:9092' in its WITH, or \"{BROKERS}\" in [kafka.{declared.cluster}].",
            cluster=declared.cluster,
        )
    broker_options = {name: value for name, value in options.items() if not name.startswith(REGISTRY)}
    return {**broker_options, BROKERS: brokers}


def registry(declared: Kafka | Outlet, options: Mapping[str, str]) -> dict[str, str] | None:
    """The options by which the registry is reached that is declared, else that of the cluster; None if there is none.

    >>> registry(Kafka(topic="payments"), {"schema.registry.url": "http://host:8081", "bootstrap.servers": "host:9092"})
    {'url': 'http://host:8081'}
    """
    own = {name.removeprefix(REGISTRY): value for name, value in options.items() if name.startswith(REGISTRY)}
    url = declared.registry or own.get("url")
    return {**own, "url": url} if url else None


def _title(declared: Kafka | Outlet) -> str:
    return f'outlet "{declared.name}"' if isinstance(declared, Outlet) else f'the Kafka topic "{declared.topic}"'
