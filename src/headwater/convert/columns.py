"""The columns of a stream or table of another system, and what stands between them: watermarks, keys."""

from __future__ import annotations

import re

from headwater.convert.drafts import Column, Topic
from headwater.convert.types import read_type
from headwater.convert.words import Reader

_ENDS_TYPE = (
    "NOT", "NULL", "PRIMARY", "KEY", "METADATA", "AS", "COMMENT", "DEFAULT", "HEADERS", "HEADER", "UNIQUE", "GENERATED",
    "CHECK", "REFERENCES", "VIRTUAL",
)  # fmt: skip
_METADATA = {"timestamp": "message_time", "headers": "message_headers", "key": "message_key"}
_PLACES = "the log keeps where an event came from: write _source, _commit or _row in a query."
_READ_TIME = re.compile(
    r"(?:TO_TIMESTAMP\w*\s*\(\s*`?(?P<call>\w+)`?[^()]*\)|CAST\s*\(\s*`?(?P<cast>\w+)`?\s+AS\s+TIMESTAMP.*\)|"
    r"(?P<colon>\w+)\s*::\s*timestamp\w*)",
    re.IGNORECASE | re.DOTALL,
)


def read_columns(topic: Topic, group: Reader) -> None:
    """Read what stands in the parentheses of a CREATE TABLE into a draft."""
    for part in group.parts():
        if part.take("WATERMARK"):
            _read_watermark(topic, part)
        elif part.sees("PRIMARY", "KEY") or part.take("CONSTRAINT"):
            part.skip_to("PRIMARY")
            part.expect("PRIMARY", "KEY")
            keys = part.group()
            topic.primary_key = [key.name() for key in keys.parts()] if keys else []
        elif not (part.sees("UNIQUE", "(") or part.sees("CHECK", "(") or part.sees("PERIOD", "FOR")):
            _read_column(topic, part)
    _take_times_from_text(topic)


def _read_watermark(topic: Topic, part: Reader) -> None:
    part.take("FOR")
    time = part.next().text
    part.expect("AS")
    rule = part.rest()
    _, minus, delay = rule.partition("-")
    if "SOURCE_WATERMARK" in rule.upper():
        topic.notes.append(
            f"{rule} was left out: say how late events can be, WATERMARK FOR {time} AS {time} - INTERVAL '5' SECOND."
        )
        return
    topic.time, topic.delay = time, delay.strip() if minus else ""


def _read_column(topic: Topic, part: Reader) -> None:
    name = part.next().text
    if part.take("AS"):
        _compute(topic, name, part.rest())
        return
    column = Column(name, *(_typed(topic, name, part)))
    is_kept = True
    while part:
        if part.take("NOT", "NULL"):
            column.required = True
        elif part.take("PRIMARY", "KEY"):
            topic.primary_key = [name]
            part.take("NOT", "ENFORCED")
        elif part.take("KEY"):
            topic.options["message_key"] = name
        elif part.take("METADATA"):
            is_kept = _read_metadata(topic, column, part)
        elif part.take("HEADERS"):
            column.type = "MAP<STRING, BINARY>"
            topic.options["message_headers"] = name
        elif part.take("HEADER"):
            key = part.group()
            topic.notes.append(
                f"HEADER({key.rest() if key else ''}) of {name}: all headers are a MAP here, option "
                f"message_headers; take one of it in a view."
            )
            is_kept = False
        elif part.take("COMMENT"):
            column.comment = part.next().text
        elif part.take("GENERATED"):
            part.skip_to("AS")
            if part.take("AS", "IDENTITY"):
                topic.notes.append(f"{name} was numbered by its table: events carry their numbers here.")
                part.group()
        elif part.take("AS"):
            is_kept = False
            _compute(topic, name, part.rest())
        elif part.take("DEFAULT"):
            topic.notes.append(
                f"DEFAULT {part.skip_to('NOT', 'NULL', 'COMMENT', 'PRIMARY')} of {name}: a default here is a "
                f"constant, DEFAULT '…' behind the type."
            )
        else:
            part.next()
    if is_kept:
        topic.columns.append(column)


def _typed(topic: Topic, name: str, part: Reader) -> tuple[str]:
    spelled, notes = read_type(part.skip_to(*_ENDS_TYPE))
    topic.notes += [f"{name}: {note}" for note in notes]
    return (spelled,)


def _read_metadata(topic: Topic, column: Column, part: Reader) -> bool:
    """Read METADATA [FROM 'key'] [VIRTUAL]; tells whether the column is one here too."""
    key = part.next().text if part.take("FROM") else column.name
    part.take("VIRTUAL")
    return take_metadata(topic, column, key)


def take_metadata(topic: Topic, column: Column, key: str) -> bool:
    """Let a column take what comes beside a message; tells whether it can."""
    option = _METADATA.get(key.lower().removeprefix("value."))
    if option is None:
        topic.notes.append(f"{column.name} takes '{key}' of a message: {_PLACES}")
        return False
    column.type = {"message_time": "TIMESTAMP", "message_headers": "MAP<STRING, BINARY>"}.get(option, column.type)
    topic.options[option] = column.name
    return True


def _compute(topic: Topic, name: str, text: str) -> None:
    if re.fullmatch(r"(PROCTIME|NOW)\s*\(\s*\)|CURRENT_TIMESTAMP", text.strip(), re.IGNORECASE):
        topic.arrivals.append(name)
    else:
        topic.computed[name] = text


def _take_times_from_text(topic: Topic) -> None:
    """Let the event time that is read from a column of text be that column; of a number it can't be."""
    text = topic.computed.get(topic.time or "")
    if text is None or topic.time is None:
        return
    read = _READ_TIME.fullmatch(text.strip())
    source = topic.column(next((name for name in read.groups() if name), "")) if read else None
    if source is not None and source.type == "STRING":
        del topic.computed[topic.time]
        topic.notes.append(f"{topic.time} is read from the field {source.name}, in ISO 8601.")
        topic.columns[topic.columns.index(source)] = Column(topic.time, "TIMESTAMP", alias=source.name)
        return
    topic.notes.append(
        f"{topic.time} can't be the event time: it is computed ({' '.join(text.split())}), and an instant is "
        f"read from text in "
        f"ISO 8601, not from a number. Let the producer write {topic.time} so and declare it TIMESTAMP, or take "
        f"Kafka's own "
        f"time: {topic.time} TIMESTAMP, message_time = '{topic.time}'. Then declare WATERMARK FOR {topic.time} AS "
        f"{topic.time}{' - ' + topic.delay if topic.delay else ''}."
    )
    topic.time = None
