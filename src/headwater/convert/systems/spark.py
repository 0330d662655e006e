"""Spark SQL: tables of files and of Kafka, streaming tables, views, flows, and watermarks that queries state."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.convert.columns import read_columns
from headwater.convert.drafts import Conversion, Insert, Topic
from headwater.convert.options import (
    Rule,
    connector,
    folder,
    form,
    nothing,
    read_options,
    start,
    take_options,
    to,
    topic_pattern,
)
from headwater.convert.statement import Statement
from headwater.convert.system import System, name_columns, read_view, refuse, skip_exists
from headwater.convert.words import Reader
from headwater.findings import SyntaxRefused
from headwater.sql.dialect import Headwater

RULES: Mapping[str, Rule] = {
    "path": folder,
    "subscribe": to("topic"),
    "subscribepattern": topic_pattern,
    "kafka.bootstrap.servers": to("brokers"),
    "startingoffsets": start,
    "failondataloss": lambda value: {"gaps": "skip"} if value.lower() == "false" else {},
    "includeheaders": nothing,
    "header": nothing,
    "delimiter": to("delimiter"),
    "sep": to("delimiter"),
    "pathglobfilter": to("pattern"),
    "mode": nothing,
    "maxoffsetspertrigger": nothing,
    "maxfilespertrigger": nothing,
}
"""The options of a table that is read."""
_FILES = ("json", "csv", "parquet", "avro")


def read(statement: Statement, words: Reader, conversion: Conversion) -> None:
    """Read one statement."""
    if words.take("INSERT", "INTO"):
        _read_insert(statement, words, conversion, words.name())
        return
    if not words.take("CREATE"):
        refuse(statement, conversion)
        return
    words.take("OR", "REPLACE")
    words.take("OR", "REFRESH")
    words.take("TEMPORARY") or words.take("TEMP") or words.take("EXTERNAL")
    if words.take("FLOW"):
        words.name()
        words.expect("AS", "INSERT", "INTO")
        _read_insert(statement, words, conversion, words.name())
    elif (
        words.take("STREAMING", "TABLE")
        or words.take("STREAMING", "LIVE", "TABLE")
        or words.take("MATERIALIZED", "VIEW")
    ):
        _read_view(statement, words, conversion, materialized=True)
    elif words.take("VIEW"):
        _read_view(statement, words, conversion, materialized=False)
    elif words.take("TABLE"):
        _read_table(statement, words, conversion)
    else:
        refuse(statement, conversion)


def _read_table(statement: Statement, words: Reader, conversion: Conversion) -> None:
    first = words.at
    skip_exists(words)
    topic = Topic(words.name(), statement.comment)
    columns, given = words.group(), dict[str, str]()
    if columns is not None:
        read_columns(topic, columns)
    while words:
        if words.take("USING"):
            _use(topic, words.name().lower())
        elif words.take("OPTIONS"):
            given |= read_options(words.group())
        elif words.take("LOCATION"):
            given["path"] = words.next().text
        elif words.take("COMMENT"):
            topic.comment = words.next().text
        elif words.take("TBLPROPERTIES"):
            words.group()
        elif words.take("AS"):
            words.at = first
            _read_view(statement, words, conversion, materialized=True)
            return
        else:
            words.next()
    take_options(topic, given, RULES)
    if topic.options.get("connector") is None and "path" in topic.options:
        topic.options.pop("path")
    conversion.drafts.append(topic)


def _use(topic: Topic, source: str) -> None:
    """Take where a table is, by the format behind USING."""
    if source in _FILES:
        topic.options |= {"connector": "folder"} | form(source)
    elif source == "kafka":
        topic.options |= connector("kafka")
    else:
        topic.notes.append(
            f"USING {source} was left out: append its rows with `headwater append`, or say connector = 'folder' "
            f"or 'kafka'."
        )


def _read_view(statement: Statement, words: Reader, conversion: Conversion, *, materialized: bool) -> None:
    skip_exists(words)
    name = words.name()
    columns = words.group()
    head = words.skip_to("AS")
    if not words:
        conversion.drafts.append(Topic(name, statement.comment, ["It takes its rows from flows."]))
        return
    words.expect("AS")
    _take_delays(words, conversion)
    _leave_streams_out(words)
    view = read_view(statement, words, conversion, name, materialized=materialized, counts_from_one=False)
    if columns:
        name_columns(view.query, [part.next().text for part in columns.parts()], view.notes)
    if "PARTITIONED BY" in head.upper() or "CLUSTER BY" in head.upper():
        view.notes.append("PARTITIONED BY was left out: a store finds rows by the view's key, and by index = '…'.")
    conversion.drafts.append(view)


def _read_insert(statement: Statement, words: Reader, conversion: Conversion, into: str) -> None:
    words.take("BY", "NAME")
    _take_delays(words, conversion)
    _leave_streams_out(words)
    view = read_view(statement, words, conversion, into, counts_from_one=False)
    conversion.inserts.append(Insert(into, (), view))


def _take_delays(words: Reader, conversion: Conversion) -> None:
    """Take `WATERMARK at DELAY OF INTERVAL …` out of a query: it is the stream's."""
    at = words.at
    while at < len(words.words) - 4:
        part = words.words[at : at + 4]
        if part[0].upper != "WATERMARK" or [word.upper for word in part[2:]] != ["DELAY", "OF"]:
            at += 1
            continue
        number = next(iter(words.words[at + 5 : at + 6]), None)
        has_unit = number is None or not (number.kind == "text" and " " in number.text.strip())
        end = at + (7 if has_unit else 6)
        before = [index for index in range(at) if words.words[index].upper in ("FROM", "JOIN", ",")]
        named = (
            [word for word in words.words[before[-1] + 1 : at] if word.upper not in ("(", "STREAM")] if before else []
        )
        if end > len(words.words) or not named:
            raise SyntaxRefused("a watermark is of nothing, or has no delay")
        source = named[0].text
        delay = words.cut(at, end).words[4:]
        conversion.delays.append((source, part[1].text, words.text[delay[0].start : delay[-1].end]))


def _leave_streams_out(words: Reader) -> None:
    """Read `STREAM(orders)` and `STREAM orders` as `orders`."""
    for at in reversed(range(words.at, len(words.words) - 1)):
        before = words.words[at - 1].upper if at else ""
        if words.words[at].upper != "STREAM" or before not in ("FROM", "JOIN", ","):
            continue
        if words.words[at + 1].upper == "(":
            close = next(index for index in range(at + 2, len(words.words)) if words.words[index].upper == ")")
            words.cut(close, close + 1)
            words.cut(at, at + 2)
        else:
            words.cut(at, at + 1)


SPARK = System("spark", Headwater, read)
