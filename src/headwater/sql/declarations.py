"""Text to model: every declaration of a file, and everything that is wrong with it.

A statement that can't be read doesn't hide the next one. Within a statement the first mistake of syntax ends its
reading; what is wrong in meaning (an unknown option, a key that isn't there) is told all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from headwater import model
from headwater.errors import Finding, Origin, SourceUnavailable
from headwater.findings import ClauseRefused, DuplicateName, EmitRefused, ForeignSpelling, SyntaxRefused
from headwater.sql.dialect import Headwater
from headwater.sql.interval import interval
from headwater.sql.lost import lost
from headwater.sql.nodes import CreateFunction, CreateOutlet, CreateTopic, CreateView
from headwater.sql.options import SERVING, read_options
from headwater.sql.outlets import read_outlet
from headwater.sql.reading import Reading
from headwater.sql.refusal import Refusal, Unparsed
from headwater.sql.source import Source, statements, tokenize
from headwater.sql.spelling import spell
from headwater.sql.topics import read_topic
from headwater.sql.translation import grace_of
from headwater.sql.unknown import unknown_statement

_EMITS = {"CHANGES": model.Emit.CHANGES, "FINAL": model.Emit.FINAL, "ON WINDOW CLOSE": model.Emit.FINAL}


@dataclass(frozen=True)
class Parsed:
    """The declarations of a file, and what is wrong in it.

    `findings` holds errors and cautions in the order of the text; a declaration with an error isn't among
    `declarations`, and `refused` has its name if it could be read.
    """

    declarations: tuple[model.Declaration, ...] = ()
    findings: tuple[Finding | SyntaxRefused, ...] = ()
    refused: frozenset[str] = frozenset()


def undescribed(name: str, intake: model.Intake) -> model.Description:  # noqa: ARG001
    """Refuse to describe a table: no database is asked here."""
    raise SourceUnavailable(f'the columns of "{name}" are known in its project alone')


def parse_declarations(text: str, file: str, describe: model.Describe = undescribed) -> Parsed:
    """Read a file of declarations. `describe` tells the columns of tables that leave them to their databases.

    >>> parsed = parse_declarations("CREATE VIEW big AS SELECT * FROM orders WHERE amount > 100", "views.sql")
    >>> parsed.declarations[0].name, str(parsed.declarations[0].origin)
    ('big', 'views.sql:1:1')
    """
    text = text.removeprefix("\ufeff")
    source = Source(text, Origin(file))
    tokens, problem = tokenize(text)
    parts = list(statements(text, tokens))
    if problem and parts and ";" not in text[parts[-1].tokens[-1].end : problem.start]:
        parts.pop()
    readings = [Reading(source, statement, describe) for statement in parts]
    declared = [_read(reading) for reading in readings]
    findings = [finding for reading in readings for finding in reading.findings]
    if problem:
        findings.append(lost(source, problem, "the text", tokens))
    refused = (reading.name for reading in readings if reading.refused)
    return Parsed(
        tuple(declaration for declaration in declared if declaration is not None),
        tuple(findings),
        frozenset(name for name in refused if name),
    )


def _read(reading: Reading) -> model.Declaration | None:
    declared: model.Declaration | None = None
    try:
        declared = _declared(reading, _tree(reading))
    except RecursionError:
        start = reading.statement.tokens[0].start
        reading.find(Refusal(start, f"{reading.title} is nested too deeply to be read"))
    return None if reading.refused else declared


def _tree(reading: Reading) -> exp.Expr | None:
    tokens = reading.statement.tokens
    if tokens[0].text.upper() != "CREATE":
        reading.find(unknown_statement(tokens[0]))
        return None
    try:
        return Headwater().parser().parse(list(tokens), reading.source.text)[0]
    except Refusal as refusal:
        refusal.detail = refusal.detail or (f"It stands in {reading.title}." if reading.name else None)
        reading.find(refusal)
    except Unparsed as problem:
        reading.findings.append(lost(reading.source, problem, reading.title, tokens))
    return None


def _declared(reading: Reading, tree: exp.Expr | None) -> model.Declaration | None:
    match tree:
        case CreateTopic():
            return read_topic(reading, tree)
        case CreateView():
            return _view(reading, tree)
        case CreateFunction():
            return _function(reading, tree)
        case CreateOutlet():
            return read_outlet(reading, tree)
        case _:
            return None


def _view(reading: Reading, tree: CreateView) -> model.View:
    kind = "materialized view" if tree.args.get("materialized") else reading.kind
    if kind != reading.kind:
        _caution_of_result(reading, tree)
    values, refusals = read_options(kind, reading.name, tree.args.get("options") or ())
    for refusal in refusals:
        reading.find(refusal)
    emit = _emit(reading, tree, values.pop("emit", None))
    _take_grace(reading, tree, values)
    start, end = tree.expression.meta["query_span"]
    return model.View(
        name=tree.name,
        query=model.SqlQuery(spell(tree.expression), reading.source.text[start:end], reading.source.at(start)),
        materialized=bool(tree.args.get("materialized")),
        emit=emit,
        serving=_serving(values),
        comment=reading.comment(tree),
        origin=reading.origin(tree),
        **values,
    )


def _caution_of_result(reading: Reading, tree: CreateView) -> None:
    """A stream or a table that is the result of a query, as others have it, is a view that is kept."""
    reading.refuse(
        ForeignSpelling,
        tree,
        f"{reading.title} is the result of a query, as others have it",
        detail="It is read as a view that is kept up to date.",
        hint=f"Write CREATE MATERIALIZED VIEW {spell(tree.this)} AS SELECT ….",
    )


def _take_grace(reading: Reading, tree: CreateView, values: dict[str, Any]) -> None:
    """The grace period that a query states itself is that of the view."""
    clause = grace_of(tree.expression)
    grace = interval(clause)
    if clause is None or grace is None:
        return
    if values.setdefault("grace", grace) != grace:
        summary = f"{reading.title} says GRACE PERIOD and another grace = '…'"
        reading.refuse(ClauseRefused, clause, summary, hint="Say it once.")


def _serving(values: dict[str, Any]) -> model.Serving:
    """The options about the layout in stores; they are taken out."""
    served = {option.name: values.pop(option.name) for option in SERVING if option.name in values}
    return model.Serving(indexes=served.pop("index", ()), **served)


def _emit(reading: Reading, tree: CreateView, option: model.Emit | None) -> model.Emit | None:
    clause = tree.args.get("emit")
    if clause is None:
        return option
    emit = _EMITS[clause.name]
    if not tree.args.get("materialized"):
        hint = "Write CREATE MATERIALIZED VIEW, or leave EMIT out."
        reading.refuse(EmitRefused, clause, f"{reading.title} emits nothing: it isn't materialized", hint=hint)
    if option is not None and option != emit:
        summary = f"{reading.title} says EMIT {clause.name} and emit = '{option.value}'"
        reading.refuse(EmitRefused, clause, summary, hint="Say it once.")
    return emit


def _function(reading: Reading, tree: CreateFunction) -> model.Function:
    names = [clause.name.lower() for clause in tree.expressions]
    for index, clause in enumerate(tree.expressions):
        if names[index] in names[:index]:
            summary = f'{reading.title} declares the parameter "{clause.name}" twice'
            reading.refuse(DuplicateName, clause, summary)
    return model.Function(
        name=tree.name,
        parameters=tuple(reading.column(clause) for clause in tree.expressions),
        returns=reading.type_of(tree, "returns"),
        body=spell(tree.expression),
        comment=reading.comment(tree),
        origin=reading.origin(tree),
    )
