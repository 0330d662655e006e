"""Described tables: a statement without columns is completed by what the database says of them.

Its changes are in the order of their commits. So if the statement names no column for the time of a commit, one is
added, which is the event time; and since a table that nobody changes should hold up nobody, it is idle after a while.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headwater import model
from headwater.errors import HeadwaterError
from headwater.findings import ClauseRefused, ColumnsUnknown, OptionRefused
from headwater.sql.nodes import ColumnClause, CreateTopic, KeyClause, Option, Watermark
from headwater.sql.options import option_text
from headwater.sql.query import parse_type
from headwater.sql.reading import Reading
from headwater.sql.types import sqlglot_type

COMMITTED_AT = "committed_at"
"""The column that takes the time of the commit, if the statement names none."""
IDLE = "10 seconds"
_COLUMNS_HINT = (
    "Write its columns: (id STRING, name STRING, PRIMARY KEY (id)). Those of connector = 'postgres' or 'mysql' are "
    "read from the database if they are left out."
)


def lacks_columns(tree: CreateTopic) -> bool:
    """Tells whether a statement leaves its columns to the database."""
    return tree.text("kind") == "TABLE" and not any(isinstance(part, ColumnClause) for part in tree.expressions)


def complete(reading: Reading, tree: CreateTopic) -> bool:
    """Complete a statement that leaves its columns to the database; False if that can't be, which is found."""
    options = {option.name.lower(): option_text(option.expression) for option in tree.args.get("options") or ()}
    connector = options.get("connector", "").strip().lower()
    is_told = connector in ("postgres", "mysql") and bool(options.get("url") and options.get("table"))
    if not is_told or "outbox" in options:
        reading.refuse(ClauseRefused, tree.this, f"{reading.title} declares no columns", hint=_COLUMNS_HINT)
        return False
    try:
        kind = model.Mysql if connector == "mysql" else model.Postgres
        intake = kind(url=options["url"], table=options["table"])
        description = reading.describe(tree.name, intake)
    except HeadwaterError as cause:
        detail = f"{cause.summary[:1].upper()}{cause.summary[1:]}. {cause.detail or ''}".strip()
        written = "write its columns out: (id INT PRIMARY KEY, name STRING, …)."
        hint = f"{cause.hint} Or {written}" if cause.hint else f"W{written[1:]}"
        what = f"{reading.title} leaves its columns to its database, and they are not known"
        reading.refuse(ColumnsUnknown, tree.this, what, detail=detail, hint=hint)
        return False
    return _Completion(reading, tree, description, options).is_made()


class _Completion:
    """The part that is added to a statement; all of it stands where its name does."""

    def __init__(
        self, reading: Reading, tree: CreateTopic, description: model.Description, options: dict[str, str]
    ) -> None:
        self._reading, self._tree, self._description, self._options = reading, tree, description, options
        watermark = next((part for part in tree.expressions if isinstance(part, Watermark)), None)
        self._time = options.get("message_time") or (watermark.name if watermark else COMMITTED_AT)
        self._is_timed = watermark is not None
        self._is_keyed = any(isinstance(part, KeyClause) for part in tree.expressions)

    def is_made(self) -> bool:
        """Tells whether the statement could be completed."""
        names = {name.lower() for name, _ in self._description.columns}
        if not (self._is_keyed or self._description.primary_key):
            name = self._options["table"]
            what = f'{self._reading.title} has no primary key, and "{name}" has none in its database'
            hint = (
                f"Run ALTER TABLE {name} ADD PRIMARY KEY (…) there; or, if rows have a key that nobody declared, write "
                f"(PRIMARY KEY (…)) here and run ALTER TABLE {name} REPLICA IDENTITY FULL there."
            )
            self._reading.refuse(ClauseRefused, self._tree.this, what, hint=hint)
            return False
        if self._time.lower() in names and "message_time" not in self._options:
            what = f'{self._reading.title} has a column "{self._time}" in its database'
            detail = "The order of its changes is that of their commits, and a column takes the time of them."
            hint = f"Say message_time = 'changed_at', or another name that none of {', '.join(sorted(names))} has."
            self._reading.refuse(OptionRefused, self._tree.this, what, detail=detail, hint=hint)
            return False
        self._tree.set("expressions", [*self._parts(names), *self._tree.expressions])
        self._tree.set("options", [*(self._tree.args.get("options") or ()), *self._added_options()])
        return True

    def _parts(self, names: set[str]) -> Iterator[exp.Expr]:
        for name, kind in self._description.columns:
            yield self._column(name, kind)
        if self._time.lower() not in names:
            yield self._column(self._time, "TIMESTAMP")
        transaction = self._options.get("transaction")
        if transaction is not None and transaction.lower() not in names:
            yield self._column(transaction, "STRING")
        if not self._is_timed:
            yield Watermark(this=self._name(self._time), expression=self._name(self._time))
        if not self._is_keyed:
            yield KeyClause(expressions=[self._name(name) for name in self._description.primary_key])

    def _added_options(self) -> Iterator[Option]:
        for name, value in (("message_time", self._time), ("idle", IDLE)):
            if name not in self._options:
                text = exp.Literal.string(value).update_positions(self._tree.this)
                yield Option(this=self._name(name), expression=text)

    def _column(self, name: str, kind: str) -> ColumnClause:
        return ColumnClause(this=self._name(name), kind=sqlglot_type(parse_type(kind)))

    def _name(self, name: str) -> exp.Identifier:
        identifier = exp.to_identifier(name, quoted=True)
        identifier.update_positions(self._tree.this)
        return identifier
