"""The clauses of declarations of every kind: names, types, lists in brackets, COMMENT '…' and WITH (…)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.findings import ClauseRefused
from headwater.sql.foreign import find_phrase
from headwater.sql.nodes import Option
from headwater.sql.query_parser import QueryParser
from headwater.sql.unknown import unknown_type

T = TypeVar("T")

_COMPUTE_HINT = "Declare what the events carry; compute the rest in a view."
_COLUMN_CLAUSES = {
    "AS": ("computed columns", _COMPUTE_HINT),
    "CHECK": ("CHECK", "Leave it out, and write the condition into the WHERE of a view."),
    "COLLATE": ("COLLATE", "Leave it out: texts are compared by their bytes."),
    "GENERATED": ("computed columns", _COMPUTE_HINT),
    "METADATA": (
        "METADATA columns",
        "Declare the column, and write WITH (message_time = '…'); there are message_key and message_headers too.",
    ),
    "REFERENCES": ("REFERENCES", "Leave it out: join the table in a view."),
    "UNIQUE": ("UNIQUE", "Write WITH (unique = '…') behind the columns."),
    "KEY": ("KEY", "Write PRIMARY KEY in a table, or WITH (key = '…') in a stream."),
    "AUTO_INCREMENT": ("AUTO_INCREMENT", _COMPUTE_HINT),
    "IDENTITY": ("IDENTITY", _COMPUTE_HINT),
}
"""The words of others behind a column: how each is called, and what to write instead."""
_OPTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class ClauseParser(QueryParser):
    """Reads the clauses that declarations share; `TopicParser` adds streams and tables, `HeadwaterParser` the rest."""

    def _parse_if_not_exists(self) -> bool:
        return self._match_text_seq("IF", "NOT", "EXISTS")

    def _parse_declared_name(self) -> exp.Expr:
        name = self._parse_id_var(any_token=False)
        if name is None:
            self.raise_error("expected a name")
        if self._match(TokenType.DOT, advance=False):
            self.refuse(name, "a name has one part", hint="Leave the catalog and the schema out.")
        return name

    def _one_or_more(self, read: Callable[[], T]) -> list[T]:
        if not self._match(TokenType.L_PAREN):
            self.raise_error("expected (")
        items = [read()]
        while self._match(TokenType.COMMA):
            items.append(read())
        if not self._match(TokenType.R_PAREN):
            self.raise_error("expected , or )")
        return items

    def _parse_text(self, what: str) -> exp.Expr:
        token = self._curr
        if not self._match(TokenType.STRING):
            self.raise_error(f"expected {what} in quotes")
        return exp.Literal.string(token.text).update_positions(token)

    def parse_column_type(self) -> exp.Expr:
        """A type, or a refusal that names what stands there."""
        token = self._curr
        kind = self._parse_types(schema=True)
        if isinstance(kind, exp.DataType):
            return kind.update_positions(token)
        self._refuse_column_clause()
        return self._refuse_type(token)

    def _refuse_type(self, token: Token) -> NoReturn:
        if not token or token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            self.raise_error("expected a type")
        raise unknown_type(token.start, token.text)

    def _refuse_column_clause(self) -> None:
        clause = _COLUMN_CLAUSES.get(self._curr.text.upper()) if self._curr else None
        if clause and self._curr.token_type not in (TokenType.IDENTIFIER, TokenType.STRING):
            called, hint = clause
            self.refuse(None, f"a stream or table can't have {called}", hint=hint, kind=ClauseRefused)

    def _parse_comment_and_options(self, kind: str) -> tuple[exp.Expr | None, list[Option] | None]:
        comment: exp.Expr | None = None
        options: list[Option] | None = None
        while self._curr and not self._match(TokenType.ALIAS, advance=False):
            token = self._curr
            if comment is None and self._match(TokenType.COMMENT):
                comment = self._parse_text("the comment")
            elif options is None and self._match(TokenType.WITH):
                options = self._one_or_more(self._parse_option)
            else:
                self._refuse_clause(kind, token)
        if kind in ("STREAM", "TABLE", "SOURCE", "OUTLET") and self._curr:
            self._refuse_query(kind)
        return comment, options

    def _refuse_clause(self, kind: str, token: Token) -> NoReturn:
        """Refuse what stands between a name and its query, or its end."""
        hint = "COMMENT '…' and WITH (…) may stand here, each once."
        if (phrase := find_phrase(self._tokens)) is not None:
            hint = phrase.hint
        elif kind == "VIEW" and token.text.upper() in ("SELECT", "WITH", "("):
            hint = "Write AS before the query."
        elif kind == "VIEW" and token.text.upper() == "EMIT":
            hint = "Write EMIT at the end of the query."
        self.refuse(token, f'CREATE {kind} has no clause "{token.text}"', hint=hint, kind=ClauseRefused)

    def _refuse_query(self, kind: str) -> NoReturn:
        hint = "Use CREATE MATERIALIZED VIEW … AS for the result of a query."
        self.refuse(None, f"CREATE {kind} takes no query", hint=hint, kind=ClauseRefused)

    def _parse_option(self) -> Option:
        token = self._curr
        words = [self._parse_option_name()]
        while self._match(TokenType.DOT):
            words.append(self._parse_option_name())
        if not self._match(TokenType.EQ):
            self.raise_error("expected =")
        name = ".".join(words)
        node = exp.var(name) if _OPTION_NAME.fullmatch(name) else exp.Literal.string(name)
        return self.expression(Option(this=node, expression=self._parse_option_value()), token)

    def _parse_option_name(self) -> str:
        name = self._parse_id_var()
        if name is None and self._match(TokenType.STRING):
            return self._prev.text
        if name is None:
            self.raise_error("expected the name of an option")
        return name.name

    def _parse_option_value(self) -> exp.Expr:
        token = self._curr
        sign = "-" if self._match(TokenType.DASH) else ""
        if self._match(TokenType.NUMBER):
            return exp.Literal.number(sign + self._prev.text).update_positions(token)
        if not sign and self._match_texts(("TRUE", "FALSE")):
            return exp.Boolean(this=self._prev.text.upper() == "TRUE").update_positions(token)
        return self._parse_text("the value")
