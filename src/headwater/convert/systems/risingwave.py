"""RisingWave: CREATE SOURCE and TABLE with FORMAT … ENCODE …, materialized views, and sinks."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot.dialects.dialect import Dialect

from headwater.convert.columns import read_columns, take_metadata
from headwater.convert.drafts import Column, Conversion, Remark, Topic, View
from headwater.convert.options import (
    KAFKA,
    POSTGRES,
    Lost,
    Rule,
    bucket,
    folder,
    form,
    nothing,
    read_options,
    start_at,
    take_address,
    take_options,
    to,
)
from headwater.convert.statement import Statement
from headwater.convert.system import System, outlet_of, read_view, refuse, skip_exists
from headwater.convert.words import Reader

RULES: Mapping[str, Rule] = {
    **KAFKA,
    **POSTGRES,
    "scan.startup.timestamp.millis": start_at,
    "group.id.prefix": nothing,
    "properties.group.id": nothing,
    "posix_fs.root": folder,
    "s3.bucket_name": bucket,
    "s3.region_name": nothing,
    "match_pattern": to("pattern"),
    "appendonly": nothing,
}
"""The options of a source that is read."""
ENCODED: Mapping[str, Rule] = {
    "schema.registry": to("registry"),
    "without_header": nothing,
    "delimiter": to("delimiter"),
    "message": nothing,
    "schema.location": nothing,
}
"""The options behind ENCODE."""


def read(statement: Statement, words: Reader, conversion: Conversion) -> None:
    """Read one statement."""
    if not words.take("CREATE"):
        refuse(statement, conversion)
    elif words.take_any("SOURCE", "TABLE"):
        _read_topic(statement, words, conversion)
    elif words.take("MATERIALIZED", "VIEW"):
        _read_view(statement, words, conversion, materialized=True)
    elif words.take("VIEW"):
        _read_view(statement, words, conversion, materialized=False)
    elif words.take("SINK"):
        _read_sink(statement, words, conversion)
    else:
        refuse(statement, conversion)


def _read_topic(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    topic = Topic(words.name(), statement.comment)
    columns, given, kind = words.group(), dict[str, str](), ""
    if columns is not None and not columns.sees("*"):
        read_columns(topic, columns)
    while words:
        if words.take("WITH"):
            given |= read_options(words.group())
        elif words.take("INCLUDE"):
            _include(topic, words)
        elif words.take("FROM"):
            given = conversion.connections.get(words.name().lower(), {}) | given
            if words.take("TABLE"):
                given["table.name"] = words.next().text
        elif words.take("FORMAT"):
            kind = words.next().upper
        elif words.take("ENCODE"):
            _encode(topic, words)
        elif words.take("AS"):
            conversion.drafts.append(read_view(statement, words, conversion, topic.name, dialect="risingwave"))
            return
        else:
            words.next()
    take_options(topic, given, RULES)
    if kind.startswith("DEBEZIUM"):
        topic.options["envelope"] = "debezium"
    if topic.options.get("connector") == "postgres":
        if not columns and "table.name" not in given and "table-name" not in given:
            conversion.connections[topic.name.lower()] = given
            return
        take_address(topic, given)
    if "connector" not in given:
        topic.notes.append("Its rows come from INSERT: append them as events, `headwater append`.")
    conversion.drafts.append(topic)


def _include(topic: Topic, words: Reader) -> None:
    key = words.next().text
    if words.sees("'header") or key.lower() == "header":
        words.skip_to("AS")
        key = "headers"
    name = words.next().text if words.take("AS") else f"rw_{key}"
    column = Column(name, "STRING")
    if take_metadata(topic, column, key) and topic.column(name) is None:
        topic.columns.append(column)


def _encode(topic: Topic, words: Reader) -> None:
    try:
        topic.options |= form(words.next().text)
    except Lost as lost:
        topic.notes.append(str(lost))
    given = read_options(words.group())
    take_options(topic, given, ENCODED)


def _read_view(statement: Statement, words: Reader, conversion: Conversion, *, materialized: bool) -> None:
    skip_exists(words)
    name = words.name()
    words.skip_to("AS")
    words.expect("AS")
    view = read_view(statement, words, conversion, name, dialect="risingwave", materialized=materialized)
    conversion.drafts.append(view)


def _read_sink(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    name, given = words.name(), dict[str, str]()
    if words.take("INTO"):
        refuse(statement, conversion)
        conversion.drafts[-1].notes = ["A view isn't written into a table here: let who reads the table read the view."]
        return
    view: View | None = None
    if words.take("FROM"):
        source = words.name()
    else:
        words.expect("AS")
        at = words.find("WITH", "(")
        query = words.cut(words.at, len(words.words) if at is None else at)
        view = read_view(statement, query, conversion, name, dialect="risingwave")
        conversion.drafts.append(view)
        source = name
    given |= read_options(words.group()) if words.take("WITH") else {}
    kind = words.next().upper if words.take("FORMAT") else "PLAIN"
    if words.take("ENCODE"):
        given["format"] = words.next().text
    noted = View(name, query=view.query) if view else View(source)
    outlet = outlet_of(noted, given, source, name if view is None else None)
    if outlet is None:
        conversion.drafts.append(Remark(statement.text, None, noted.notes))
        return
    outlet.comment = statement.comment if view is None else None
    outlet.options["envelope"] = {"UPSERT": "upsert", "DEBEZIUM": "debezium"}.get(kind, "row")
    if "primary_key" in given:
        outlet.notes.append(
            f"primary_key = '{given['primary_key']}' was left out: messages are keyed by what tells the rows of "
            f"the view apart, or by key = '…'."
        )
    conversion.drafts.append(outlet)


RISINGWAVE = System("risingwave", lambda: Dialect.get_or_raise("risingwave"), read)
