"""Statements: CREATE STREAM, TABLE, SOURCE, [MATERIALIZED] VIEW, FUNCTION, OUTLET, as users of Flink know them.

The reader is strict: what it doesn't know it refuses where it stands, by name where others have such a clause and we
don't, rather than keeping it as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.errors import ClauseRefused, WatermarkRefused
from headwater.sql.foreign import find_phrase
from headwater.sql.interval import interval
from headwater.sql.nodes import (
    ColumnClause,
    CreateFunction,
    CreateOutlet,
    CreateTopic,
    CreateView,
    KeyClause,
    LearnedDelay,
    Option,
    PersonalClause,
    Watermark,
)
from headwater.sql.parser import QUOTED
from headwater.sql.query_parser import QueryParser
from headwater.sql.refusal import Unparsed, did_you_mean
from headwater.sql.unknown import unknown_kind, unknown_type

T = TypeVar("T")

_EMITS = (("CHANGES",), ("FINAL",), ("ON", "WINDOW", "CLOSE"))
_COMPUTE_HINT = "Declare what the events carry; compute the rest in a view."
_PART_HINT = "Leave it out: there are columns, PRIMARY KEY (…) and WATERMARK FOR … AS …."
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
"""What others write behind a column: how it is called, and what to write instead."""
_TOPIC_PARTS = {
    "CONSTRAINT": "Leave CONSTRAINT and its name out: write PRIMARY KEY (…).",
    "FOREIGN": "Leave it out: join the table in a view.",
    "FOREIGN KEY": "Leave it out: join the table in a view.",
    "UNIQUE": "Write WITH (unique = '…') behind the columns.",
    "CHECK": "Leave it out, and write the condition into the WHERE of a view.",
    "INDEX": "Leave it out: what a store finds rows by is index = '…' of a view.",
    "LIKE": "Leave it out, and write the columns.",
    "PERIOD": _PART_HINT,
}
"""What others write among the columns, and what to write instead."""
_OPTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_WATERMARK_DETAIL = (
    "It is the event-time column, minus an INTERVAL or a QUANTILE(share, least, most) if events come out of order,"
    " or another TIMESTAMP column that says how far a source is complete."
)


class HeadwaterParser(QueryParser):
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
        found = self._parse(lambda _: read(self), tokens, text)
        if len(found) != 1 or found[0] is None:
            raise Unparsed("it has to be one piece", 0, None)
        return found[0]

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
            statement: exp.Expr = self._parse_topic(self._prev.text.upper())
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
        found = [read()]
        while self._match(TokenType.COMMA):
            found.append(read())
        if not self._match(TokenType.R_PAREN):
            self.raise_error("expected , or )")
        return found

    # Streams and tables

    def _parse_topic(self, kind: str) -> CreateTopic:
        exists = self._parse_if_not_exists()
        name = self._parse_declared_name()
        if self._match(TokenType.ALIAS, advance=False):
            self._refuse_query(kind)
        parts = self._one_or_more(self._parse_topic_part)
        comment, options = self._parse_comment_and_options(kind)
        return CreateTopic(
            this=name, kind=kind, expressions=parts, comment=comment, options=options, exists=exists or None
        )

    def _parse_topic_part(self) -> exp.Expr:
        token = self._curr
        if self._match_text_seq("WATERMARK", "FOR"):
            return self.expression(self._parse_watermark(), token)
        if self._match(TokenType.PRIMARY_KEY):
            key = KeyClause(expressions=self._one_or_more(self._parse_declared_name))
            self._match_text_seq("NOT", "ENFORCED")
            return self.expression(key, token)
        if self._match_text_seq("PERSONAL", "("):
            self._retreat(self._index - 1)
            columns = self._one_or_more(self._parse_declared_name)
            self.expect_text("OF")
            return self.expression(PersonalClause(expressions=columns, this=self._parse_declared_name()), token)
        return self.parse_column_clause()

    def parse_column_clause(self) -> ColumnClause:
        """A column with its type and properties."""
        token = self._curr
        self._refuse_topic_part()
        name = self._parse_id_var()
        if name is None:
            self.raise_error("expected a column")
        if self._match(TokenType.FOR, advance=False) and did_you_mean(name.name, ("WATERMARK",)):
            self.refuse(name, f'"{name.name}" is not a clause', hint='Did you mean "WATERMARK"?')
        column = ColumnClause(this=name, kind=self.parse_column_type())
        while self._parse_column_property(column):
            pass
        self._refuse_column_clause()
        return self.expression(column, token)

    def _refuse_topic_part(self) -> None:
        """Refuse what others write among the columns; a column may have such a name."""
        word = self._curr.text.upper() if self._curr and self._curr.token_type not in QUOTED else ""
        if word == "WATERMARK" and self._tokens[self._index + 2 : self._index + 3] and self._ahead(2) == "AS":
            time = self._next.text
            hint = f"Write WATERMARK FOR {time} AS {time} - INTERVAL '5' SECOND."
            self.refuse(None, "WATERMARK lacks FOR", hint=hint, kind=WatermarkRefused)
        opens = (self._next is not None and self._ahead(1) in ("(", "KEY")) or (word in ("CONSTRAINT", "LIKE"))
        if word in _TOPIC_PARTS and opens:
            self.refuse(None, f"a stream or table can't have {word}", hint=_TOPIC_PARTS[word], kind=ClauseRefused)

    def _ahead(self, count: int) -> str:
        """The word so many tokens ahead, in capitals."""
        found = self._tokens[self._index + count : self._index + count + 1]
        return found[0].text.upper() if found else ""

    def parse_column_type(self) -> exp.Expr:
        """A type, or a refusal that names what stands in its place."""
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

    def _parse_column_property(self, column: ColumnClause) -> bool:
        if self._match_text_seq("NOT", "NULL"):
            column.set("required", True)
        elif self._match(TokenType.PRIMARY_KEY):
            column.set("primary", True)
            self._match_text_seq("NOT", "ENFORCED")
        elif self._match(TokenType.COMMENT):
            column.set("comment", self._parse_text("the comment"))
        elif self._match(TokenType.DEFAULT):
            column.set("default", self._parse_default())
        elif self._match_text_seq("ALIAS"):
            several = self._match(TokenType.L_PAREN, advance=False)
            one_or_more = self._one_or_more(self._parse_declared_name) if several else [self._parse_declared_name()]
            column.set("aliases", one_or_more)
        else:
            return self._match(TokenType.NULL)
        return True

    def _parse_default(self) -> exp.Expr:
        """A number, a truth value or a text."""
        token, negative = self._curr, self._match(TokenType.DASH)
        value = self._curr
        known = (TokenType.NUMBER, *(() if negative else (TokenType.STRING, TokenType.TRUE, TokenType.FALSE)))
        if not value or value.token_type not in known:
            self.raise_error("expected a number, TRUE, FALSE or a text in quotes as the default")
        self._advance()
        text = value.text if value.token_type == TokenType.STRING else value.text.lower()
        return exp.Literal.string(f"-{text}" if negative else text).update_positions(token)

    def _refuse_column_clause(self) -> None:
        clause = _COLUMN_CLAUSES.get(self._curr.text.upper()) if self._curr else None
        if clause and self._curr.token_type not in (TokenType.IDENTIFIER, TokenType.STRING):
            called, hint = clause
            self.refuse(None, f"a stream or table can't have {called}", hint=hint, kind=ClauseRefused)

    def _parse_text(self, what: str) -> exp.Expr:
        token = self._curr
        if not self._match(TokenType.STRING):
            self.raise_error(f"expected {what} in quotes")
        return exp.Literal.string(token.text).update_positions(token)

    # Watermarks

    def _parse_watermark(self) -> Watermark:
        time = self._parse_declared_name()
        self.expect_text("AS")
        token = self._curr
        origin = self._parse_id_var(any_token=False)
        ended = self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        if origin is None or not (ended or self._match(TokenType.DASH)):
            self._refuse_watermark(token, time.name)
        if ended:
            return Watermark(this=time, expression=origin)
        if origin.name.lower() != time.name.lower():
            self._refuse_watermark(token, time.name)
        delay = self._parse_learned_delay() or self._parse_delay()
        if self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            self._refuse_watermark(token, time.name)
        return Watermark(this=time, expression=exp.Sub(this=origin, expression=delay))

    def _refuse_watermark(self, token: Token, time: str) -> NoReturn:
        self.refuse(
            token,
            "the watermark follows from something other than a column and a delay",
            detail=_WATERMARK_DETAIL,
            hint=f"Write WATERMARK FOR {time} AS {time} - INTERVAL '5' SECOND.",
            kind=WatermarkRefused,
        )

    def _parse_learned_delay(self) -> LearnedDelay | None:
        token = self._curr
        if not self._match_text_seq("QUANTILE", "("):
            return None
        share = self._parse_number()
        if share is None:
            self.raise_error("expected a share between 0 and 1, like 0.999")
        self._comma()
        least = self._parse_delay()
        self._comma()
        most = self._parse_delay()
        self._match_r_paren()
        return self.expression(LearnedDelay(this=share, least=least, most=most), token)

    def _comma(self) -> None:
        if not self._match(TokenType.COMMA):
            self.raise_error("expected ,")

    def _parse_delay(self) -> exp.Expr:
        token = self._curr
        delay = self._parse_interval()
        length = interval(delay)
        if delay is None or length is None:
            self.refuse(
                token,
                "the delay of a watermark is not a constant interval of fixed length",
                hint="Write an interval like INTERVAL '5' SECOND.",
                kind=WatermarkRefused,
            )
        if length.total_seconds() < 0:
            hint = "Write how late events can be: at - INTERVAL '5' SECOND."
            self.refuse(token, "the delay of a watermark is negative", hint=hint, kind=WatermarkRefused)
        return delay

    # What stands behind a name

    def _parse_comment_and_options(self, kind: str) -> tuple[exp.Expr | None, list[Option] | None]:
        comment: exp.Expr | None = None
        options: list[Option] | None = None
        while self._curr and not self._match(TokenType.ALIAS, advance=False):
            place = self._curr
            if comment is None and self._match(TokenType.COMMENT):
                comment = self._parse_text("the comment")
            elif options is None and self._match(TokenType.WITH):
                options = self._one_or_more(self._parse_option)
            else:
                self._refuse_clause(kind, place)
        if kind in ("STREAM", "TABLE", "SOURCE", "OUTLET") and self._curr:
            self._refuse_query(kind)
        return comment, options

    def _refuse_clause(self, kind: str, place: Token) -> NoReturn:
        """Refuse what stands between a name and its query, or its end."""
        hint = "COMMENT '…' and WITH (…) may stand here, each once."
        if (phrase := find_phrase(self._tokens)) is not None:
            hint = phrase.hint
        elif kind == "VIEW" and place.text.upper() in ("SELECT", "WITH", "("):
            hint = "Write AS before the query."
        elif kind == "VIEW" and place.text.upper() == "EMIT":
            hint = "Write EMIT at the end of the query."
        self.refuse(place, f'CREATE {kind} has no clause "{place.text}"', hint=hint, kind=ClauseRefused)

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

    # Views

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

    # Functions

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

    # Outlets

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
