"""Queries: Spark SQL with window table functions, as-of joins and patterns."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.findings import WindowRefused
from headwater.model import parse_duration, spell_duration
from headwater.model.pattern import RowsPerMatch, spell_step
from headwater.sql import foreign_calls, group_windows, ksqldb, other_spellings
from headwater.sql.interval import calendar, interval
from headwater.sql.ksqldb import KsqlParser
from headwater.sql.nodes import KnownVersion, PatternMatch, WindowFunction
from headwater.sql.parser import QUOTED
from headwater.sql.pattern import parse_step
from headwater.sql.refusal import did_you_mean
from headwater.sql.zone import is_zone

WINDOW_SLOTS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET", "ZONE"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
"""The arguments of the window table functions, in their order and by their names."""
_OPTIONAL = ("OFFSET", "ZONE")
_SLOTS = {
    "DATA": "what it reads",
    "TIMECOL": "its column of time",
    "SIZE": "its size",
    "SLIDE": "its slide",
    "STEP": "its step",
    "GAP": "its gap",
}
_EXAMPLES = {
    "TUMBLE": "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)",
    "HOP": "HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), the slide before the size",
    "CUMULATE": "CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '1' DAY), the step before the size",
    "SESSION": "SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '10' MINUTE)",
}


def _length_hint(kind: str, slot: str, node: exp.Expr | None) -> str:
    """The length to write instead of something that is none."""
    text = node.name if isinstance(node, exp.Literal) else ""
    with suppress(ValueError, OverflowError):
        return f"Write INTERVAL '{spell_duration(parse_duration(text))}'."
    if node is not None and calendar(node) is not None:
        return f"Months and years have no fixed length: write TUMBLE for them, or the {slot.lower()} of {kind} in days."
    return "Write an interval of days or shorter units, like INTERVAL '1' MINUTE."


class QueryParser(KsqlParser):
    """Reads queries; `HeadwaterParser` adds the statements."""

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
        arguments = self._parse_window_arguments(kind, token)
        if wrapped:
            self._match_r_paren()
        self._check_window(arguments, token)
        lengths = [arguments[slot] for slot in WINDOW_SLOTS[kind][2:] if slot in arguments and slot != "ZONE"]
        source, keys = arguments["DATA"]
        window = WindowFunction(
            this=source,
            kind=kind,
            time=arguments["TIMECOL"],
            expressions=lengths,
            partition_by=keys,
            zone=arguments.get("ZONE"),
        )
        return self.expression(window, token)

    def _parse_window_arguments(self, kind: str, token: Token) -> dict[str, Any]:
        slots, arguments = WINDOW_SLOTS[kind], dict[str, Any]()
        while not self._match(TokenType.R_PAREN, advance=False):
            first = self._curr
            slot = self._parse_window_slot(kind, len(arguments))
            if slot in arguments:
                self.refuse(first, f"{kind} is given {slot} twice", hint="Leave one of them out.")
            arguments[slot] = self._parse_window_argument(kind, slot)
            if not self._match(TokenType.COMMA):
                break
        self._match_r_paren()
        missing = [slot for slot in slots if slot not in arguments and slot not in _OPTIONAL]
        if missing:
            self.refuse(token, f"{kind} lacks {_SLOTS[missing[0]]}", hint=f"Write {_EXAMPLES[kind]}.")
        return arguments

    def _parse_window_slot(self, kind: str, position: int) -> str:
        slots = WINDOW_SLOTS[kind]
        if self._next.token_type == TokenType.FARROW:
            name = self._curr.text.upper()
            if name not in slots:
                hint = did_you_mean(name, slots) or f"Its arguments are {', '.join(slots)}."
                self.refuse(None, f'{kind} has no argument "{name}"', hint=hint)
            self._advance(2)
            return name
        if position >= len(slots):
            self.refuse(None, f"{kind} takes at most {len(slots)} arguments", hint=f"Write {_EXAMPLES[kind]}.")
        if slots[position] == "OFFSET" and "ZONE" in slots and self._curr.token_type == TokenType.STRING:
            return "ZONE"
        return slots[position]

    def _parse_window_argument(self, kind: str, slot: str) -> Any:
        if slot == "DATA":
            return self._parse_window_input(kind)
        if slot == "ZONE":
            return self._parse_zone(kind)
        return self._parse_descriptor(kind) if slot == "TIMECOL" else self._parse_window_length(kind, slot)

    def _parse_window_input(self, kind: str) -> tuple[exp.Expr, list[exp.Expr]]:
        self._match(TokenType.TABLE)
        if self._match(TokenType.L_PAREN, advance=False):
            source = self._parse_select(nested=True, parse_subquery_alias=False)
        elif self._curr and self._curr.text.lower() == "late" and self._next.token_type is TokenType.L_PAREN:
            source = self.expression(exp.Table(this=self._parse_function()))
        else:
            source = self._parse_table_parts(schema=True)
        if source is None:
            self.raise_error(f"expected the table, view or subquery that {kind} reads")
        behind = self._curr
        keys = self._parse_session_keys() if self._match(TokenType.PARTITION_BY) else []
        if keys and kind != "SESSION":
            self.refuse(behind, f"{kind} takes no PARTITION BY", hint="Group the windows by these columns instead.")
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
        """Tells whether this comma ends the keys: DESCRIPTOR(…), a named argument, or one before INTERVAL is next."""
        ahead = [token.text.upper() for token in self._tokens[self._index + 1 : self._index + 4]]
        return ahead[:2] == ["DESCRIPTOR", "("] or ahead[1:2] == ["=>"] or ahead[1:] == [",", "INTERVAL"]

    def _parse_descriptor(self, kind: str) -> exp.Expr | None:
        if self._curr and (self._curr.text.upper() == "INTERVAL" or self._curr.token_type == TokenType.STRING):
            hint = f"Write {_EXAMPLES[kind]}."
            self.refuse(None, f"{kind} takes the column of time before its lengths", hint=hint)
        wrapped = self._match_text_seq("DESCRIPTOR", "(")
        time = self._parse_id_var(any_token=False)
        if time is None:
            self.raise_error(f"expected the event-time column of {kind}")
        if self._match(TokenType.DOT, advance=False):
            self.refuse(time, f"{kind} takes its event-time column by its plain name", hint="Leave the qualifier out.")
        if wrapped:
            self._match_r_paren()
        return time

    def _parse_zone(self, kind: str) -> exp.Expr | None:
        token = self._curr
        node = self._parse_primary()
        if not isinstance(node, exp.Literal) or not node.is_string or not is_zone(node.name):
            hint = "Write the name of a place, like 'Europe/Berlin', or 'UTC'."
            self.refuse(token, f"the zone of {kind} is not the name of a time zone", hint=hint, kind=WindowRefused)
        return node

    def _parse_window_length(self, kind: str, slot: str) -> exp.Expr | None:
        token = self._curr
        node = self._parse_bitwise()
        if kind == "TUMBLE" and slot == "SIZE" and calendar(node) is not None:
            return node
        length = interval(node)
        if length is None:
            summary = f"the {slot.lower()} of {kind} is not a constant interval of fixed length"
            self.refuse(token, summary, hint=_length_hint(kind, slot, node), kind=WindowRefused)
        if length <= timedelta() and slot != "OFFSET":
            hint = f"Write a length above zero, like {_EXAMPLES[kind]}."
            self.refuse(token, f"the {slot.lower()} of {kind} is not positive", hint=hint, kind=WindowRefused)
        return node

    def _check_window(self, arguments: dict[str, Any], token: Token) -> None:
        size, slide, step = (interval(arguments.get(slot)) for slot in ("SIZE", "SLIDE", "STEP"))
        if arguments.get("ZONE") is not None and calendar(arguments["SIZE"]) is None:
            hint = "Leave the zone out: an hour is the same in every zone."
            self.refuse(token, "a window in a time zone is not of whole days", hint=hint, kind=WindowRefused)
        if size and slide and slide > size:
            hint = "HOP takes the slide first, then the size."
            self.refuse(token, "the slide of HOP is longer than its size", hint=hint, kind=WindowRefused)
        if size and step and size % step:
            hint = "CUMULATE takes the step first, then the size."
            self.refuse(token, "the size of CUMULATE is not a multiple of its step", hint=hint, kind=WindowRefused)

    # Windows that are written as groups

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        for index in range(self._index, len(self._tokens) - 1):
            token, behind = self._tokens[index : index + 2]
            if token.text.upper() in ("WINDOW", "SESSION") and behind.token_type is TokenType.L_PAREN:
                self.read_as(index, TokenType.VAR)
        return super()._parse_group(skip_group_by_token)

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        query = super()._parse_select_query(nested, table, parse_subquery_alias, parse_set_operation)
        if isinstance(query, exp.Select):
            ksqldb.translate(query)
            group_windows.translate(query)
            foreign_calls.translate(query)
            other_spellings.translate(query)
        return query

    def _parse_limit(
        self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
    ) -> exp.Expr | None:
        if self._match_text_seq("LIMIT", "ALL"):
            return None
        token = self._curr
        limit = super()._parse_limit(this, top, skip_limit_token)
        if not isinstance(limit, exp.Fetch):
            return limit
        options = limit.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            hint = "Write QUALIFY percent_rank() OVER (PARTITION BY window_end ORDER BY …) < 0.1, of a window."
            self.refuse(token, "a share of the rows, in percent, is a rank", hint=hint)
        number = limit.args.get("count") or exp.Literal.number(1)
        ties = options if options is not None and options.args.get("with_ties") else None
        return exp.Limit(expression=number, limit_options=ties).update_positions(token)

    # As of

    def _parse_version(self) -> exp.Version | None:
        token = self._curr
        version = super()._parse_version()
        if version and (version.name != "TIMESTAMP" or version.text("kind") != "AS OF"):
            self.refuse(token, "a table has no numbered versions", hint="Write FOR SYSTEM_TIME AS OF and an instant.")
        if not self._match_text_seq("AS", "KNOWN", "AT"):
            return version
        as_of = version.expression if version else None
        known = KnownVersion(this="TIMESTAMP", kind="AS OF", expression=as_of, known_at=self._parse_bitwise())
        return self.expression(known, token)

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
            subset=self._parse_csv(self._parse_subset) if self._match_text_seq("SUBSET") else None,
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

    def _parse_subset(self) -> exp.Expr:
        token = self._curr
        name = self._parse_id_var()
        if name is None or not self._match(TokenType.EQ) or not self._match(TokenType.L_PAREN):
            self.refuse(token, "a subset is no list of variables", hint="Write SUBSET both = (a, b).")
        members = self._parse_csv(self._parse_id_var)
        self._match_r_paren()
        return self.expression(exp.EQ(this=name, expression=exp.Tuple(expressions=members)), token)

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
        ways = ("PAST LAST ROW", "TO NEXT ROW", "TO FIRST", "TO LAST")
        way = next((way for way in ways if self._match_text_seq(*way.split(" "))), None)
        if way is None:
            self.raise_error(f"expected {', '.join(ways)}")
        variable = self._parse_id_var() if way in ("TO FIRST", "TO LAST") else None
        return exp.var(f"AFTER MATCH SKIP {way}{f' {variable.name}' if variable else ''}")

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
            hint = "Write WITHIN INTERVAL '1' HOUR."
            self.refuse(token, "WITHIN is not a constant interval of fixed length", hint=hint)
        return within
