"""Materialize: connections, sources of Kafka and PostgreSQL, views whose conditions on mz_now() say what they keep."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.convert.columns import read_columns, take_metadata
from headwater.convert.drafts import Column, Conversion, Remark, Topic, View
from headwater.convert.options import Lost, Rule, form, nothing, take_address, take_options, to
from headwater.convert.statement import Statement
from headwater.convert.system import System, length_of, outlet_of, read_view, refuse, skip_exists
from headwater.convert.words import Reader
from headwater.sql import spell

RULES: Mapping[str, Rule] = {
    "topic": to("topic"),
    "broker": to("brokers"),
    "publication": to("publication"),
    "url": to("registry"),
    **dict.fromkeys(
        ("host", "port", "user", "database", "password", "sslmode", "table-name", "securityprotocol"), nothing
    ),
}
"""The options of a connection and of a source together."""
_LATENESS = "INTERVAL '5' SECOND"


def read(statement: Statement, words: Reader, conversion: Conversion) -> None:
    """Read one statement."""
    if not words.take("CREATE"):
        refuse(statement, conversion)
        return
    words.take("OR", "REPLACE")
    if words.take("CONNECTION"):
        _read_connection(words, conversion)
    elif words.take("SOURCE"):
        _read_source(statement, words, conversion)
    elif words.take("TABLE"):
        _read_table(statement, words, conversion)
    elif words.take("MATERIALIZED", "VIEW"):
        _read_view(statement, words, conversion, materialized=True)
    elif words.take("VIEW"):
        _read_view(statement, words, conversion, materialized=False)
    elif words.take("SINK"):
        _read_sink(statement, words, conversion)
    else:
        refuse(statement, conversion)


def _settings(group: Reader | None) -> dict[str, str]:
    """`BROKER 'host:9092', SECURITY PROTOCOL = 'SSL'`: names with or without a sign between them and their values."""
    given: dict[str, str] = {}
    for part in group.parts() if group else ():
        *names, value = [word for word in part.words if word.text != "="]
        words = [word.text.lower() for word in names if word.upper != "SECRET"]
        given["".join(words)] = value.text
    return given


def _read_connection(words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    name = words.name()
    words.skip_to("(")
    conversion.connections[name.lower()] = _settings(words.group())


def _read_source(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    topic = Topic(words.name(), statement.comment)
    columns = words.group()
    if columns is not None:
        read_columns(topic, columns)
    words.skip_to("FROM")
    words.expect("FROM")
    kind = words.next().upper
    if kind not in ("KAFKA", "POSTGRES"):
        refuse(statement, conversion)
        conversion.drafts[-1].notes = [
            f"FROM {kind} has no counterpart. Make events up with `headwater generate STREAM`, or append them."
        ]
        return
    words.expect("CONNECTION")
    given = {**conversion.connections.get(words.name().lower(), {}), **_settings(words.group())}
    if kind == "POSTGRES":
        _read_tables(topic, words, given, conversion)
        return
    topic.options["connector"] = "kafka"
    if not words:  # its tables say the rest
        conversion.connections[topic.name.lower()] = {**given, "connector": "kafka"}
        return
    _read_shape(topic, words, given, conversion)
    conversion.drafts.append(topic)


def _read_shape(topic: Topic, words: Reader, given: dict[str, str], conversion: Conversion) -> None:
    """Read FORMAT …, INCLUDE … and ENVELOPE … behind a source of Kafka."""
    written = ""
    while words:
        if words.take("FORMAT"):
            written = words.next().upper
            _take_form(topic, written)
        elif words.take("CONNECTION"):
            given |= conversion.connections.get(words.name().lower(), {})
        elif words.take("INCLUDE"):
            _include(topic, words)
        elif words.take("ENVELOPE"):
            _envelop(topic, words.next().upper)
        else:
            words.next()
    if written in ("JSON", "TEXT", "BYTES") and not any(
        column.name not in topic.options.values() for column in topic.columns
    ):
        name = {"JSON": "data", "TEXT": "text", "BYTES": "data"}[written]
        topic.columns.insert(0, Column(name, "BINARY" if written == "BYTES" else "STRING"))
        topic.options |= {"format": "raw", "message_value": name}
    if not topic.columns:
        topic.notes.append("Its columns are those of a schema in the registry: write them, (id STRING, …).")
    take_options(topic, given, RULES)
    if topic.options.get("envelope") != "debezium" and "upsert" in topic.given and not topic.primary_key:
        key = topic.options.get("message_key")
        topic.primary_key = [key] if key else []
        if key is None:
            topic.notes.append(
                "ENVELOPE UPSERT replaces rows by the key of the message: write PRIMARY KEY (…), and "
                "message_key = '…' if it is in no field."
            )


def _take_form(topic: Topic, written: str) -> None:
    try:
        topic.options |= form(written)
    except Lost as lost:
        topic.notes.append(str(lost))


def _include(topic: Topic, words: Reader) -> None:
    kind = words.next().text
    if kind.upper() == "HEADER":
        words.next()
        kind = "headers"
    name = words.next().text if words.take("AS") else kind.lower()
    column = Column(name, "STRING")
    if take_metadata(topic, column, kind) and topic.column(name) is None:
        topic.columns.append(column)


def _envelop(topic: Topic, envelope: str) -> None:
    if envelope == "DEBEZIUM":
        topic.options["envelope"] = "debezium"
    elif envelope == "UPSERT":
        topic.given["upsert"] = "yes"


def _read_tables(topic: Topic, words: Reader, given: dict[str, str], conversion: Conversion) -> None:
    """Read FOR TABLES (a, b AS c): a table of each; FOR ALL TABLES is known to its tables alone."""
    conversion.connections[topic.name.lower()] = given = {**given, "connector": "postgres"}
    tables = words.group() if words.take("FOR", "TABLES") else None
    for part in tables.parts() if tables else ():
        written = part.skip_to("AS")
        name = part.name() if part.take("AS") else written.rpartition(".")[2]
        conversion.drafts.append(_copied(Topic(name, topic.comment), given, written))


def _copied(table: Topic, given: Mapping[str, str], written: str) -> Topic:
    """A table that is copied from PostgreSQL; its columns are those of the database."""
    take_options(table, {name: value for name, value in given.items() if name != "connector"}, RULES)
    table.options["connector"] = "postgres"
    take_address(table, {**given, "table-name": written})
    return table


def _read_table(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    topic = Topic(words.name(), statement.comment)
    columns = words.group()
    if columns is not None:
        read_columns(topic, columns)
    if not words.take("FROM", "SOURCE"):
        topic.notes.append("Its rows come from INSERT: append them as events, `headwater append`.")
        conversion.drafts.append(topic)
        return
    given = dict(conversion.connections.get(words.name().lower(), {}))
    reference = words.group()
    written = reference.rest() if reference and reference.take("REFERENCE") else topic.name
    if given.get("connector") == "postgres":
        conversion.drafts.append(_copied(topic, given, written.strip('"')))
        return
    topic.options["connector"] = "kafka"
    given.pop("connector", None)
    _read_shape(topic, words, given, conversion)
    conversion.drafts.append(topic)


def _read_view(statement: Statement, words: Reader, conversion: Conversion, *, materialized: bool) -> None:
    skip_exists(words)
    name = words.name()
    words.skip_to("AS")
    words.expect("AS")
    view = read_view(statement, words, conversion, name, dialect="materialize", materialized=materialized)
    _keep(view, conversion)
    conversion.drafts.append(view)


def _keep(view: View, conversion: Conversion) -> None:
    """Take a condition on mz_now() for what it means: for how long a row counts."""
    for select in list(view.query.find_all(exp.Select)):
        where = select.args.get("where")
        if where is None:
            continue
        parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        kept = [part for part in parts if not _is_retention(part.unnest(), view, conversion)]
        select.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)


def _is_retention(part: exp.Expr, view: View, conversion: Conversion) -> bool:
    """Tells whether a condition is `mz_now() <= at + INTERVAL …`, which becomes the retention of the view."""
    if not isinstance(part, (exp.LT, exp.LTE, exp.GT, exp.GTE)) or not _is_clock(part.left) ^ _is_clock(part.right):
        return False
    is_until = isinstance(part, (exp.LT, exp.LTE)) == _is_clock(part.left)
    time = part.right if _is_clock(part.left) else part.left
    if is_until and isinstance(time, exp.Add) and isinstance(time.expression, exp.Interval):
        view.options["retention"] = length_of(spell(time.expression))
        _let_have_time(time.this, view, conversion)
        view.notes.append(
            f"{spell(part)} is the retention of the view here, counted by the watermark: a row counts until "
            f"that has passed its time by so much."
        )
        return True
    if not is_until and isinstance(time, exp.Column):
        view.notes.append(f"{spell(part)} was left out: a row counts from when it comes.")
        return True
    return False


def _let_have_time(column: exp.Expr, view: View, conversion: Conversion) -> None:
    """Declare the time that a retention is counted from as the event time of the source that has it."""
    for table in view.query.find_all(exp.Table):
        topic = conversion.find(table.name)
        if isinstance(topic, Topic) and topic.time is None and topic.column(column.name) is not None:
            topic.time, topic.delay = column.name, _LATENESS
            topic.notes.append(
                f"Its watermark is a guess, since Materialize has none: say how late events can be in place of "
                f"{_LATENESS}."
            )


def _is_clock(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "MZ_NOW"


def _read_sink(statement: Statement, words: Reader, conversion: Conversion) -> None:
    skip_exists(words)
    name = words.name()
    words.skip_to("FROM")
    words.expect("FROM")
    view = words.name()
    words.skip_to("INTO")
    if not words.take("INTO", "KAFKA", "CONNECTION"):
        refuse(statement, conversion)
        return
    given = {**conversion.connections.get(words.name().lower(), {}), **_settings(words.group())}
    options = {"connector": "kafka", "topic": given.get("topic", "")}
    if "broker" in given:
        options["properties.bootstrap.server"] = given["broker"]
    key = words.group() if words.take("KEY") else None
    words.skip_to("FORMAT")
    if words.take("FORMAT"):
        options["format"] = words.next().text
    words.skip_to("ENVELOPE")
    envelope = words.next().upper if words.take("ENVELOPE") else ""
    outlet = outlet_of(View(view), options, view, name)
    if outlet is None:
        conversion.drafts.append(Remark(statement.text, None, ["It names no topic."]))
        return
    outlet.comment = statement.comment
    outlet.options["envelope"] = {"UPSERT": "upsert", "DEBEZIUM": "debezium"}.get(envelope, "row")
    if key is not None:
        outlet.options["key"] = key.rest()
    conversion.drafts.append(outlet)


MATERIALIZE = System("materialize", lambda: Dialect.get_or_raise("materialize"), read)
