"""The impact of a new schema of a topic's messages on the streams and tables that take it in, and on their views.

The project is checked once more with each of these streams as the schema would make it: without the columns that it has
no field for, unless they have a default, and with the types of fields that their columns don't take. What is found
then, and isn't found today, is what the schema would break.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headwater.errors import Finding
from headwater.model import CONTENT, Kafka, Project, Stream, Table, Topic, spell_type
from headwater.plan import check
from headwater.schemas.columns import Fields, fields_of, takes
from headwater.schemas.written import Written

_VALUES = "-value"


@dataclass(frozen=True)
class Impact:
    """The effects of a schema: on columns of streams and tables, as sentences, and on views, as findings."""

    columns: tuple[str, ...]
    findings: tuple[Finding, ...]


def impact(project: Project, subject: str, schema: Written) -> Impact:
    """The impact on a project of messages under a subject that are written with a schema."""
    fields = fields_of(schema)
    if fields is None:
        return Impact((), ())
    readers = [topic for topic in project.declarations if isinstance(topic, Stream | Table) and _reads(topic, subject)]
    made = {topic.name: _made(topic, fields) for topic in readers}
    declarations = tuple(
        made.get(declaration.name, declaration) if isinstance(declaration, Stream | Table) else declaration
        for declaration in project.declarations
    )
    known = {(type(finding), finding.summary) for finding in check(project).findings}
    after = check(replace(project, declarations=declarations)).findings
    broken = tuple(
        finding for finding in after if finding.severity == "error" and (type(finding), finding.summary) not in known
    )
    return Impact(tuple(text for topic in readers for text in _told(topic, fields)), broken)


def _reads(topic: Topic, subject: str) -> bool:
    """Tells whether the values of a topic's messages have the schemas of a subject."""
    kafka = topic.intake
    if not isinstance(kafka, Kafka) or kafka.format not in ("avro", "protobuf", "json-schema") or kafka.envelope:
        return False
    return subject.endswith(_VALUES) and subject.removesuffix(_VALUES) in kafka.topics


def _told(topic: Topic, fields: Fields) -> Iterator[str]:
    """The changes to columns, as sentences."""
    assert isinstance(topic.intake, Kafka)
    for column in topic.columns:
        name = next((name for name in column.names if name in fields), None)
        if column.name in topic.intake.beside:
            continue
        if name is None:
            value = "NULL" if column.default is None else f"its default, {column.default!r}"
            yield f'"{topic.name}": column "{column.name}" has no field, and would be {value}'
        elif not takes(column.type, fields[name]):
            field_type = spell_type(fields[name])
            yield f'"{topic.name}": column "{column.name}" is {spell_type(column.type)}, and its field {field_type}'


def _made(topic: Stream | Table, fields: Fields) -> Stream | Table:
    """The topic as the schema would make it."""
    assert isinstance(topic.intake, Kafka)
    columns = []
    for column in topic.columns:
        name = next((name for name in column.names if name in fields), None)
        field_type = None if name is None else fields[name]
        if column.name in topic.intake.beside or (name is None and column.default is not None):
            columns.append(column)
        elif name is not None:
            kept = field_type is None or takes(column.type, field_type)
            columns.append(column if kept else replace(column, type=field_type))
    left = {column.name for column in columns}
    timed = topic.time in left
    made = replace(topic, columns=tuple(columns), time=topic.time if timed else None)
    made = made if timed else replace(made, watermark=None)
    if isinstance(made, Table):
        return replace(made, primary_key=tuple(name for name in made.primary_key if name in left))
    unique = made.unique if made.unique == CONTENT else tuple(name for name in made.unique if name in left)
    return replace(made, key=tuple(name for name in made.key if name in left), unique=unique)
