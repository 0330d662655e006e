"""Statements: CREATE STREAM, TABLE, SOURCE, [MATERIALIZED] VIEW, FUNCTION, OUTLET, as users of Flink know them.

The reader is strict: what it doesn't know it refuses where it stands, by name where others have such a clause and we
don't, rather than keeping it as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.findings import ClauseRefused
from headwater.sql.nodes import ColumnClause, CreateFunction, CreateOutlet, CreateView
from headwater.sql.parser import QUOTED
from headwater.sql.query_parser import QueryParser
from headwater.sql.refusal import Unparsed
from headwater.sql.topic_parser import TopicParser
from headwater.sql.unknown import unknown_kind

_EMITS = (("CHANGES",), ("FINAL",), ("ON", "WINDOW", "CLOSE"))


class HeadwaterParser(TopicParser):
    """Reads declarations and the queries in them."""

    STATEMENT_PARSERS: ClassVar[dict[TokenType, Callable[..., exp.Expr]]] = {
        **QueryParser.STATEMENT_PARSERS,
        TokenType.CREATE: lambda self: self._parse_declaration(),
    }

    def read_whole(
        self, read: Callable[[HeadwaterParser], exp.Expr | None], tokens: list[Token], text: str
    ) -> exp.Expr:
        """One piece of a language from the whole of a text."""
        if not tokens:
            raise Unparsed("it is empty", 0, None)
        pieces = self._parse(lambda _: read(self), tokens, text)
        if len(pieces) != 1 or pieces[0] is None:
            raise Unparsed("it has to be one piece", 0, None)
        return pieces[0]

    def _parse_declaration(self) -> exp.Expr:
        created = self._prev
        if self._match_pair(TokenType.OR, TokenType.REPLACE):
            hint = "Leave OR REPLACE out and edit the declaration; the project is what its files say."
            self.refuse(self._prev, "a declaration can't be replaced by another", hint=hint, kind=ClauseRefused)
        if self._match_texts(("TEMPORARY", "TEMP", "GLOBAL", "EXTERNAL")):
            word = self._prev.text.upper()
            self.refuse(self._prev, f"{word} means nothing here", hint=f"Leave {word} out.", kind=ClauseRefused)
        if self._match_text_seq("SOURCE", "CONNECTOR") and not self._match(TokenType.L_PAREN, advance=False):
            raise unknown_kind(self._prev, self._prev.start)
        if self._prev.text.upper() == "CONNECTOR":
            self._retreat(self._index - 2)
        if self._match_texts(("STREAM", "TABLE", "SOURCE")):
            kind = self._prev.text.upper()
            results = kind != "SOURCE" and self._is_result()
            statement: exp.Expr = self._parse_view(materialized=True) if results else self._parse_topic(kind)
        elif self._match_text_seq("MATERIALIZED", "VIEW"):
            statement = self._parse_view(materialized=True)
        elif self._match_text_seq("VIEW"):
            statement = self._parse_view(materialized=False)
        elif self._match_text_seq("FUNCTION"):
            statement = self._parse_declared_function()
        elif self._match_text_seq("OUTLET"):
            statement = self._parse_outlet()
        else:
            raise unknown_kind(self._curr or None, self._prev.end + 1)
        if self._curr:
            self.raise_error("expected the end of the statement")
        return self.expression(statement, created)

    def _is_result(self) -> bool:
        """Tells whether a stream or a table is the result of a query: a name, options maybe, and AS with a query."""
        depth, index = 0, self._index + (3 if self._match_text_seq("IF", "NOT", "EXISTS", advance=False) else 0)
        if self._tokens_size > index + 1 and self._tokens[index + 1].token_type is TokenType.L_PAREN:
            return False  # its columns
        for index in range(self._index, self._tokens_size - 1):
            token, behind = self._tokens[index : index + 2]
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if token.token_type is TokenType.ALIAS and depth == 0:
                return behind.token_type in (TokenType.SELECT, TokenType.WITH)
        return False

    def _parse_view(self, materialized: bool) -> CreateView:
        exists = self._parse_if_not_exists()
        name = self._parse_declared_name()
        if self._match(TokenType.L_PAREN, advance=False):
            hint = "Name the columns in the query, with AS."
            self.refuse(None, "a view takes no list of columns", hint=hint, kind=ClauseRefused)
        comment, options = self._parse_comment_and_options("VIEW")
        self.expect_text("AS")
        emit = self._cut_emit()
        query = self.parse_view_query()
        return CreateView(
            this=name,
            expression=query,
            materialized=materialized or None,
            comment=comment,
            options=options,
            emit=emit,
            exists=exists or None,
        )

    def parse_view_query(self) -> exp.Expr:
        """One query, up to the end of the text; its span is kept in `meta["query_span"]`."""
        first, last = self._curr, self._tokens[self._tokens_size - 1]
        query = self._parse_ddl_select()
        if not isinstance(query, exp.Query):
            self.refuse(first, "a view is a query", hint="Write SELECT … behind AS.")
        if self._curr:
            self.raise_error("expected the end of the query")
        query.meta["query_span"] = (first.start, last.end + 1)
        return query

    def _cut_emit(self) -> exp.Expr | None:
        """Take EMIT … from the end of the statement before the query is read, which would take EMIT for an alias."""
        words = ["" if token.token_type in QUOTED else token.text.upper() for token in self._tokens]
        for emit in _EMITS:
            if tuple(words[-len(emit) - 1 :]) == ("EMIT", *emit) and self._index < len(words) - len(emit) - 1:
                token = self._tokens[-len(emit) - 1]
                del self._tokens[-len(emit) - 1 :]
                self._tokens_size = len(self._tokens)
                self._advance(0)
                return exp.var(" ".join(emit)).update_positions(token)
        return None

    def _parse_declared_function(self) -> CreateFunction:
        exists = self._parse_if_not_exists()
        name = self._parse_declared_name()
        parameters = self._parse_parameters()
        self.expect_text("RETURNS")
        if self._match(TokenType.TABLE, advance=False):
            hint = "Declare a view for what has rows."
            self.refuse(None, "a function gives one value, not a table", hint=hint, kind=ClauseRefused)
        returns = self.parse_column_type()
        comment = self._parse_text("the comment") if self._match(TokenType.COMMENT) else None
        if not self._match_text_seq("RETURN") and not self._match(TokenType.ALIAS):
            self.raise_error("expected RETURN")
        if self._curr.token_type == TokenType.STRING and self._prev.token_type == TokenType.ALIAS:
            hint = "Write RETURN and an SQL expression."
            self.refuse(None, "a function can't be a class or a script", hint=hint, kind=ClauseRefused)
        return CreateFunction(
            this=name,
            expressions=parameters,
            returns=returns,
            comment=comment,
            expression=self.parse_body(),
            exists=exists or None,
        )

    def _parse_outlet(self) -> CreateOutlet:
        exists = self._parse_if_not_exists()
        name = self._parse_declared_name()
        self.expect_text("FROM")
        if self._match_text_seq("LATE", "("):
            hint = "Declare CREATE MATERIALIZED VIEW … AS SELECT * FROM late(…), and send that view."
            self.refuse(self._prev, "an outlet sends a view, not late rows", hint=hint, kind=ClauseRefused)
        view = self._parse_declared_name()
        self.expect_text("TO")
        target = self._parse_text("the target")
        comment, options = self._parse_comment_and_options("OUTLET")
        return CreateOutlet(
            this=name, view=view, expression=target, comment=comment, options=options, exists=exists or None
        )

    def parse_body(self) -> exp.Expr:
        """One expression, up to the end of the text."""
        body = self._parse_disjunction()
        if body is None or self._curr:
            self.raise_error("expected an expression" if body is None else "expected the end of the expression")
        return body

    def _parse_parameters(self) -> list[ColumnClause]:
        if self._match_pair(TokenType.L_PAREN, TokenType.R_PAREN):
            return []
        return self._one_or_more(self._parse_parameter_clause)

    def _parse_parameter_clause(self) -> ColumnClause:
        token = self._curr
        name = self._parse_declared_name()
        return self.expression(ColumnClause(this=name, kind=self.parse_column_type()), token)
