"""Options of other systems, and ours: a table for each says which of its options is which of ours.

A *rule* takes the value of an option and gives options of ours, or raises a `Lost` that says why it can't and what to
write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from headwater.convert.drafts import Topic
from headwater.convert.words import Reader
from headwater.sql.foreign import CONNECTORS as FOREIGN_CONNECTORS
from headwater.sql.foreign import OPTIONS as FOREIGN_OPTIONS

Rule = Callable[[str], dict[str, str]]


_ISO_UNITS = {"H": "hours", "M": "minutes", "S": "seconds"}


class Lost(Exception):
    """A value that can't be carried over; the text says what to write."""


def read_options(group: Reader | None) -> dict[str, str]:
    """The options in parentheses, by their names in lower case."""
    options: dict[str, str] = {}
    for part in group.parts() if group else ():
        first = part.at
        part.skip_to("=", "=>")
        if not part.words:
            continue
        last = part.at if part else part.at - 1  # a value may stand behind its name without a sign
        name = "".join(word.text for word in part.words[first:last]).lower()
        part.at = last
        part.take_any("=", "=>")
        if part:
            options[name] = part.words[part.at].text if len(part.words) == part.at + 1 else part.rest()
    return options


def take_options(topic: Topic, given: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
    """Give a stream or table the options that are those of another system; what has no counterpart is noted."""
    topic.given |= given
    for name, value in given.items():
        rule = rules.get(name)
        try:
            if rule is None:
                instead = FOREIGN_OPTIONS.get(name) or _of_broker(name) or "There is no such option here."
                raise Lost(f"'{name}' = '{_hidden(name, value)}' was left out. {instead}")
            topic.options |= rule(value)
        except Lost as lost:
            topic.notes.append(str(lost))
        except ValueError:
            topic.notes.append(f"'{name}' = '{_hidden(name, value)}' was left out: it can't be read.")


def _of_broker(name: str) -> str | None:
    prefix, _, rest = name.partition(".")
    if prefix in ("s3", "gcs", "azblob") and rest:
        return "How an object store is reached is said in headwater.toml, [storage]."
    return f'Put it into headwater.toml: [kafka.main] "{rest}" = "…".' if prefix == "properties" and rest else None


def _hidden(name: str, value: str) -> str:
    return "…" if re.search(r"password|secret|jaas|token|credential", name) else value


# Rules


def to(option: str) -> Rule:
    """The option of ours that takes the same value."""
    return lambda value: {option: value}


def nothing(_: str) -> dict[str, str]:
    """An option that says what goes without saying."""
    return {}


def connector(value: str) -> dict[str, str]:
    """The connector of ours; none for one that we don't have."""
    ours = {
        "kafka": "kafka", "upsert-kafka": "kafka", "redpanda": "kafka", "filesystem": "folder", "posix_fs": "folder",
        "s3": "folder", "gcs": "folder", "postgres-cdc": "postgres",
    }.get(value.lower())  # fmt: skip
    if ours is None:
        hint = (
            FOREIGN_CONNECTORS.get(value.lower())
            or "Append its events with `headwater append`, or let Kafka have them."
        )
        raise Lost(f"connector '{value}' has no counterpart. {hint}")
    return {"connector": ours}


def form(value: str) -> dict[str, str]:
    """The format of messages, with what it comes in."""
    name = value.lower()
    if name.startswith("debezium-"):
        return form(name.removeprefix("debezium-")) | {"envelope": "debezium"}
    known = {
        "json": "json", "json_sr": "json-schema", "csv": "csv", "avro": "avro", "avro-confluent": "avro",
        "protobuf": "protobuf", "protobuf-confluent": "protobuf", "raw": "raw", "bytes": "raw", "parquet": "parquet",
        "delimited": "csv", "kafka": "raw", "text": "raw", "jsonfile": "json",
    }  # fmt: skip
    if name not in known:
        raise Lost(f"format '{value}' is none of ours: there are json, avro, protobuf, json-schema, csv and raw.")
    return {"format": known[name]}


def start(value: str) -> dict[str, str]:
    """The place where the first run begins."""
    known = {"earliest": "earliest", "earliest-offset": "earliest", "latest": "latest", "latest-offset": "latest"}
    if value.lower() in ("timestamp", "specific-offsets"):  # another option says it
        return {}
    if value.lower() not in known:
        raise Lost(
            f"start '{value}' was left out: reading begins at the earliest; write start = 'latest', or an instant."
        )
    return {"start": known[value.lower()]}


def start_at(value: str) -> dict[str, str]:
    """A start at an instant in milliseconds."""
    return {"start": datetime.fromtimestamp(int(value) / 1000, UTC).isoformat().replace("+00:00", "Z")}


def start_offsets(value: str) -> dict[str, str]:
    """A start at offsets, as Flink writes them: `partition:0,offset:42;partition:1,offset:7`."""
    pairs = re.findall(r"partition:(\d+),offset:(\d+)", value)
    return {"start": ", ".join(f"{partition}:{offset}" for partition, offset in pairs)}


def topic_pattern(value: str) -> dict[str, str]:
    """Topics by a pattern."""
    return {"topic": value if value.startswith("^") else f"^{value}"}


def folder(value: str) -> dict[str, str]:
    """A path without the scheme that says that it is one."""
    return {"path": re.sub(r"^file:(//)?", "", value)}


def bucket(value: str) -> dict[str, str]:
    """The bucket of an object store."""
    return {"path": f"s3://{value}"}


def length(option: str) -> Rule:
    """A duration as Flink, Java and people write it: `10 s`, `10s`, `PT10S`; a number is milliseconds."""

    def rule(value: str) -> dict[str, str]:
        iso = re.fullmatch(r"PT(\d+)([HMS])", value.upper())
        if iso:
            return {option: f"{iso[1]} {_ISO_UNITS[iso[2]]}"}
        if value.isdigit():
            return {option: f"{value} milliseconds"}
        units = {
            "s": "seconds",
            "sec": "seconds",
            "min": "minutes",
            "m": "minutes",
            "h": "hours",
            "d": "days",
            "ms": "milliseconds",
        }
        parts = re.fullmatch(r"(\d+)\s*([a-z]+)", value.lower())
        return {option: f"{parts[1]} {units.get(parts[2], parts[2])}"} if parts else {option: value}

    return rule


def part_of_url(_: str) -> dict[str, str]:
    """A part of the address of a database; `address` puts them together."""
    return {}


def take_address(topic: Topic, parts: Mapping[str, str]) -> None:
    """Give a table of PostgreSQL its url and its name there, from the parts that others have an option for.

    A password is never written down: it is a variable of the environment.
    """

    def part(*names: str) -> str:
        return next((parts[name] for name in names if name in parts), "")

    host, port = part("hostname", "host"), part("port") or "5432"
    user, database = part("username", "user") or "postgres", part("database-name", "database.name", "database")
    topic.options["url"] = f"postgresql://{user}:${{PASSWORD}}@{host}:{port}/{database}"
    schema = part("schema-name", "schema.name") or "public"
    table = part("table-name", "table.name") or topic.name
    topic.options["table"] = table if "." in table else f"{schema}.{table}"
    topic.notes.append("The password is the variable PASSWORD of the environment: declarations have none.")


KAFKA: Mapping[str, Rule] = {
    "connector": connector,
    "topic": to("topic"),
    "properties.bootstrap.server": to("brokers"),
    "properties.bootstrap.servers": to("brokers"),
    "format": form,
    "value.format": form,
    "scan.startup.mode": start,
}
"""The options that are alike wherever Kafka is read."""
_PARTS_OF_ADDRESS = (
    "hostname", "port", "username", "password", "database-name", "database.name", "schema-name", "schema.name",
    "table-name", "table.name",
)  # fmt: skip
POSTGRES: Mapping[str, Rule] = {
    **dict.fromkeys(_PARTS_OF_ADDRESS, part_of_url),
    "slot.name": to("slot"),
    "publication.name": to("publication"),
    "decoding.plugin.name": nothing,
}
"""Tables that are copied from PostgreSQL, in Flink and RisingWave."""
