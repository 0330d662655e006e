"""ksqlDB: streams and tables over topics of Kafka, and CREATE STREAM or TABLE AS SELECT … EMIT CHANGES."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.convert.columns import read_columns
from headwater.convert.drafts import Column, Conversion, Insert, Topic, View
from headwater.convert.ksqldb_query import read_query
from headwater.convert.options import Rule, form, nothing, read_options, take_options, to
from headwater.convert.statement import Statement
from headwater.convert.system import System, outlet_of, refuse, skip_exists
from headwater.convert.words import Reader
from headwater.sql.dialect import Headwater

RULES: Mapping[str, Rule] = {
    "kafka_topic": to("topic"),
    "value_format": form,
    "format": form,
    "key_format": nothing,
    "partitions": nothing,
    "replicas": nothing,
    "timestamp": nothing,
    "timestamp_format": nothing,
    "value_delimiter": to("delimiter"),
    "wrap_single_value": nothing,
    "value_schema_full_name": nothing,
}
"""The options of a stream or table over a topic."""
ROWTIME = "rowtime"
"""The column with Kafka's time of a message, where no column of its own is the event time."""
_EQUAL = "INTERVAL '0.001' SECOND"


def read(statement: Statement, words: Reader, conversion: Conversion) -> None:
    """Read one statement."""
    if words.take("INSERT", "INTO"):
        name = words.name()
        if words.sees("SELECT"):
            conversion.inserts.append(Insert(name, (), read_query(statement, words, conversion, name)))
            return
        refuse(statement, conversion)
        conversion.drafts[-1].notes = [f"Rows are appended as events: headwater append {name} FILE."]
        return
    if not words.take("CREATE"):
        refuse(statement, conversion)
        return
    words.take("OR", "REPLACE")
    words.take("SOURCE")
    kind = words.take_any("STREAM", "TABLE")
    if not kind:
        refuse(statement, conversion)
        return
    skip_exists(words)
    name = words.name()
    columns = words.group()
    given = read_options(words.group()) if words.take("WITH") else {}
    if words.take("AS"):
        _read_view(statement, words, conversion, name, given)
    else:
        _read_topic(Topic(name, statement.comment), kind, columns, given, conversion)


def _read_topic(topic: Topic, kind: str, columns: Reader | None, given: dict[str, str], conversion: Conversion) -> None:
    topic.options["connector"] = "kafka"
    if columns is not None:
        read_columns(topic, columns)
    else:
        topic.notes.append("Its columns are those of a schema in the registry: write them, (id STRING, …).")
    take_options(topic, given, RULES)
    _take_time(topic, given.get("timestamp"), given.get("timestamp_format"), is_stream=kind == "STREAM")
    key = next(iter(topic.primary_key), topic.options.get("message_key"))
    column = topic.column(key) if key else None
    if column is not None and len(topic.primary_key) < 2:
        if column.type in ("STRING", "BINARY"):
            topic.options["message_key"] = column.name
        else:
            topic.options.pop("message_key", None)
            topic.notes.append(
                f"{column.name} is the key of a message, a {column.type}: it is read here from the value, so "
                f"let the producer write it there too; message_key takes a STRING."
            )
        if kind == "STREAM":
            topic.options["key"] = column.name
    topic.given["connector"] = "kafka"
    conversion.drafts.append(topic)


def _take_time(topic: Topic, name: str | None, pattern: str | None, *, is_stream: bool) -> None:
    """Give a stream its event time: the column that TIMESTAMP names, or Kafka's time of each message."""
    column = topic.column(name) if name else None
    if column is None:
        if is_stream:
            topic.columns.append(Column(ROWTIME, "TIMESTAMP"))
            topic.options["message_time"] = topic.time = ROWTIME
            topic.delay = _EQUAL
        return
    if column.type == "STRING":
        column.type = "TIMESTAMP"
        topic.notes.append(
            f"{column.name} is an instant here, read from text in ISO 8601{f' (it was {pattern})' if pattern else ''}."
        )
    if column.type == "TIMESTAMP":
        topic.time, topic.delay = column.name, _EQUAL
        return
    topic.notes.append(
        f"{column.name} can't be the event time: it is a {column.type}, and an instant is read from text in ISO "
        f"8601, not from a "
        f"number. Let the producer write it so and declare {column.name} TIMESTAMP and WATERMARK FOR {column.name} AS "
        f"{column.name} - {_EQUAL}."
    )


def _read_view(
    statement: Statement, words: Reader, conversion: Conversion, name: str, given: Mapping[str, str]
) -> None:
    view = read_query(statement, words, conversion, name)
    conversion.drafts.append(view)
    target = given.get("kafka_topic")
    if target is None:
        view.notes.append(
            f"ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET {name}_out FROM {name} "
            f"TO 'kafka://{name.upper()}'."
        )
        return
    outlet = outlet_of(View(name, query=view.query), {**given, "connector": "kafka"}, name)
    if outlet is not None:
        outlet.options["envelope"] = "upsert" if view.query.args.get("group") is not None else "row"
        conversion.drafts.append(outlet)


KSQLDB = System("ksqldb", Headwater, read)
