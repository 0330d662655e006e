"""What a new schema of a topic's messages would do to the streams and tables that take it in, and to their views.

The project is checked once more with each of these streams as the schema would make it: without the columns that it has
no field for, unless they have a default, and with the types of fields that their columns don't take. What is found
then, and isn't found today, is what the schema would break.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headwater.errors import Finding
from headwater.intake.schema.columns import Fields, fields_of, takes
from headwater.intake.schema.written import Written
from headwater.model import CONTENT, Kafka, Project, Stream, Table, Topic, spell_type
from headwater.plan import check

_VALUES = "-value"


@dataclass(frozen=True)
class Impact:
    """What a schema would do: to columns of streams and tables, as sentences, and to views, as findings."""

    columns: tuple[str, ...]
    findings: tuple[Finding, ...]


def impact(project: Project, subject: str, schema: Written) -> Impact:
    """What would become of a project whose messages under a subject are written with a schema."""
    fields = fields_of(schema)
    if fields is None:
        return Impact((), ())
    readers = [topic for topic in project.declarations if isinstance(topic, Stream | Table) and _reads(topic, subject)]
    made = {topic.name: _made(topic, fields) for topic in readers}
    declarations = tuple(
        made.get(found.name, found) if isinstance(found, Stream | Table) else found for found in project.declarations
    )
    known = {(type(found), found.summary) for found in check(project).findings}
    after = check(replace(project, declarations=declarations)).findings
    broken = tuple(found for found in after if found.severity == "error" and (type(found), found.summary) not in known)
    return Impact(tuple(text for topic in readers for text in _told(topic, fields)), broken)


def _reads(topic: Topic, subject: str) -> bool:
    """Whether the values of a topic's messages have the schemas of a subject."""
    kafka = topic.intake
    if not isinstance(kafka, Kafka) or kafka.format not in ("avro", "protobuf", "json-schema") or kafka.envelope:
        return False
    return subject.endswith(_VALUES) and subject.removesuffix(_VALUES) in kafka.topics


def _told(topic: Topic, fields: Fields) -> Iterator[str]:
    """What becomes of columns."""
    assert isinstance(topic.intake, Kafka)
    for column in topic.columns:
        name = next((name for name in column.names if name in fields), None)
        if column.name in topic.intake.beside:
            continue
        if name is None:
            value = "NULL" if column.default is None else f"its default, {column.default!r}"
            yield f'"{topic.name}": column "{column.name}" has no field, and would be {value}'
        elif not takes(column.type, fields[name]):
            given = spell_type(fields[name])
            yield f'"{topic.name}": column "{column.name}" is {spell_type(column.type)}, and its field {given}'


def _made(topic: Stream | Table, fields: Fields) -> Stream | Table:
    """The topic as the schema would make it."""
    assert isinstance(topic.intake, Kafka)
    columns = []
    for column in topic.columns:
        name = next((name for name in column.names if name in fields), None)
        given = None if name is None else fields[name]
        if column.name in topic.intake.beside or (name is None and column.default is not None):
            columns.append(column)
        elif name is not None:
            kept = given is None or takes(column.type, given)
            columns.append(column if kept else replace(column, type=given))
    left = {column.name for column in columns}
    timed = topic.time in left
    made = replace(topic, columns=tuple(columns), time=topic.time if timed else None)
    made = made if timed else replace(made, watermark=None)
    if isinstance(made, Table):
        return replace(made, primary_key=tuple(name for name in made.primary_key if name in left))
    unique = made.unique if made.unique == CONTENT else tuple(name for name in made.unique if name in left)
    return replace(made, key=tuple(name for name in made.key if name in left), unique=unique)
