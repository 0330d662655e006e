"""Spark SQL as Spark reads it, every node of it locatable, every refusal at its origin.

sqlglot gives positions to names, literals and most calls; this parser adds the rest (casts and other special forms,
joins, intervals, selects), so that a finding about any node can point at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headwater.sql.calls import builder
from headwater.sql.refusal import Refusal, Unparsed

E = TypeVar("E", bound=exp.Expr)
T = TypeVar("T")

_SPECIAL_FORMS = (
    "CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM",
    "BROADCAST", "BROADCASTJOIN", "MAPJOIN", "MERGE", "MERGEJOIN", "SHUFFLEMERGE", "SHUFFLE_HASH",
    "SHUFFLE_REPLICATE_NL",
)  # fmt: skip
"""Calls with a syntax of their own, and the hints."""
QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)
_BITWISE = ((TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))
"""The operators on bits, the loosest first; shifts bind tighter than all of them."""
_SHIFTS = {TokenType.LT: exp.BitwiseLeftShift, TokenType.GT: exp.BitwiseRightShift}
_FLINK_TYPES = {"VOID": TokenType.VOID, "BYTES": TokenType.BINARY, "ROW": TokenType.STRUCT}


class LocatedParser(SparkParser):
    """Reads what Spark has; `QueryParser` adds what streams need, `HeadwaterParser` the statements."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {name: builder(name) for name in SparkParser.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in _SPECIAL_FORMS
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
        "ANY": lambda self: self._parse_any(),
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
    }

    TERM: ClassVar[dict[TokenType, type[exp.Binary]]] = {
        TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.DPIPE: exp.DPipe
    }  # fmt: skip
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., exp.Expr] | None]] = {
        **SparkParser.COLUMN_OPERATORS,
        **{token: lambda self, this, _path: self._refuse_json(this) for token in (TokenType.PLACEHOLDER,)},
    }

    # Refusing

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        at = token or self._curr
        if at:
            raise Unparsed(message, at.start, at.text)
        raise Unparsed(message, self._prev.end + 1 if self._prev else 0, None)

    def refuse(self, at: Token | exp.Expr | None, summary: str, **reason: Any) -> NoReturn:
        """Raise a refusal at a token or a node (default: where the parser stands)."""
        if isinstance(at, exp.Expr):
            start = first_offset(at)
        else:
            token = at or self._curr
            start = token.start if token else self._prev.end + 1
        raise Refusal(0 if start is None else start, summary, **reason)

    def expect_text(self, *texts: str) -> None:
        """Take these words or lose the way here."""
        if not self._match_text_seq(*texts):
            self.raise_error(f"expected {' '.join(texts)}")

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        """As inherited, but nothing behind a comma is a mistake, as it is to Spark."""

        def parse() -> T | None:
            item = parse_method()
            if item is None and self._prev.token_type == sep:
                self.raise_error("expected something behind the comma")
            return item

        return super()._parse_csv(parse, sep)

    # Positions

    def expression(self, instance: E, token: Token | None = None, comments: list[str] | None = None) -> E:
        made = super().expression(instance, token, comments)
        if token is None and self._prev and made.meta_get("start") is None and made.is_leaf():
            made.update_positions(self._prev)
        return made

    def _parse_function_call(
        self,
        functions: dict[str, Any] | None = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        token = self._curr
        call = super()._parse_function_call(functions, anonymous, optional_parens, any_token)
        node = call
        while isinstance(node, exp.Expr) and node.meta_get("start") is None:
            node.update_positions(token)
            wrapped = isinstance(node, (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup))
            node = node.this if wrapped else None
        return call

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        token = self._curr
        join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        return join.update_positions(token) if join and token.token_type != TokenType.COMMA else join

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        token = self._curr
        query = super()._parse_select_query(nested, table, parse_subquery_alias, parse_set_operation)
        if isinstance(query, exp.Select) and not query.expressions:
            self.raise_error("expected what is selected", token)
        return query.update_positions(token) if query and query.meta_get("start") is None else query

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Add | exp.Interval | None:
        token = self._curr
        interval = super()._parse_interval(require_interval, parse_function_unit)
        if interval is None:
            return None
        interval.update_positions(token)
        if require_interval and isinstance(interval, exp.Add):
            # INTERVAL 1 HOUR 30 MINUTES is one value: without the parentheses `x - it` would add the minutes
            return exp.Paren(this=interval).update_positions(token)  # type: ignore[return-value]
        return interval

    # Where sqlglot reads other dialects into Spark's

    def _parse_bitwise(self, level: int = 0) -> exp.Expr | None:
        if level == len(_BITWISE):
            return self._parse_shift()
        token, kind = _BITWISE[level]
        this = self._parse_bitwise(level + 1)
        while self._match(token):
            this = self.expression(kind(this=this, expression=self._parse_bitwise(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while kind := next((kind for half, kind in _SHIFTS.items() if self._match_pair(half, half)), None):
            this = self.expression(kind(this=this, expression=self._parse_term()))
        return this

    def _parse_factor_operand(self) -> exp.Expr | None:
        this = super()._parse_factor_operand()
        while self._match(TokenType.COLLATE):
            this = self.expression(exp.Collate(this=this, expression=super()._parse_factor_operand()))
            self._normalize_collate(this)
        return this

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        if self._match_text_seq("AT", "TIME", "ZONE", advance=False):
            hint = "Write from_utc_timestamp(instant, zone) or convert_timezone(zone, instant)."
            self.refuse(None, "Spark SQL has no AT TIME ZONE", hint=hint)
        return this

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        token = self._prev
        cast = super()._parse_cast(strict, safe)
        if not isinstance(cast, exp.Cast):
            hint = "Write to_date(text, format), to_timestamp(text, format) or date_format(time, format)."
            self.refuse(token, "Spark SQL has no FORMAT in a CAST", hint=hint)
        return cast

    def _parse_any(self) -> exp.Expr | None:
        """`x LIKE ANY (…)` compares with many; any other ANY(…) is the aggregate."""
        before = self._tokens[self._index - 2] if self._index > 1 else None
        compares = before is not None and before.token_type in (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
        if compares or not self._match(TokenType.L_PAREN, advance=False):
            return self.expression(exp.Any(this=self._parse_bitwise()))
        return self.expression(exp.Anonymous(this="ANY", expressions=self._parse_wrapped_csv(self._parse_lambda)))

    def _refuse_json(self, this: exp.Expr) -> NoReturn:
        value = this.sql(dialect=self.dialect, comments=False)
        hint = f"Write {value} ->> '$.a.b' for the text of a value; a field of a struct is {value}.a."
        self.refuse(this, "an operator on JSON has no meaning in Spark SQL, which has no type for JSON", hint=hint)

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        if self._match(TokenType.L_PAREN, advance=False):
            return super()._parse_value(values)
        # VALUES 1, 2 AS t(n): the alias is that of the table
        value = self._parse_disjunction()
        return self.expression(exp.Tuple(expressions=[value])) if value else None

    # Types

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        if not check_func:
            self._read_flink_type(self._index)
        is_element = bool(self._prev) and self._prev.token_type in (TokenType.LT, TokenType.COMMA)
        kind = super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        if is_element and isinstance(kind, exp.DataType) and self._match_pair(TokenType.NOT, TokenType.NULL):
            kind.set("nullable", False)
        return kind

    def _parse_struct_types(self, type_required: bool = False) -> exp.Expr | None:
        self._read_flink_type(self._index + (2 if self._next.token_type == TokenType.COLON else 1))
        return super()._parse_struct_types(type_required)

    def _read_flink_type(self, index: int) -> None:
        """Let the token there be the type that it names in Flink."""
        token, behind = (*self._tokens[index : index + 2], None, None)[:2]
        kind = _FLINK_TYPES.get(token.text.upper()) if token and token.token_type not in QUOTED else None
        opens = behind is not None and behind.token_type in (TokenType.LT, TokenType.L_PAREN)
        if token is None or kind is None or (kind == TokenType.STRUCT and not opens):
            return
        self.read_as(index, kind)

    def read_as(self, index: int, kind: TokenType) -> None:
        """Let a token be of another kind."""
        token = self._tokens[index]
        self._tokens[index] = Token(kind, token.text, token.line, token.col, token.start, token.end, token.comments)
        self._advance(0)


def first_offset(node: exp.Expr) -> int | None:
    """The offset in its text at which a node starts, by its own position or the first of its parts'."""
    own = node.meta_get("start")
    if own is not None:
        return int(own)
    starts = (part.meta_get("start") for part in node.walk())
    return min((int(start) for start in starts if start is not None), default=None)
