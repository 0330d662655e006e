"""Streams and tables: from their statement to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.errors import Finding
from headwater.findings import (
    ClauseRefused,
    DuplicateName,
    KeyNotInOutput,
    OptionRefused,
    ReservedName,
    UnknownColumn,
    UnknownType,
    WatermarkRefused,
)
from headwater.model.column import RESERVED_PREFIX
from headwater.sql.described import complete, lacks_columns
from headwater.sql.intake_options import INTAKE
from headwater.sql.intakes import TopicReading, options_of_package, read_intake
from headwater.sql.interval import interval
from headwater.sql.nodes import ColumnClause, CreateTopic, KeyClause, LearnedDelay, PersonalClause, Watermark
from headwater.sql.options import read_options
from headwater.sql.reading import Reading
from headwater.sql.refusal import did_you_mean
from headwater.sql.spelling import spell

T = TypeVar("T", bound=exp.Expr)


def read_topic(reading: Reading, tree: CreateTopic) -> model.Stream | model.Table | None:
    """The stream or table that a statement declares; what is wrong with it goes to the reading's findings.

    None if it leaves its columns to a database that doesn't tell them.
    """
    if lacks_columns(tree) and not complete(reading, tree):
        return None
    return _TopicReader(reading, tree).read()


class _TopicReader:
    """One statement and the columns that its clauses may name."""

    def __init__(self, reading: Reading, tree: CreateTopic) -> None:
        self.reading, self.tree = reading, tree
        self.columns = self._columns()

    def read(self) -> model.Stream | model.Table:
        watermarks, keys = self._at_most_one(Watermark), self._primary_keys()
        self.reading.kind = self._kind(bool(keys), bool(watermarks))
        time, watermark = self._watermark(watermarks[0]) if watermarks else (None, None)
        shared: dict[str, Any] = {
            "name": self.tree.name,
            "time": time,
            "watermark": watermark,
            "personal": self._personal(),
            "comment": self.reading.comment(self.tree),
            "origin": self.reading.origin(self.tree),
            **self._options(),
        }
        if watermarks:
            self._refuse_time(watermarks[0], shared)
        if self.reading.kind == "stream":
            return model.Stream(columns=self.columns, **shared)
        primary = tuple(self._resolve(KeyNotInOutput, key, "PRIMARY KEY") for key in keys)
        # a row without its key can't be folded
        columns = (replace(column, nullable=column.nullable and column.name not in primary) for column in self.columns)
        return model.Table(columns=tuple(columns), primary_key=primary, **shared)

    def _refuse(self, kind: type[Finding], node: exp.Expr, what: str, **reason: str | None) -> None:
        self.reading.refuse(kind, node, f"{self.reading.title} {what}", **reason)

    def _options(self) -> dict[str, Any]:
        every = self.tree.args.get("options") or ()
        beside = options_of_package(every)
        ours = [option for option in every if option not in beside]
        values, refusals = read_options(self.reading.kind, self.reading.name, ours)
        for refusal in refusals:
            self.reading.find(refusal)
        for option in ours:
            word = option.name.lower()
            if word in ("key", "unique") and values.get(word, model.CONTENT) != model.CONTENT:
                where = f'option "{word}"'
                values[word] = tuple(
                    self._resolve(KeyNotInOutput, option.expression, where, name) for name in values[word]
                )
            if word == "unknown_fields" and str(values.get(word, "")).startswith("keep"):
                values[word] = self._keep(option, values[word].removeprefix("keep").strip())
        of_intake = {kind.name: values.pop(kind.name) for kind in INTAKE if kind.name in values}
        named = {option.name.lower(): option for option in ours}
        reading = TopicReading(self.columns, self._resolve, self._refuse, self.reading.kind == "table")
        intake = read_intake(reading, named, of_intake, beside)
        if isinstance(intake, model.Postgres) and intake.message_id is not None and self.reading.kind == "stream":
            values.setdefault("unique", (intake.message_id,))
        return values | {"intake": intake}

    def _keep(self, option: exp.Expr, name: str) -> str:
        """The column that keeps unknown fields: the one that is named, or the only one that can."""
        able = [column.name for column in self.columns if column.type == pa.map_(pa.string(), pa.string())]
        column = self._resolve(KeyNotInOutput, option.expression, 'option "unknown_fields"', name) if name else None
        if column is None and len(able) == 1:
            column = able[0]
        if column is None or (column not in able and column in {known.name for known in self.columns}):
            what = (
                "keeps unknown fields in no column that can have them"
                if column or not able
                else ("doesn't say in which column unknown fields are kept")
            )
            shown = (
                f"Say unknown_fields = 'keep {able[0]}'."
                if able
                else ("Declare a column for them, like rest MAP<STRING, STRING>: names, and their values as JSON.")
            )
            self._refuse(OptionRefused, option.expression, what, hint=shown)
        return f"keep {column or name}"

    def _kind(self, keyed: bool, timed: bool) -> str:
        word = self.tree.text("kind")
        if word == "STREAM" and keyed:
            node = next(
                part for part in self.tree.expressions if isinstance(part, KeyClause) or part.args.get("primary")
            )
            hint = "Say unique = '…' in its options if the columns identify an event, or write CREATE TABLE."
            self._refuse(ClauseRefused, node, "has a primary key", hint=hint)
        if word == "TABLE" and not keyed and not timed:
            hint = "Add PRIMARY KEY (…) if rows replace each other, WATERMARK FOR … AS … if they are events."
            self._refuse(ClauseRefused, self.tree, "has neither a primary key nor a watermark", hint=hint)
        return "table" if keyed and word != "STREAM" else "stream"

    def _at_most_one(self, kind: type[T]) -> list[T]:
        clauses = [part for part in self.tree.expressions if isinstance(part, kind)]
        for other in clauses[1:]:
            what = "watermarks" if kind is Watermark else "primary keys"
            self._refuse(ClauseRefused, other, f"has two {what}", hint="Leave one of them out.")
        return clauses[:1]

    def _columns(self) -> tuple[model.Column, ...]:
        columns: dict[str, model.Column] = {}
        for clause in (part for part in self.tree.expressions if isinstance(part, ColumnClause)):
            column = self.reading.column(clause)
            if column.name.startswith(RESERVED_PREFIX):
                detail = f'Names that start with "{RESERVED_PREFIX}" belong to the log.'
                hint = f"Name it {column.name.lstrip(RESERVED_PREFIX) or 'name'}."
                self._refuse(ReservedName, clause, f'declares a column "{column.name}"', detail=detail, hint=hint)
            if column.name.lower() in columns:
                hint = "Leave one of them out, or give it another name."
                self._refuse(DuplicateName, clause, f'declares the column "{column.name}" twice', hint=hint)
            if not model.can_be_logged(column.type):
                self._refuse_type(clause)
            if column.default is not None:
                self._refuse_default(clause, column)
            columns[column.name.lower()] = column
        self._refuse_aliases(columns)
        return tuple(columns.values())

    def _refuse_default(self, clause: ColumnClause, column: model.Column) -> None:
        try:
            model.default_of(column.default, column.type)
        except ValueError as problem:
            what = f'gives the column "{column.name}" a default that it can\'t have'
            hint = f"Write a value of type {model.spell_type(column.type)}, or leave DEFAULT out."
            self._refuse(ClauseRefused, clause.args["default"], what, detail=f"{problem}.", hint=hint)

    def _refuse_aliases(self, columns: dict[str, model.Column]) -> None:
        """Refuse a former name that is another column's, or that of two."""
        taken = set(columns)
        for clause in (part for part in self.tree.expressions if isinstance(part, ColumnClause)):
            for alias in clause.args.get("aliases") or ():
                if alias.name.lower() in taken:
                    what = f'gives the column "{clause.name}" the alias "{alias.name}", which is a name already'
                    self._refuse(DuplicateName, alias, what, hint="An alias is a name that no column has any more.")
                taken.add(alias.name.lower())

    def _refuse_type(self, clause: ColumnClause) -> None:
        kind = clause.args["kind"]
        what = f'declares "{clause.name}" as {spell(kind)}, which the log can\'t keep'
        self._refuse(UnknownType, kind, what, hint="Keep it as a STRING or a number and convert it in a view.")

    def _primary_keys(self) -> list[exp.Expr]:
        clauses = self._at_most_one(KeyClause)
        columns = [
            part for part in self.tree.expressions if isinstance(part, ColumnClause) and part.args.get("primary")
        ]
        if (clauses and columns) or len(columns) > 1:
            hint = "Write one PRIMARY KEY (…) with all its columns."
            self._refuse(ClauseRefused, columns[-1], "has two primary keys", hint=hint)
        return clauses[0].expressions if clauses else [column.this for column in columns[:1]]

    def _resolve(self, kind: type[Finding], node: exp.Expr, where: str, name: str | None = None) -> str:
        """The declared spelling of a column that a clause names."""
        wanted = name or node.name
        spelled = next((column.name for column in self.columns if column.name.lower() == wanted.lower()), None)
        if spelled is None:
            known = [column.name for column in self.columns]
            hint = did_you_mean(wanted, known) or f"Its columns are {', '.join(known)}."
            self._refuse(kind, node, f'names an unknown column "{wanted}" in {where}', hint=hint)
        return spelled or wanted

    def _personal(self) -> tuple[model.Personal, ...]:
        def resolve(node: exp.Expr) -> str:
            return self._resolve(UnknownColumn, node, "PERSONAL")

        clauses = [part for part in self.tree.expressions if isinstance(part, PersonalClause)]
        return tuple(
            model.Personal(tuple(map(resolve, clause.expressions)), resolve(clause.this)) for clause in clauses
        )

    # Watermarks

    def _watermark(self, clause: Watermark) -> tuple[str, model.WatermarkStrategy]:
        time = self._time_column(clause.this)
        rule = clause.expression
        if isinstance(rule, exp.Identifier):
            if rule.name.lower() == clause.this.name.lower():
                return time, model.Bounded()
            return time, model.Punctuated(self._time_column(rule))
        delay = rule.expression
        if isinstance(delay, LearnedDelay):
            return time, self._quantile(delay)
        length = interval(delay)
        assert length is not None
        return time, model.Bounded(length)

    def _time_column(self, node: exp.Expr) -> str:
        name = self._resolve(UnknownColumn, node, "WATERMARK")
        column = next((column for column in self.columns if column.name == name), None)
        if column is not None and column.type != model.INSTANT:
            what = f'takes time from "{name}", which is a {model.spell_type(column.type)}'
            self._refuse(WatermarkRefused, node, what, hint=f"Declare it as {name} TIMESTAMP.")
        return name

    def _refuse_time(self, clause: Watermark, values: Mapping[str, Any]) -> None:
        """Refuse an event time of a copied table that isn't the time of the commits: its order would be another one."""
        intake, time = values["intake"], values["time"]
        if isinstance(intake, model.Postgres) and intake.outbox is not None:
            return
        if not isinstance(intake, model.Postgres | model.Mysql) or intake.message_time == time:
            return
        what = f'has the event time "{time}", and the order of its changes is that of their commits'
        detail = "By event time, an older row or one that was deleted could count as the newest."
        hint = "Write WATERMARK FOR committed_at AS committed_at, a TIMESTAMP, and message_time = 'committed_at'."
        self._refuse(WatermarkRefused, clause, what, detail=detail, hint=hint)

    def _quantile(self, delay: LearnedDelay) -> model.Quantile:
        share = float(delay.name)
        least, most = interval(delay.args["least"]), interval(delay.args["most"])
        assert least is not None
        assert most is not None
        if not 0 < share < 1:
            hint = "Write a share between 0 and 1, like 0.999."
            self._refuse(WatermarkRefused, delay.this, f"has a QUANTILE of {delay.name}", hint=hint)
        if least > most:
            hint = "QUANTILE takes the share, the least delay and the most."
            self._refuse(WatermarkRefused, delay, "has a least delay above its most", hint=hint)
        return model.Quantile(share, least, most)
