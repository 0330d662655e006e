"""Queries: Spark SQL with window table functions, as-of joins and patterns, every node of it locatable.

sqlglot gives positions to names, literals and most calls; this parser adds the rest (casts and other special forms,
joins, intervals, selects), so that a finding about any node can point at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headwater.model.pattern import RowsPerMatch, spell_step
from headwater.sql.calls import builder
from headwater.sql.interval import interval
from headwater.sql.nodes import PatternMatch, WindowFunction
from headwater.sql.pattern import parse_step
from headwater.sql.refusal import Refusal, Unparsed, did_you_mean

E = TypeVar("E", bound=exp.Expr)
T = TypeVar("T")

WINDOW_SLOTS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
"""The arguments of the window table functions, in their order and by their names."""

_SPECIAL_FORMS = (
    "CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM",
    "BROADCAST", "BROADCASTJOIN", "MAPJOIN", "MERGE", "MERGEJOIN", "SHUFFLEMERGE", "SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL",
)  # fmt: skip
"""Calls with a syntax of their own, and the hints."""
QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)
_FLINK_TYPES = {"VOID": TokenType.VOID, "BYTES": TokenType.BINARY, "ROW": TokenType.STRUCT}


class QueryParser(SparkParser):
    """Reads queries; `HeadwaterParser` adds the statements."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {name: builder(name) for name in SparkParser.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in _SPECIAL_FORMS
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
        name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("ANY", "CASE")
    }

    # Refusing

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        place = token or self._curr
        if place:
            raise Unparsed(message, place.start, place.text)
        raise Unparsed(message, self._prev.end + 1 if self._prev else 0, None)

    def refuse(self, place: Token | exp.Expr | None, summary: str, **reason: Any) -> NoReturn:
        """Raise a refusal at a token or a node (default: where the parser stands)."""
        if isinstance(place, exp.Expr):
            start = first_offset(place)
        else:
            token = place or self._curr
            start = token.start if token else self._prev.end + 1
        raise Refusal(0 if start is None else start, summary, **reason)

    def expect_text(self, *texts: str) -> None:
        """Take these words or lose the way here."""
        if not self._match_text_seq(*texts):
            self.raise_error(f"expected {' '.join(texts)}")

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        """As inherited, but nothing behind a comma is a mistake, as it is to Spark."""

        def parse() -> T | None:
            found = parse_method()
            if found is None and self._prev.token_type == sep:
                self.raise_error("expected something behind the comma")
            return found

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
        found = super()._parse_interval(require_interval, parse_function_unit)
        if found is None:
            return None
        found.update_positions(token)
        if require_interval and isinstance(found, exp.Add):
            # INTERVAL 1 HOUR 30 MINUTES is one value: without the parentheses `x - it` would add the minutes
            return exp.Paren(this=found).update_positions(token)  # type: ignore[return-value]
        return found

    # Where sqlglot reads other dialects into Spark's

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        if self._match_text_seq("AT", "TIME", "ZONE", advance=False):
            hint = "Write from_utc_timestamp(instant, zone) or convert_timezone(zone, instant)."
            self.refuse(None, "Spark SQL has no AT TIME ZONE", hint=hint)
        return this

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
        return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

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
        self._tokens[index] = Token(kind, token.text, token.line, token.col, token.start, token.end, token.comments)
        self._advance(0)

    # Window table functions

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        if not schema and not is_db_reference and (window := self._parse_window_function()):
            table = self.expression(exp.Table(this=window))
            table.set("alias", self._parse_table_alias(alias_tokens=alias_tokens or self.TABLE_ALIAS_TOKENS))
            for join in self._parse_joins(alias_tokens=alias_tokens) if joins else ():
                table.append("joins", join)
            return table
        return super()._parse_table(
            schema, joins, alias_tokens, parse_bracket, is_db_reference, parse_partition, consume_pipe
        )

    def _parse_window_function(self) -> WindowFunction | None:
        index = self._index
        wrapped = self._match_pair(TokenType.TABLE, TokenType.L_PAREN)
        token, kind = self._curr, self._curr.text.upper()
        if kind not in WINDOW_SLOTS or token.token_type in QUOTED or self._next.token_type != TokenType.L_PAREN:
            self._retreat(index)
            return None
        self._advance(2)
        given = self._parse_window_arguments(kind, token)
        if wrapped:
            self._match_r_paren()
        self._check_window(given, token)
        lengths = [given[slot] for slot in WINDOW_SLOTS[kind][2:] if slot in given]
        source, keys = given["DATA"]
        window = WindowFunction(this=source, kind=kind, time=given["TIMECOL"], expressions=lengths, partition_by=keys)
        return self.expression(window, token)

    def _parse_window_arguments(self, kind: str, token: Token) -> dict[str, Any]:
        slots, given = WINDOW_SLOTS[kind], dict[str, Any]()
        while not self._match(TokenType.R_PAREN, advance=False):
            place = self._curr
            slot = self._parse_window_slot(kind, len(given))
            if slot in given:
                self.refuse(place, f"{kind} is given {slot} twice")
            given[slot] = self._parse_window_argument(kind, slot)
            if not self._match(TokenType.COMMA):
                break
        self._match_r_paren()
        missing = [slot for slot in slots if slot not in given and slot != "OFFSET"]
        if missing:
            takes = ", ".join("[OFFSET]" if slot == "OFFSET" else slot for slot in slots)
            self.refuse(token, f"{kind} lacks {missing[0]}", hint=f"{kind} takes {takes}.")
        return given

    def _parse_window_slot(self, kind: str, position: int) -> str:
        slots = WINDOW_SLOTS[kind]
        if self._next.token_type == TokenType.FARROW:
            name = self._curr.text.upper()
            if name not in slots:
                self.refuse(None, f'{kind} has no argument "{name}"', hint=did_you_mean(name, slots))
            self._advance(2)
            return name
        if position >= len(slots):
            self.refuse(None, f"{kind} takes at most {len(slots)} arguments", hint=f"It takes {', '.join(slots)}.")
        return slots[position]

    def _parse_window_argument(self, kind: str, slot: str) -> Any:
        if slot == "DATA":
            return self._parse_window_input(kind)
        return self._parse_descriptor(kind) if slot == "TIMECOL" else self._parse_window_length(kind, slot)

    def _parse_window_input(self, kind: str) -> tuple[exp.Expr, list[exp.Expr]]:
        self._match(TokenType.TABLE)
        if self._match(TokenType.L_PAREN, advance=False):
            source = self._parse_select(nested=True, parse_subquery_alias=False)
        else:
            source = self._parse_table_parts(schema=True)
        if source is None:
            self.raise_error(f"expected the table, view or subquery that {kind} reads")
        place = self._curr
        keys = self._parse_session_keys() if self._match(TokenType.PARTITION_BY) else []
        if keys and kind != "SESSION":
            self.refuse(place, f"{kind} takes no PARTITION BY", hint="Group the windows by these columns instead.")
        return source, keys

    def _parse_session_keys(self) -> list[exp.Expr]:
        if self._match(TokenType.L_PAREN, advance=False):
            return self._parse_wrapped_csv(self._parse_session_key)
        keys = [self._parse_session_key()]
        while self._match(TokenType.COMMA, advance=False) and not self._at_event_time():
            self._advance()
            keys.append(self._parse_session_key())
        return keys

    def _parse_session_key(self) -> exp.Expr:
        key = self._parse_id_var(any_token=False)
        if key is None or self._curr.token_type in (TokenType.L_PAREN, TokenType.DOT):
            self.refuse(key, "SESSION is partitioned by something that isn't a column", hint="Name plain columns.")
        return self.expression(exp.Column(this=key))

    def _at_event_time(self) -> bool:
        """Whether the comma here ends the keys: DESCRIPTOR(…), a named argument, or one before an interval follows."""
        ahead = [token.text.upper() for token in self._tokens[self._index + 1 : self._index + 4]]
        return ahead[:2] == ["DESCRIPTOR", "("] or ahead[1:2] == ["=>"] or ahead[1:] == [",", "INTERVAL"]

    def _parse_descriptor(self, kind: str) -> exp.Expr | None:
        wrapped = self._match_text_seq("DESCRIPTOR", "(")
        time = self._parse_id_var(any_token=False)
        if time is None:
            self.raise_error(f"expected the event-time column of {kind}")
        if self._match(TokenType.DOT, advance=False):
            self.refuse(time, f"{kind} takes its event-time column by its plain name", hint="Leave the qualifier out.")
        if wrapped:
            self._match_r_paren()
        return time

    def _parse_window_length(self, kind: str, slot: str) -> exp.Expr | None:
        token = self._curr
        node = self._parse_bitwise()
        length = interval(node)
        if length is None:
            hint = "Write an interval of days or shorter units, like INTERVAL '1' MINUTE."
            self.refuse(token, f"the {slot.lower()} of {kind} is not a constant interval of fixed length", hint=hint)
        if length <= timedelta() and slot != "OFFSET":
            self.refuse(token, f"the {slot.lower()} of {kind} is not positive")
        return node

    def _check_window(self, given: dict[str, Any], token: Token) -> None:
        size, slide, step = (interval(given.get(slot)) for slot in ("SIZE", "SLIDE", "STEP"))
        if size and slide and slide > size:
            hint = "HOP takes the slide first, then the size."
            self.refuse(token, "the slide of HOP is longer than its size", hint=hint)
        if size and step and size % step:
            hint = "CUMULATE takes the step first, then the size."
            self.refuse(token, "the size of CUMULATE is not a multiple of its step", hint=hint)

    # As of

    def _parse_version(self) -> exp.Version | None:
        token = self._curr
        version = super()._parse_version()
        if version and (version.name != "TIMESTAMP" or version.text("kind") != "AS OF"):
            self.refuse(token, "a table has no numbered versions", hint="Write FOR SYSTEM_TIME AS OF and an instant.")
        return version

    # Patterns

    def _parse_match_recognize(self) -> exp.MatchRecognize | None:
        token = self._curr
        if not self._match(TokenType.MATCH_RECOGNIZE):
            return None
        self._match_l_paren()
        match = PatternMatch(
            partition_by=self._parse_partition_by(),
            order=self._parse_order(),
            measures=self._parse_csv(self._parse_measure) if self._match_text_seq("MEASURES") else None,
            rows=self._parse_rows_per_match(),
            after=self._parse_skip(),
            pattern=self._parse_pattern(),
            within=self._parse_within(),
            define=self._parse_csv(self._parse_definition) if self._match_text_seq("DEFINE") else None,
        )
        self._match_r_paren()
        match.set("alias", self._parse_table_alias())
        return self.expression(match, token)

    def _parse_measure(self) -> exp.MatchRecognizeMeasure:
        token = self._curr
        frame = self._prev.text.upper() if self._match_texts(("FINAL", "RUNNING")) else None
        measure = self._parse_alias(self._parse_disjunction(), explicit=True)
        if not isinstance(measure, exp.Alias):
            self.refuse(token, "a measure has no name", hint="Write AS and a name behind it.")
        return self.expression(exp.MatchRecognizeMeasure(this=measure, window_frame=frame), token)

    def _parse_definition(self) -> exp.Expr | None:
        token = self._curr
        definition = self._parse_name_as_expression()
        if not isinstance(definition, exp.Alias):
            self.refuse(token, "a pattern variable has no condition", hint="Write AS and a condition behind it.")
        return definition

    def _parse_rows_per_match(self) -> exp.Var | None:
        for rows in sorted(RowsPerMatch, key=lambda rows: -len(rows.value)):
            if self._match_text_seq(*rows.value.split(" ")):
                return exp.var(rows.value)
        return None

    def _parse_skip(self) -> exp.Var | None:
        if not self._match_text_seq("AFTER", "MATCH", "SKIP"):
            return None
        places = ("PAST LAST ROW", "TO NEXT ROW", "TO FIRST", "TO LAST")
        place = next((place for place in places if self._match_text_seq(*place.split(" "))), None)
        if place is None:
            self.raise_error(f"expected {', '.join(places)}")
        variable = self._parse_id_var() if place in ("TO FIRST", "TO LAST") else None
        return exp.var(f"AFTER MATCH SKIP {place}{f' {variable.name}' if variable else ''}")

    def _parse_pattern(self) -> exp.Var:
        self.expect_text("PATTERN")
        self._match_l_paren()
        start, depth = self._prev.end + 1, 1
        while self._curr and depth:
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self._curr.token_type, 0)
            self._advance()
        if depth:
            self.raise_error("expected )")
        return exp.var(spell_step(parse_step(self.sql[start : self._prev.start], start)))

    def _parse_within(self) -> exp.Expr | None:
        if not self._match_text_seq("WITHIN"):
            return None
        token = self._curr
        within = self._parse_bitwise()
        if interval(within) is None:
            self.refuse(token, "WITHIN is not a constant interval of fixed length")
        return within


def first_offset(node: exp.Expr) -> int | None:
    """Where in its text a node starts, by its own position or the first of its parts'."""
    own = node.meta_get("start")
    if own is not None:
        return int(own)
    starts = (part.meta_get("start") for part in node.walk())
    return min((int(start) for start in starts if start is not None), default=None)
