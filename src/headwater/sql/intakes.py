"""The connectors by which a topic's events are fetched, and the options that each of them takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.errors import Finding
from headwater.findings import KeyNotInOutput, OptionRefused, UnknownOption
from headwater.sql.intake_options import INTAKE
from headwater.sql.nodes import Option
from headwater.sql.option_values import CONNECTORS
from headwater.sql.options import OPTIONS, option_text

MESSAGE_TYPES = {
    "message_value": (pa.string(), pa.binary()),
    "message_key": (pa.string(), pa.binary()),
    "message_time": (model.INSTANT,),
    "message_headers": (pa.map_(pa.string(), pa.binary()),),
    "message_id": (pa.string(),),
    "message_type": (pa.string(),),
    "transaction": (pa.string(),),
}
"""The types of the columns that take a message's value as it is, and what is kept beside it."""
OF_OUTBOX = ("message_id", "message_key", "message_type", "message_value", "message_headers")
"""The options for columns that only an outbox of PostgreSQL has something for."""
SHARED = frozenset({"connector", *(part.name for part in fields(model.Intake))})
"""The options that every connector takes."""
_SCHEMES = {"PostgreSQL": ("postgres", "postgresql"), "MariaDB or MySQL": ("mysql", "mariadb")}
_WORDS = frozenset(kind.name for kind in INTAKE)


class Refuse(Protocol):
    """The way in which a reader of a declaration says that something in it is refused."""

    def __call__(self, kind: type[Finding], node: exp.Expr, what: str, **reason: str | None) -> None:
        """Refuse a node: `what` follows the title of the declaration."""


@dataclass(frozen=True)
class TopicReading:
    """A topic as its intake is read: its columns, how a name becomes one of them, and how things are refused."""

    columns: Sequence[model.Column]
    resolve: Callable[[type[Finding], exp.Expr, str, str | None], str]
    refuse: Refuse
    is_table: bool


def options_of_package(options: Sequence[Option]) -> list[Option]:
    """The options that are for an installed package to read: all but ours, if its connector is named."""
    connector = next((option_text(option.expression) for option in options if option.name.lower() == "connector"), None)
    if connector is None or connector.strip().lower() in CONNECTORS:
        return []
    ours = ({kind.name for kind in (*OPTIONS["stream"], *OPTIONS["table"])} - _WORDS) | SHARED
    return [option for option in options if option.name.lower() not in ours]


def read_intake(
    reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any], beside: Sequence[Option]
) -> model.Intake | None:
    """The intake that a topic declares by these options; `beside` are those that a package reads."""
    connector = values.pop("connector", None)
    if connector is None:
        for word in values if "connector" not in options else ():
            what = f'gives option "{word}" and no connector'
            reading.refuse(OptionRefused, options[word], what, hint="Say connector = 'kafka' beside it, for example.")
        return None
    if connector not in CONNECTORS:
        own = tuple((option.name.lower(), option_text(option.expression)) for option in beside)
        return model.Connector(name=connector, options=own, **values)
    kind = _KINDS[connector]
    _refuse_others(reading, options, connector, kind)
    known = {word: value for word, value in values.items() if word in {part.name for part in fields(kind)}}
    return _READERS[connector](reading, options, known)


def _refuse_others(
    reading: TopicReading, options: Mapping[str, Option], connector: str, kind: type[model.Intake]
) -> None:
    """Find options of other connectors."""
    known = [part.name for part in fields(kind)]
    for word in options:
        if word in _WORDS and word != "connector" and word not in known:
            hint = f"With it there are the options {', '.join(known)}."
            reading.refuse(UnknownOption, options[word], f"has no option \"{word}\" with '{connector}'", hint=hint)


def _kafka(reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any]) -> model.Kafka:
    if "topic" not in values and "topic" not in options:
        reading.refuse(OptionRefused, options["connector"], "names no topic of Kafka", hint="Say topic = '…'.")
    for word in MESSAGE_TYPES:
        if word in values:
            values[word] = _message_column(reading, options[word].expression, word, values[word])
    _refuse_gaps(reading, options, values, "snapshot")
    _refuse_format(reading, values, options)
    _refuse_archive(reading, values, options)
    return model.Kafka(**{"topic": "", **values})


def _folder(reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any]) -> model.Folder:
    if "path" not in options:
        reading.refuse(OptionRefused, options["connector"], "names no folder", hint="Say path = '…'.")
    _refuse_gaps(reading, options, values, "snapshot")
    if values.get("format") in ("protobuf", "json-schema", "raw"):
        hint = "A folder has files in 'json', 'csv', 'tsv', 'parquet', 'arrow' or 'avro'."
        reading.refuse(OptionRefused, options["format"], f"reads files in '{values['format']}'", hint=hint)
    return model.Folder(**{"path": "", **values})


def _refuse_gaps(reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any], refused: str) -> None:
    """Refuse a way to do with what is gone that another connector has."""
    if values.get("gaps") == refused:
        hint = f"Say gaps = '{'skip' if refused == 'snapshot' else 'snapshot'}', or leave it out."
        reading.refuse(OptionRefused, options["gaps"], f"can't do gaps = '{refused}'", hint=hint)
        del values["gaps"]


def _refuse_address(
    reading: TopicReading, options: Mapping[str, Option], values: Mapping[str, Any], what: str, table: str, example: str
) -> None:
    """Refuse a database that isn't named, and an address that has a password or is that of another one."""
    for word, named in (("url", "${SHOP_DB}"), ("table", table)):
        if word not in options:
            hint = f"Say {word} = '{named}'."
            reading.refuse(OptionRefused, options["connector"], f"names no {word} of {what}", hint=hint)
    url = values.get("url", "")
    schemes = "|".join(re.escape(scheme) for scheme in _SCHEMES[what])
    if _PASSWORD.search(url):
        detail = "Declarations are kept with the code, and a password isn't."
        hint = f"Put it into an environment variable, and write url = '{example}'."
        reading.refuse(OptionRefused, options["url"].expression, "has a password in its url", detail=detail, hint=hint)
    elif url and not re.match(rf"({schemes})://|\$\{{", url):
        hint = f"Write url = '{example}', or a variable that has it: '${{SHOP_DB}}'."
        reading.refuse(OptionRefused, options["url"].expression, f"has no url of {what}", hint=hint)


def _mysql(reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any]) -> model.Mysql:
    example = "mysql://user:${PASSWORD}@host/database"
    _refuse_address(reading, options, values, "MariaDB or MySQL", "shop.customers", example)
    _refuse_gaps(reading, options, values, "skip")
    if not reading.is_table:
        hint = "Write CREATE TABLE, with the PRIMARY KEY of the table."
        reading.refuse(OptionRefused, options["connector"], "takes in a table of a database as a stream", hint=hint)
    for word in ("message_time", "transaction"):
        if word in values:
            values[word] = _message_column(reading, options[word].expression, word, values[word])
    return model.Mysql(**{"url": "", "table": "", **values})


def _postgres(reading: TopicReading, options: Mapping[str, Option], values: dict[str, Any]) -> model.Postgres:
    example = "postgresql://user:${PASSWORD}@host/database"
    _refuse_address(reading, options, values, "PostgreSQL", "public.customers", example)
    _refuse_gaps(reading, options, values, "skip")
    _refuse_outbox(reading, options)
    for word in ("message_time", "transaction", *OF_OUTBOX):
        if word in values:
            values[word] = _message_column(reading, options[word].expression, word, values[word])
    return model.Postgres(**{"url": "", "table": "", **values})


def _refuse_outbox(reading: TopicReading, options: Mapping[str, Option]) -> None:
    """Refuse an outbox of a table, a table of a stream, and what only one of the two has."""
    if "outbox" not in options:
        for word in ("poll", *OF_OUTBOX):
            if word in options:
                hint = "Say outbox = '…' with the type of the aggregates, in a CREATE STREAM, or leave it out."
                reading.refuse(OptionRefused, options[word], f'gives option "{word}" and no outbox', hint=hint)
        if not reading.is_table:
            hint = (
                "Write CREATE TABLE, with the PRIMARY KEY of the table, or, if its rows are events, outbox = '…' with "
                "the type of the aggregates that they are of."
            )
            reading.refuse(OptionRefused, options["connector"], "takes in a table of PostgreSQL", hint=hint)
        return
    if "columns" in options:
        hint = "Leave it out: the columns of an outbox are known."
        reading.refuse(OptionRefused, options["columns"], 'gives option "columns" beside an outbox', hint=hint)
    if reading.is_table:
        hint = "Write CREATE STREAM, and WATERMARK FOR … AS …."
        reading.refuse(OptionRefused, options["outbox"], "takes in the events of an outbox", hint=hint)
    if "message_id" not in options:
        hint = "Declare event_id STRING and say message_id = 'event_id': by its id an event is known again."
        reading.refuse(OptionRefused, options["outbox"], "has no column for the ids of its events", hint=hint)
    for word in ("slot", "publication") if "poll" in options else ():
        if word in options:
            hint = "Leave it out, or leave poll out: an outbox is read by queries or by a slot."
            reading.refuse(OptionRefused, options[word], f'gives option "{word}" beside poll', hint=hint)


_KINDS: Mapping[str, type[model.Intake]] = {
    "kafka": model.Kafka,
    "folder": model.Folder,
    "postgres": model.Postgres,
    "mysql": model.Mysql,
}
_PASSWORD = re.compile(r"://[^/@\s]*:(?!\$\{)[^/@\s]+@|password=(?!\$\{)")


def _refuse_format(reading: TopicReading, values: Mapping[str, Any], options: Mapping[str, Option]) -> None:
    """Refuse options of one format beside another."""
    form = values.get("format", "json")
    if form in ("tsv", "parquet", "arrow"):
        hint = "Messages are in 'json', 'avro', 'protobuf', 'json-schema', 'csv' or 'raw'."
        reading.refuse(OptionRefused, options["format"], f"reads messages in '{form}'", hint=hint)
    if form == "raw" and "message_value" not in options:
        hint = "Say message_value = '…' with a column that takes the bytes."
        reading.refuse(OptionRefused, options["format"], "takes messages as they are and into no column", hint=hint)
    if form in ("raw", "csv") and "envelope" in values:
        hint = "An envelope is read from 'json', 'avro', 'protobuf' or 'json-schema'."
        reading.refuse(OptionRefused, options["envelope"], f"reads an envelope from '{form}'", hint=hint)
    if isinstance(values.get("start"), tuple) and len(model.Kafka(topic=values.get("topic", "")).topics) != 1:
        hint = "Offsets are those of one topic: name one, or begin at an instant."
        reading.refuse(OptionRefused, options["start"], "begins several topics at the same offsets", hint=hint)
    _refuse_version_source(reading, values, options, form)
    for word in ("fields", "delimiter"):
        if word in values and form != "csv":
            reading.refuse(OptionRefused, options[word], f"gives option \"{word}\" beside format '{form}'")


def _refuse_version_source(
    reading: TopicReading, values: Mapping[str, Any], options: Mapping[str, Option], form: str
) -> None:
    way = str(values.get("version_from", "")).partition(" ")[0]
    what = hint = ""
    if way == "field" and form in ("csv", "raw"):
        what, hint = f"takes versions from a field of '{form}'", "Take them from a header."
    elif way == "registry" and form not in ("avro", "protobuf", "json-schema"):
        what, hint = f"takes versions of '{form}' from a registry", "Take them from a header or a field."
    elif way == "registry" and len(model.Kafka(topic=values.get("topic", "")).topics) != 1:
        what = "takes versions of several topics from a registry"
        hint = "Versions are those of the subject of one topic: name one, or take them from a header."
    if what:
        reading.refuse(OptionRefused, options["version_from"], what, hint=hint)


def _refuse_archive(reading: TopicReading, values: Mapping[str, Any], options: Mapping[str, Option]) -> None:
    """Refuse an archive behind which it isn't clear where to go on."""
    if "archive" not in options:
        for word in ("archive_format", "archive_offset"):
            if word in options:
                reading.refuse(OptionRefused, options[word], f'gives option "{word}" and no archive')
        return
    columns = values.get("archive_offset", ())
    if columns and len(columns) != 2:
        hint = "Say archive_offset = 'partition, offset' with the names of two columns."
        reading.refuse(OptionRefused, options["archive_offset"], "gives other than two columns for offsets", hint=hint)
    if not columns and not isinstance(values.get("start"), datetime):
        hint = "Say archive_offset = 'partition, offset', or start = '2026-01-31T12:00Z'."
        what = "has an archive and doesn't say where to go on behind it"
        reading.refuse(OptionRefused, options["archive"], what, hint=hint)
    if len(model.Kafka(topic=values.get("topic", "")).topics) != 1:
        hint = "An archive is that of one topic: name one."
        reading.refuse(OptionRefused, options["archive"], "has an archive of several topics", hint=hint)


def _message_column(reading: TopicReading, node: exp.Expr, word: str, name: str) -> str:
    resolved = reading.resolve(KeyNotInOutput, node, f'option "{word}"', name)
    column = next((column for column in reading.columns if column.name == resolved), None)
    takes = MESSAGE_TYPES[word]
    if column is not None and column.type not in takes:
        what = f'gives option "{word}" a column of type {model.spell_type(column.type)}'
        hint = f"Declare it as {' or '.join(map(model.spell_type, takes))}."
        reading.refuse(OptionRefused, node, what, hint=hint)
    return resolved


_READERS: Mapping[str, Callable[[TopicReading, Mapping[str, Option], dict[str, Any]], model.Intake]] = {
    "kafka": _kafka,
    "folder": _folder,
    "postgres": _postgres,
    "mysql": _mysql,
}
