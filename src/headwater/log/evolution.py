"""Changes that a declaration may make to the schema of a topic.

The log's own schema has every column that the topic ever had. What a declaration may change of it:

    a column is added         nullable, or with a DEFAULT, which is what earlier rows have: the one of today
    a column goes             it stays in the files, unread; added again, its values are back
    a column is renamed       the new one has the old name as an ALIAS
    a type is promoted        to one that has all of its values (`shape.promotes`)
    NOT NULL goes
    the version goes up       anything else: earlier rows are read through upcasts

Anything else would change what rows that are already there mean, and is refused.

The declaration alone decides how rows are read. What it changes is noted with the next commit; until then it is read as
if it were (`as_read`), so that no row depends on whether something was appended meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headwater.errors import TopicChanged
from headwater.log.datafile import columns_of
from headwater.log.schema import PENDING, Recorded, payload_of
from headwater.log.shape import Shape, promotes
from headwater.model import Column, Topic, spell_type


def as_read(topic: Topic, recorded: Recorded) -> Recorded:
    """The columns as the log records them, with what the declaration changes and the log doesn't say yet.

    `TopicChanged` if the declaration doesn't fit what rows already are.
    """
    refuse_older(topic, recorded)
    return evolved(topic, recorded, PENDING) or recorded


def evolved(topic: Topic, recorded: Recorded, number: int) -> Recorded | None:
    """The columns as the log must record them from entry `number` on; None if it has recorded them so already.

    `TopicChanged` if the declaration doesn't fit what rows already are.
    """
    _refuse_version(topic, recorded)
    change = _Change(topic, recorded)
    problems = list(change.problems())
    if problems:
        raise _changed(topic, recorded, problems)
    reshapes = topic.version > recorded.shape.version or change.reshapes
    names = payload_of(columns_of(topic))
    new = Recorded(
        recorded.identity,
        change.columns(),
        (*recorded.shapes, Shape(number, topic.version, topic.time or "")) if reshapes else recorded.shapes,
        recorded.written if names == recorded.written[-1][1] else (*recorded.written, (number, names)),
        tuple(sorted((dict(recorded.aliases) | change.aliases()).items())),
        frozenset(recorded.columns.names) - frozenset(columns_of(topic).names),
    )
    return None if new == recorded else new


class _Change:
    """A declaration beside what the log has."""

    def __init__(self, topic: Topic, recorded: Recorded) -> None:
        self._topic = topic
        self._recorded = recorded
        self._before = recorded.columns
        self._now = columns_of(topic)
        self._upcast = topic.version > recorded.shape.version

    @property
    def reshapes(self) -> bool:
        """Tells whether rows that are already there must be read otherwise than they were written."""
        own = any(self._now.field(name).type != self._before.field(name).type for name in self._kept())
        added = any(column.default is not None or self._former(column) for column in self._added())
        return own or added or any(True for _ in self._found_again())

    def problems(self) -> Iterator[str]:
        """Why rows that are already there can't be read by the declaration."""
        yield from self._problems_of_own()
        if self._upcast:
            return
        for name in self._kept():
            yield from self._problems_of(name, self._before.field(name), self._now.field(name))
            yield from self._problems_without(name)
        for column, former in self._found_again():
            yield from self._problems_of(former, self._before.field(former), self._now.field(column.name))
        for column in self._added():
            renamed, now = self._former(column), self._now.field(column.name)
            if renamed is not None:
                yield from self._problems_of(renamed, self._before.field(renamed), now)
            elif not now.nullable and column.default is None:
                yield f'column "{column.name}" is added, must have a value, and has no DEFAULT for the rows before it'

    def columns(self) -> pa.Schema:
        """Every column that the log has now, new ones at the end. One that is no longer read is missing in new rows."""
        names = self._now.names
        known = [self._now.field(at.name) if at.name in names else at.with_nullable(True) for at in self._before]
        return pa.schema([*known, *(part for part in self._now if part.name not in self._before.names)])

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The names that columns had that are new by theirs."""
        known = dict(self._recorded.aliases)
        renamed = {column.name: former for column in self._added() if (former := self._former(column)) is not None}
        again = {column.name: (*known.get(column.name, ()), former) for column, former in self._found_again()}
        return again | {name: (former, *known.get(former, ())) for name, former in renamed.items() if name != former}

    def _problems_of_own(self) -> Iterator[str]:
        before, now = ({part for part in schema if part.name.startswith("_")} for schema in (self._before, self._now))
        if {part.name for part in before} != {part.name for part in now}:
            yield "a stream can't become a table, nor a table a stream"
        was, time = self._recorded.shape.time, self._topic.time or ""
        column = self._topic.column(time)
        if was != time and not (was and time and (self._upcast or (column and was in column.aliases))):
            yield f"the event time was {was or 'none'} and is {time or 'none'}"

    def _problems_of(self, name: str, before: pa.Field, now: pa.Field) -> Iterator[str]:
        if not promotes(before.type, now.type):
            yield f'column "{name}" was {spell_type(before.type)}, which is not promoted to {spell_type(now.type)}'
        if before.nullable and not now.nullable:
            yield f'column "{name}" may be NULL in rows that are there, and must have a value'

    def _problems_without(self, name: str) -> Iterator[str]:
        """Why rows from before a column, if there are any, can't do without its default."""
        column, recorded = self._topic.column(name), self._recorded
        names = (name, *dict(recorded.aliases).get(name, ()))
        lacking = any(written.isdisjoint(names) for written in recorded.written_in(self._topic.version))
        if column and not column.nullable and column.default is None and lacking:
            yield f'column "{name}" must have a value, and has no DEFAULT any more for the rows before it'

    def _found_again(self) -> Iterator[tuple[Column, str]]:
        """Columns that are still those that they were, with a former name that is declared only now."""
        known = dict(self._recorded.aliases)
        for column in (column for column in self._topic.columns if column.name in set(self._kept())):
            former = set(column.aliases) & set(self._before.names) - set(self._now.names) - {column.name}
            unknown = sorted(former - set(known.get(column.name, ())))
            yield from ((column, name) for name in unknown[:1])

    def _kept(self) -> list[str]:
        """The names of columns that are still those that they were."""
        unread = self._recorded.unread
        names = [column.name for column in self._topic.columns]
        return [name for name in names if name in self._before.names and not (name in unread and self._filled(name))]

    def _added(self) -> list[Column]:
        kept = set(self._kept())
        return [column for column in self._topic.columns if column.name not in kept]

    def _filled(self, name: str) -> bool:
        """Tells whether a column that comes back has a value in rows written without it: a default, or an alias."""
        column = self._topic.column(name)
        assert column is not None, "it is declared"
        aliased = any(alias in self._before.names for alias in column.aliases)
        return aliased or column.default is not None or not column.nullable

    def _former(self, column: Column) -> str | None:
        return next((name for name in (*column.aliases, column.name) if name in self._before.names), None)


def refuse_older(topic: Topic, recorded: Recorded) -> None:
    """Refuse a declaration from before a change by which newer rows can't be read: what it names has another name."""
    former = {name for _, names in recorded.aliases for name in names} & recorded.unread
    renamed = next((column.name for column in topic.columns if column.name in former and not column.aliases), None)
    if renamed is not None:
        raise TopicChanged(
            f'the declaration of "{topic.name}" is older than its log',
            detail=f'Column "{renamed}" was renamed since.',
            hint="Start this process again with the newer declaration.",
            origin=topic.origin,
            topic=topic.name,
        )
    if topic.version < recorded.shape.version:
        _refuse_version(topic, recorded)


def _refuse_version(topic: Topic, recorded: Recorded) -> None:
    if topic.version < recorded.shape.version:
        raise TopicChanged(
            f'the declaration of "{topic.name}" is older than its log',
            detail=f"It is version {topic.version}, and the log has rows of version {recorded.shape.version}. "
            "Nothing was appended.",
            hint="Go on with the newer declaration, or declare a version after it that goes back.",
            origin=topic.origin,
            topic=topic.name,
        )
    known = {upcast.from_version for upcast in topic.upcasts}
    missing = [version for version in range(recorded.shapes[0].version, topic.version) if version not in known]
    if missing:
        raise TopicChanged(
            f'"{topic.name}" has rows of version {recorded.shapes[0].version}, and no way from there to '
            f"version {topic.version}",
            detail="Nothing was appended.",
            hint=f'Declare an upcast: @hw.upcast("{topic.name}", from_version={missing[0]}, columns={{…}}).',
            origin=topic.origin,
            topic=topic.name,
        )


def _changed(topic: Topic, recorded: Recorded, problems: list[str]) -> TopicChanged:
    first = "; ".join(problems)
    read = pa.schema([part for part in recorded.columns if part.name not in recorded.unread])
    return TopicChanged(
        f'the declaration of "{topic.name}" no longer fits its log',
        detail=f"{first[0].upper()}{first[1:]}. The log has ({_spell(read)}), event time "
        f"{recorded.shape.time or 'none'}; the declaration has ({_spell(columns_of(topic))}), event time "
        f"{topic.time or 'none'}. Nothing was appended.",
        hint="A column may be added (nullable, or with a DEFAULT), left out, renamed (ALIAS) or promoted. For anything "
        "else declare the next version with an upcast, or a stream of another name.",
        origin=topic.origin,
        topic=topic.name,
    )


def _spell(schema: pa.Schema) -> str:
    shown = (field for field in schema if not field.name.startswith("_"))
    return ", ".join(f"{field.name} {spell_type(field.type)}{'' if field.nullable else ' NOT NULL'}" for field in shown)
