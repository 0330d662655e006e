"""Flink SQL: CREATE TABLE … WITH ('connector' = …), views, and INSERT INTO … SELECT, which is what runs there."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from headwater.convert.columns import read_columns
from headwater.convert.drafts import Conversion, Insert, Topic
from headwater.convert.options import (
    KAFKA,
    POSTGRES,
    Rule,
    folder,
    length,
    nothing,
    read_options,
    start_at,
    start_offsets,
    take_address,
    take_options,
    to,
    topic_pattern,
)
from headwater.convert.statement import Statement
from headwater.convert.system import System, is_windowed, name_columns, read_view, refuse, skip_exists
from headwater.convert.words import Reader
from headwater.sql.dialect import Headwater

RULES: Mapping[str, Rule] = {
    **KAFKA,
    **POSTGRES,
    "topic-pattern": topic_pattern,
    "properties.group.id": nothing,
    "scan.startup.timestamp-millis": start_at,
    "scan.startup.specific-offsets": start_offsets,
    "scan.watermark.idle-timeout": length("idle"),
    "key.fields": lambda value: {"key": ", ".join(value.split(";"))},
    "key.format": nothing,
    "value.fields-include": nothing,
    "path": folder,
    "source.monitor-interval": length("poll"),
    "csv.field-delimiter": to("delimiter"),
    "value.csv.field-delimiter": to("delimiter"),
    "avro-confluent.url": to("registry"),
    "value.avro-confluent.url": to("registry"),
    "debezium-avro-confluent.url": to("registry"),
    "json.fail-on-missing-field": nothing,
    "json.ignore-parse-errors": nothing,
    "value.json.ignore-parse-errors": nothing,
    "csv.ignore-parse-errors": nothing,
}
"""The options of a table that is read; what can't be read is a dead letter here in any case."""


def read(statement: Statement, words: Reader, conversion: Conversion) -> None:
    """Read one statement."""
    words.take("EXECUTE") and words.take("STATEMENT", "SET")
    if words.take("BEGIN"):
        words.take("STATEMENT", "SET")
    if not words or words.sees("END"):
        return
    if words.take("CREATE"):
        words.take("TEMPORARY")
        if words.take("TABLE"):
            _read_table(statement, words, conversion)
        elif words.take("VIEW"):
            _read_view(statement, words, conversion)
        else:
            refuse(statement, conversion)
    elif words.take("INSERT", "INTO"):
        _read_insert(statement, words, conversion)
    elif words.sees("SET") and any(word.text == "table.exec.state.ttl" for word in words.words):
        conversion.retention = length("retention")(words.words[-1].text)["retention"]
    else:
        refuse(statement, conversion)


def _read_table(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    topic = Topic(words.name(), statement.comment)
    columns = words.group()
    if columns is not None:
        read_columns(topic, columns)
    given: dict[str, str] = {}
    while words:
        if words.take("COMMENT"):
            topic.comment = words.next().text
        elif words.take("WITH"):
            given |= read_options(words.group())
        elif words.take("LIKE"):
            given = _take_after(topic, words.name(), conversion) | given
            words.group()
        elif words.take("AS"):
            view = read_view(statement, words, conversion, topic.name)
            conversion.inserts.append(Insert(topic.name, (), view))
            words.at = len(words.words)
        else:
            words.next()
    take_options(topic, given, RULES)
    if given.get("connector") == "postgres-cdc":
        take_address(topic, given)
    conversion.drafts.append(topic)


def _take_after(topic: Topic, name: str, conversion: Conversion) -> dict[str, str]:
    """Take over what a table has that this one is LIKE; the options of that one."""
    other = conversion.find(name)
    if not isinstance(other, Topic):
        topic.notes.append(f"It is LIKE {name}, which isn't declared in what was converted: write its columns.")
        return {}
    model = deepcopy(other)
    topic.columns = [*model.columns, *topic.columns]
    topic.computed = model.computed | topic.computed
    topic.arrivals += model.arrivals
    topic.options = {
        name: value for name, value in model.options.items() if name.startswith("message_")
    } | topic.options
    if topic.time is None:
        topic.time, topic.delay = model.time, model.delay
    topic.primary_key = topic.primary_key or model.primary_key
    return model.given


def _read_view(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    name = words.name()
    columns = words.group()
    comment = words.next().text if words.take("COMMENT") else None
    words.expect("AS")
    view = read_view(statement, words, conversion, name, materialized=False)
    view.comment = comment or view.comment
    if columns:
        name_columns(view.query, [part.name() for part in columns.parts()], view.notes)
    conversion.drafts.append(view)


def _read_insert(statement: Statement, words: Reader, conversion: Conversion) -> None:
    name = words.name()
    words.take("PARTITION") and words.group()
    columns = words.group() if words.sees("(") and not words.sees("(", "SELECT") else None
    if words.sees("VALUES"):
        refuse(statement, conversion)
        conversion.drafts[-1].notes = [f"Rows are appended as events: headwater append {name} FILE."]
        return
    view = read_view(statement, words, conversion, name)
    if is_windowed(view.query):
        view.emit = "final"
    named = tuple(part.name() for part in columns.parts()) if columns else ()
    conversion.inserts.append(Insert(name, named, view))


FLINK = System("flink", Headwater, read)
