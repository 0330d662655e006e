"""Streams and tables: their columns, keys and watermarks."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.findings import ClauseRefused, WatermarkRefused
from headwater.sql.clause_parser import ClauseParser
from headwater.sql.interval import interval
from headwater.sql.nodes import ColumnClause, CreateTopic, KeyClause, LearnedDelay, PersonalClause, Watermark
from headwater.sql.parser import QUOTED
from headwater.sql.refusal import did_you_mean

_PART_HINT = "Leave it out: there are columns, PRIMARY KEY (…) and WATERMARK FOR … AS …."
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
"""The words of others among the columns, and what to write instead."""
_WATERMARK_DETAIL = (
    "It is the event-time column, minus an INTERVAL or a QUANTILE(share, least, most) if events come out of order,"
    " or another TIMESTAMP column that says how far a source is complete."
)


class TopicParser(ClauseParser):
    """Reads what stands behind CREATE STREAM, TABLE and SOURCE."""

    def _parse_topic(self, kind: str) -> CreateTopic:
        exists = self._parse_if_not_exists()
        name = self._parse_declared_name()
        if self._match(TokenType.ALIAS, advance=False):
            self._refuse_query(kind)
        parts = [] if self._leaves_columns(kind) else self._one_or_more(self._parse_topic_part)
        comment, options = self._parse_comment_and_options(kind)
        return CreateTopic(
            this=name, kind=kind, expressions=parts, comment=comment, options=options, exists=exists or None
        )

    def _leaves_columns(self, kind: str) -> bool:
        """Tells whether a table leaves its columns to the database that it is a copy of."""
        return kind == "TABLE" and bool(self._match_set((TokenType.WITH, TokenType.COMMENT), advance=False))

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
        tokens = self._tokens[self._index + count : self._index + count + 1]
        return tokens[0].text.upper() if tokens else ""

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
