"""Queries: their trees, their canonical text, and the origin of every node in the user's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.errors import Origin
from headwater.findings import SyntaxRefused
from headwater.model import Column, SqlQuery
from headwater.sql.dialect import Headwater
from headwater.sql.lost import lost
from headwater.sql.nodes import ColumnClause
from headwater.sql.parser import first_offset
from headwater.sql.reading import column_of
from headwater.sql.refusal import Refusal, Unparsed
from headwater.sql.source import Source, tokenize
from headwater.sql.spelling import spell, spell_name
from headwater.sql.statements import HeadwaterParser
from headwater.sql.types import arrow_type

_NOWHERE = Origin("<text>")


def _source(query: SqlQuery) -> Source:
    return Source(query.written or query.sql, query.origin or _NOWHERE)


def _parse(
    read: Callable[[HeadwaterParser], exp.Expr | None], source: Source, dialect: type[Dialect] = Headwater
) -> exp.Expr:
    tokens, unread = tokenize(source.text)
    parser: type[HeadwaterParser] = dialect.Parser  # type: ignore[attr-defined]  # each dialect has its own
    try:
        if unread:
            raise unread
        return parser(dialect=dialect).read_whole(read, tokens, source.text)
    except Unparsed as problem:
        raise lost(source, problem, "the text", tokens) from None
    except RecursionError:
        raise SyntaxRefused("the text is nested too deeply to be read", origin=source.origin) from None
    except Refusal as refusal:
        raise refusal.kind(
            refusal.summary, detail=refusal.detail, hint=refusal.hint, origin=source.at(refusal.start)
        ) from None


def parse_query(query: SqlQuery) -> exp.Query:
    """The tree of a query, read from its author's text, so that `origin_of` knows where each node stands."""
    tree = _parse(HeadwaterParser.parse_view_query, _source(query))
    assert isinstance(tree, exp.Query)
    return tree


def read_query(text: str, dialect: type[Dialect]) -> exp.Query:
    """The tree of a query that belongs to no view, by the parser of another form of the dialect."""
    tree = _parse(HeadwaterParser.parse_view_query, Source(text, _NOWHERE), dialect)
    assert isinstance(tree, exp.Query)
    return tree


def parse_expression(text: str) -> exp.Expr:
    """The tree of an expression, like the body of a function."""
    return _parse(HeadwaterParser.parse_body, Source(text, _NOWHERE))


def parse_type(text: str) -> pa.DataType:
    """A type from its name in SQL.

    >>> parse_type("MAP<STRING, DECIMAL(12, 2)>")
    MapType(map<string, decimal128(12, 2)>)
    """
    kind = _parse(HeadwaterParser.parse_column_type, Source(text, _NOWHERE))
    assert isinstance(kind, exp.DataType)
    return arrow_type(kind)


def parse_column(name: str, text: str) -> Column:
    """A column from its name and the rest of its declaration.

    >>> print(parse_column("id", "STRING NOT NULL COMMENT 'of the order'"))
    id STRING NOT NULL
    """
    clause = _parse(HeadwaterParser.parse_column_clause, Source(f"{spell_name(name)} {text}", _NOWHERE))
    assert isinstance(clause, ColumnClause)
    return replace(column_of(clause, arrow_type(clause.args["kind"])), name=name)


def canonical(sql: str) -> str:
    """A query in its canonical spelling; two spellings of one query have the same.

    >>> canonical("select A from table(tumble(table t, descriptor(at), interval 1 minute))")
    "SELECT A FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
    """
    return spell(parse_query(SqlQuery(sql)))


def origin_of(node: exp.Expr, query: SqlQuery) -> Origin:
    """The origin of a node in the user's file: its own, else that of its first part, else of what it stands in."""
    source = _source(query)
    around: exp.Expr | None = node
    while around is not None:
        start = first_offset(around)
        if start is not None:
            return source.at(start)
        around = around.parent
    return source.origin


def origin_at(start: int, query: SqlQuery) -> Origin:
    """The origin in the user's file of an offset in a query's text."""
    return _source(query).at(start)
