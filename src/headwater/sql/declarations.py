"""Text to model: every declaration of a file, and everything that is wrong with it.

A statement that can't be read doesn't hide the next one. Within a statement the first mistake of syntax ends its
reading; what is wrong in meaning (an unknown option, a key that isn't there) is found all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.errors import (
    ClauseRefused,
    DeclarationError,
    DuplicateName,
    EmitRefused,
    Finding,
    KeyNotInOutput,
    LengthIgnored,
    Origin,
    ReservedName,
    SyntaxRefused,
    UnknownColumn,
    UnknownType,
    WatermarkRefused,
)
from headwater.model.column import RESERVED_PREFIX
from headwater.sql.dialect import Headwater
from headwater.sql.interval import interval
from headwater.sql.nodes import (
    ColumnClause,
    CreateFunction,
    CreateTopic,
    CreateView,
    KeyClause,
    LearnedDelay,
    PersonalClause,
    Watermark,
)
from headwater.sql.options import read_options
from headwater.sql.parser import first_offset
from headwater.sql.refusal import Refusal, Unparsed, did_you_mean
from headwater.sql.source import Source, Statement, statements, tokenize
from headwater.sql.spelling import spell
from headwater.sql.types import arrow_type, has_length

T = TypeVar("T")

_STATEMENT_HINT = "A declaration starts with CREATE STREAM, TABLE, SOURCE, VIEW, MATERIALIZED VIEW or FUNCTION."
_EMITS = {"CHANGES": model.Emit.CHANGES, "FINAL": model.Emit.FINAL, "ON WINDOW CLOSE": model.Emit.FINAL}


@dataclass(frozen=True)
class Parsed:
    """What a file declares, and what was found wrong.

    `findings` holds errors and cautions in the order of the text; a declaration with an error isn't among
    `declarations`, and `refused` has its name if it could be read.
    """

    declarations: tuple[model.Declaration, ...] = ()
    findings: tuple[Finding | SyntaxRefused, ...] = ()
    refused: frozenset[str] = frozenset()


def parse_declarations(text: str, file: str) -> Parsed:
    """Read a file of declarations.

    >>> parsed = parse_declarations("CREATE VIEW big AS SELECT * FROM orders WHERE amount > 100", "views.sql")
    >>> parsed.declarations[0].name, str(parsed.declarations[0].origin)
    ('big', 'views.sql:1:1')
    """
    source = Source(text, Origin(file))
    tokens, problem = tokenize(text)
    found = list(statements(text, tokens))
    if problem and found and text.count(";", found[-1].tokens[-1].end, problem.start) == 0:
        found.pop()
    readers = [_Reader(source, statement) for statement in found]
    declarations = [reader.read() for reader in readers]
    findings = [finding for reader in readers for finding in reader.findings]
    if problem:
        findings.append(_syntax(source, problem, "the text"))
    return Parsed(
        tuple(found for found in declarations if found is not None),
        tuple(findings),
        frozenset(
            reader.name for reader, found in zip(readers, declarations, strict=True) if found is None and reader.name
        ),
    )


def _syntax(source: Source, problem: Unparsed, what: str) -> SyntaxRefused:
    place = f'at "{problem.found}"' if problem.found else "at its end"
    reason = problem.reason.removesuffix(".")
    return SyntaxRefused(
        f"{what} can't be parsed {place}", detail=f"{reason[:1].upper()}{reason[1:]}.", origin=source.at(problem.start)
    )


class _Reader:
    """Reads one statement; collects what is wrong with it."""

    def __init__(self, source: Source, statement: Statement) -> None:
        self.source = source
        self.statement = statement
        self.findings: list[Finding | SyntaxRefused] = []
        self.name = ""
        self.kind = "statement"

    # Findings

    def find(self, refusal: Refusal) -> None:
        """Keep a refusal as a finding with its place."""
        finding = refusal.kind(
            refusal.summary, detail=refusal.detail, hint=refusal.hint, origin=self.source.at(refusal.start)
        )
        assert isinstance(finding, (Finding, SyntaxRefused))
        self.findings.append(finding)

    def refuse(self, kind: type[DeclarationError], node: exp.Expr, summary: str, **reason: Any) -> None:
        """Find something wrong with a node."""
        self.find(Refusal(first_offset(node) or 0, summary, kind=kind, **reason))

    @property
    def title(self) -> str:
        return f'{self.kind} "{self.name}"' if self.name else f"the {self.kind}"

    def origin(self, node: exp.Expr) -> Origin:
        return self.source.at(first_offset(node) or 0)

    # Statements

    def read(self) -> model.Declaration | None:
        """The declaration, or None if it is refused."""
        tree = self._tree()
        declared: model.Declaration | None = None
        if isinstance(tree, CreateTopic):
            declared = self._topic(tree)
        elif isinstance(tree, CreateView):
            declared = self._view(tree)
        elif isinstance(tree, CreateFunction):
            declared = self._function(tree)
        return None if any(not _is_caution(finding) for finding in self.findings) else declared

    def _tree(self) -> exp.Expr | None:
        first = self.statement.tokens[0]
        self._guess_title()
        if first.text.upper() != "CREATE":
            summary = f'"{first.text}" doesn\'t start a declaration'
            self.find(Refusal(first.start, summary, hint=_STATEMENT_HINT))
            return None
        try:
            return Headwater().parser().parse(list(self.statement.tokens), self.source.text)[0]
        except Refusal as refusal:
            refusal.detail = refusal.detail or (f"It stands in {self.title}." if self.name else None)
            self.find(refusal)
        except Unparsed as problem:
            self.findings.append(_syntax(self.source, problem, self.title))
        except RecursionError:
            self.find(Refusal(first.start, f"{self.title} is nested too deeply to be read"))
        return None

    def _guess_title(self) -> None:
        """Kind and name from the first words, so that a statement that can't be read is named in its finding."""
        words = [token.text for token in self.statement.tokens[:8]]
        upper = [word.upper() for word in words]
        kinds = ("STREAM", "TABLE", "SOURCE", "VIEW", "FUNCTION")
        at = next((index for index, word in enumerate(upper[:5]) if word in kinds), None)
        if upper[:1] != ["CREATE"] or at is None:
            return
        self.kind = " ".join(words[1 : at + 1]).lower() if "MATERIALIZED" in upper[:at] else words[at].lower()
        rest = at + (4 if upper[at + 1 : at + 4] == ["IF", "NOT", "EXISTS"] else 1)
        self.name = words[rest] if rest < len(words) and words[rest] != "(" else ""

    # Streams and tables

    def _topic(self, tree: CreateTopic) -> model.Stream | model.Table | None:
        columns = self._columns([part for part in tree.expressions if isinstance(part, ColumnClause)])
        watermarks = self._at_most_one(tree, Watermark)
        keys = self._primary_keys(tree)
        self.kind = self._topic_kind(tree, bool(keys), bool(watermarks))
        time, watermark = self._watermark(watermarks[0], columns) if watermarks else (None, None)
        values, refusals = read_options(self.kind, self.name, tree.args.get("options") or ())
        for refusal in refusals:
            self.find(refusal)
        shared: dict[str, Any] = {
            "name": tree.name,
            "time": time,
            "watermark": watermark,
            "personal": self._personal(tree, columns),
            "comment": self._comment(tree),
            "origin": self.origin(tree),
            **values,
        }
        if self.kind == "table":
            primary = tuple(self._resolve(KeyNotInOutput, key, columns, "PRIMARY KEY") for key in keys)
            return model.Table(columns=_required(columns, primary), primary_key=primary, **shared)
        for option in tree.args.get("options") or ():
            if (
                option.name.lower() in ("key", "unique")
                and values.get(option.name.lower(), model.CONTENT) != model.CONTENT
            ):
                shared[option.name.lower()] = self._resolve_option(option, values, columns)
        return model.Stream(columns=columns, **shared)

    def _topic_kind(self, tree: CreateTopic, keyed: bool, timed: bool) -> str:
        word = tree.text("kind")
        if word == "STREAM" and keyed:
            node = next(part for part in tree.expressions if isinstance(part, KeyClause) or part.args.get("primary"))
            hint = "Say unique = '…' in its options if the columns identify an event, or write CREATE TABLE."
            self.refuse(ClauseRefused, node, f'stream "{self.name}" has a primary key', hint=hint)
        if word == "TABLE" and not keyed and not timed:
            hint = "Add PRIMARY KEY (…) if rows replace each other, WATERMARK FOR … AS … if they are events."
            self.refuse(
                ClauseRefused, tree, f'table "{self.name}" has neither a primary key nor a watermark', hint=hint
            )
        return "table" if keyed and word != "STREAM" else "stream"

    def _at_most_one(self, tree: CreateTopic, kind: type[T]) -> list[T]:
        found = [part for part in tree.expressions if isinstance(part, kind)]
        for other in found[1:]:
            assert isinstance(other, exp.Expr)
            self.refuse(ClauseRefused, other, f"{self.title} has two clauses of one kind")
        return found[:1]

    def _columns(self, clauses: list[ColumnClause]) -> tuple[model.Column, ...]:
        columns: dict[str, model.Column] = {}
        for clause in clauses:
            column = self._column(clause)
            if column.name.startswith(RESERVED_PREFIX):
                detail = f'Names that start with "{RESERVED_PREFIX}" belong to the log.'
                self.refuse(ReservedName, clause, f'{self.title} declares a column "{column.name}"', detail=detail)
            if column.name.lower() in columns:
                self.refuse(DuplicateName, clause, f'{self.title} declares the column "{column.name}" twice')
            if not model.can_be_logged(column.type):
                self._refuse_type(clause)
            columns[column.name.lower()] = column
        return tuple(columns.values())

    def _column(self, clause: ColumnClause) -> model.Column:
        comment = clause.args.get("comment")
        return model.Column(
            clause.name,
            self._type(clause),
            nullable=not clause.args.get("required"),
            comment=comment.name or None if comment else None,
            origin=self.origin(clause),
        )

    def _type(self, clause: exp.Expr, key: str = "kind") -> pa.DataType:
        kind = clause.args[key]
        if has_length(kind):
            summary = f'{self.title} declares "{clause.name}" with a length that isn\'t enforced'
            self.refuse(LengthIgnored, kind, summary, hint="Declare it as STRING.")
        try:
            return arrow_type(kind)
        except UnknownType as problem:
            self.find(Refusal(first_offset(kind) or 0, problem.summary, problem.detail, problem.hint, UnknownType))
            return pa.string()

    def _refuse_type(self, clause: ColumnClause) -> None:
        kind = spell(clause.args["kind"])
        self.refuse(
            UnknownType,
            clause.args["kind"],
            f'{self.title} declares "{clause.name}" as {kind}, which the log can\'t keep',
            hint="Keep it as a STRING or a number and convert it in a view.",
        )

    def _primary_keys(self, tree: CreateTopic) -> list[exp.Expr]:
        clauses = self._at_most_one(tree, KeyClause)
        columns = [part for part in tree.expressions if isinstance(part, ColumnClause) and part.args.get("primary")]
        if (clauses and columns) or len(columns) > 1:
            hint = "Write one PRIMARY KEY (…) with all its columns."
            self.refuse(ClauseRefused, columns[-1], f"{self.title} has two primary keys", hint=hint)
        return clauses[0].expressions if clauses else [column.this for column in columns[:1]]

    def _resolve(
        self,
        kind: type[Finding],
        node: exp.Expr,
        columns: tuple[model.Column, ...],
        where: str,
        name: str | None = None,
    ) -> str:
        """The declared spelling of a column that a clause names."""
        wanted = name or node.name
        found = next((column.name for column in columns if column.name.lower() == wanted.lower()), None)
        if found is None:
            summary = f'{self.title} names an unknown column "{wanted}" in {where}'
            hint = did_you_mean(wanted, (column.name for column in columns))
            self.refuse(kind, node, summary, hint=hint)
        return found or wanted

    def _resolve_option(
        self, option: exp.Expr, values: dict[str, Any], columns: tuple[model.Column, ...]
    ) -> tuple[str, ...]:
        word = option.name.lower()
        where = f'option "{word}"'
        return tuple(self._resolve(KeyNotInOutput, option.expression, columns, where, name) for name in values[word])

    def _personal(self, tree: CreateTopic, columns: tuple[model.Column, ...]) -> tuple[model.Personal, ...]:
        def resolve(node: exp.Expr) -> str:
            return self._resolve(UnknownColumn, node, columns, "PERSONAL")

        clauses = [part for part in tree.expressions if isinstance(part, PersonalClause)]
        return tuple(
            model.Personal(tuple(map(resolve, clause.expressions)), resolve(clause.this)) for clause in clauses
        )

    # Watermarks

    def _watermark(self, clause: Watermark, columns: tuple[model.Column, ...]) -> tuple[str, model.WatermarkStrategy]:
        time = self._time_column(clause.this, columns)
        rule = clause.expression
        if isinstance(rule, exp.Identifier):
            if rule.name.lower() == clause.this.name.lower():
                return time, model.Bounded()
            return time, model.Punctuated(self._time_column(rule, columns))
        delay = rule.expression
        if isinstance(delay, LearnedDelay):
            return time, self._quantile(delay)
        length = interval(delay)
        assert length is not None
        return time, model.Bounded(length)

    def _time_column(self, node: exp.Expr, columns: tuple[model.Column, ...]) -> str:
        name = self._resolve(UnknownColumn, node, columns, "WATERMARK")
        column = next((column for column in columns if column.name == name), None)
        if column is not None and column.type != model.INSTANT:
            summary = f'{self.title} takes time from "{name}", which is a {model.spell_type(column.type)}'
            hint = f"Declare it as {name} TIMESTAMP."
            self.refuse(WatermarkRefused, node, summary, hint=hint)
        return name

    def _quantile(self, delay: LearnedDelay) -> model.Quantile:
        share = float(delay.name)
        least, most = interval(delay.args["least"]), interval(delay.args["most"])
        assert least is not None
        assert most is not None
        if not 0 < share < 1:
            hint = "Write a share between 0 and 1, like 0.999."
            self.refuse(WatermarkRefused, delay.this, f"{self.title} has a QUANTILE of {delay.name}", hint=hint)
        if least > most:
            hint = "QUANTILE takes the share, the least delay and the most."
            self.refuse(WatermarkRefused, delay, f"{self.title} has a least delay above its most", hint=hint)
        return model.Quantile(share, least, most)

    def _comment(self, tree: exp.Expr) -> str | None:
        comment = tree.args.get("comment")
        return comment.name or None if comment else self.statement.comment

    # Views and functions

    def _view(self, tree: CreateView) -> model.View:
        materialized = bool(tree.args.get("materialized"))
        kind = "materialized view" if materialized else "view"
        values, refusals = read_options(kind, self.name, tree.args.get("options") or ())
        for refusal in refusals:
            self.find(refusal)
        emit = self._emit(tree, materialized, values.pop("emit", None))
        return model.View(
            name=tree.name,
            query=self._query(tree.expression),
            materialized=materialized,
            emit=emit,
            comment=self._comment(tree),
            origin=self.origin(tree),
            **values,
        )

    def _emit(self, tree: CreateView, materialized: bool, option: model.Emit | None) -> model.Emit | None:
        clause = tree.args.get("emit")
        if clause is None:
            return option
        emit = _EMITS[clause.name]
        if not materialized:
            hint = "Write CREATE MATERIALIZED VIEW, or leave EMIT out."
            self.refuse(EmitRefused, clause, f"{self.title} emits nothing: it isn't materialized", hint=hint)
        if option is not None and option != emit:
            summary = f"{self.title} says EMIT {clause.name} and emit = '{option.value}'"
            self.refuse(EmitRefused, clause, summary, hint="Say it once.")
        return emit

    def _query(self, query: exp.Expr) -> model.SqlQuery:
        start, end = query.meta["query_span"]
        return model.SqlQuery(spell(query), self.source.text[start:end], self.source.at(start))

    def _function(self, tree: CreateFunction) -> model.Function:
        names = [clause.name.lower() for clause in tree.expressions]
        for index, clause in enumerate(tree.expressions):
            if names.index(names[index]) < index:
                self.refuse(DuplicateName, clause, f'{self.title} declares the parameter "{clause.name}" twice')
        return model.Function(
            name=tree.name,
            parameters=tuple(self._column(clause) for clause in tree.expressions),
            returns=self._type(tree, "returns"),
            body=spell(tree.expression),
            comment=self._comment(tree),
            origin=self.origin(tree),
        )


def _is_caution(finding: Finding | SyntaxRefused) -> bool:
    return isinstance(finding, Finding) and finding.severity == "warning"


def _required(columns: tuple[model.Column, ...], names: tuple[str, ...]) -> tuple[model.Column, ...]:
    """The columns, those of the primary key NOT NULL: a row without its key can't be folded."""
    replaced: Callable[[model.Column], model.Column] = lambda column: (  # noqa: E731
        model.Column(column.name, column.type, False, column.comment, column.origin) if column.name in names else column
    )
    return tuple(map(replaced, columns))
