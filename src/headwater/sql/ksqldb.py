"""The clauses of ksqlDB: `WINDOW TUMBLING (…)`, and `WITHIN` in joins.

`FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 5 MINUTES) GROUP BY k` is read as a window table function over
the event time of what is read, whose bounds are grouped by and shown; the grace period is that of the view. `JOIN p
WITHIN 1 HOUR ON …` is a join whose ON has the bound in time.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headwater.sql.interval import interval
from headwater.sql.json_operators import JsonParser
from headwater.sql.nodes import WindowFunction
from headwater.sql.refusal import Refusal
from headwater.sql.translation import ROWTIME, keep_grace, note

_KINDS = {"TUMBLING": "TUMBLE", "HOPPING": "HOP", "SESSION": "SESSION"}
_BOUNDS = {"windowstart": "window_start", "windowend": "window_end"}
_WITHIN = "within"
_AS_KSQLDB = "as ksqlDB has it"


class ForeignWindow(exp.Expression):
    """`WINDOW kind (…)` behind FROM: its lengths in our order, and the grace period."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "expressions": True, "grace": False}


class KsqlParser(JsonParser):
    """Reads the clauses; `translate` puts ours in their place."""

    def _parse_window_clause(self) -> list[exp.Expr] | None:
        words = [token.text.upper() for token in self._tokens[self._index + 1 : self._index + 3]]
        if words[:1] == [] or words[0] not in _KINDS or words[1:] != ["("]:
            return super()._parse_window_clause()
        token = self._curr
        self._advance(3)
        lengths: dict[str, exp.Expr] = {}
        while self._curr and not self._match(TokenType.R_PAREN, advance=False):
            word = self._parse_length_word()
            if word in lengths:
                self.raise_error(f"expected {word} once")
            lengths[word] = self._parse_length()
            if not self._match(TokenType.COMMA):
                break
        self._match_r_paren()
        order = {"TUMBLING": ("SIZE",), "HOPPING": ("ADVANCE", "SIZE"), "SESSION": ("GAP",)}[words[0]]
        if any(part not in lengths for part in order):
            self.raise_error(f"expected {' and '.join(order)} in the window", token)
        parts = [lengths[part] for part in order]
        node = ForeignWindow(kind=_KINDS[words[0]], expressions=parts, grace=lengths.get("GRACE"))
        return [self.expression(node, token)]

    def _parse_length_word(self) -> str:
        for words in (("SIZE",), ("ADVANCE", "BY"), ("GRACE", "PERIOD"), ("RETENTION",)):
            if self._match_text_seq(*words):
                return words[0]
        return "GAP"

    def _parse_length(self) -> exp.Expr:
        token = self._curr
        if not self._match(TokenType.NUMBER) or self._curr is None:
            self.raise_error("expected a number and a unit, like 10 MINUTES")
        number, unit = token.text, self._curr.text.upper()
        self._advance()
        length = exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit.removesuffix("S")))
        if interval(length) is None:
            self.raise_error("expected a number and a unit of days or shorter, like 10 MINUTES", token)
        return length.update_positions(token)

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        return None if self._at_within() else super()._parse_table_alias(alias_tokens)

    def _at_within(self) -> bool:
        behind = self._next.token_type if self._next else None
        is_word = bool(self._curr) and self._curr.text.upper() == "WITHIN"
        return is_word and behind in (TokenType.NUMBER, TokenType.L_PAREN)

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
        table = super()._parse_table(
            schema, joins, alias_tokens, parse_bracket, is_db_reference, parse_partition, consume_pipe
        )
        if table is not None and self._at_within():
            token = self._curr
            self._advance()
            wrapped = self._match(TokenType.L_PAREN)
            before = self._parse_length()
            after = self._parse_length() if wrapped and self._match(TokenType.COMMA) else before.copy()
            if wrapped:
                self._match_r_paren()
            grace = self._parse_length() if self._match_text_seq("GRACE", "PERIOD") else None
            table.meta[_WITHIN] = (before, after, grace, token.start)
        return table


def translate(query: exp.Select) -> None:
    """Put what is written here in place of the clauses of a query."""
    for join in query.args.get("joins") or ():
        if _WITHIN in join.this.meta:
            _bound(query, join, *join.this.meta.pop(_WITHIN))
    windows = query.args.get("windows") or []
    if windows and isinstance(windows[0], ForeignWindow):
        _window(query, windows[0])


def _bound(
    query: exp.Select, join: exp.Join, before: exp.Expr, after: exp.Expr, grace: exp.Expr | None, start: int
) -> None:
    """Let ON say what WITHIN says: how far apart the times of the two sides are."""
    right, on, source = join.this.alias_or_name, join.args.get("on"), query.args.get("from_")
    if on is None or source is None:
        return
    named = (column.table for column in on.find_all(exp.Column))
    left = next((name for name in named if name and name.lower() != right.lower()), source.this.alias_or_name)
    time, of = exp.column(ROWTIME, table=right), exp.column(ROWTIME, table=left)
    low, high = exp.Sub(this=of, expression=before), exp.Add(this=of.copy(), expression=after)
    between = exp.Between(this=time, low=low, high=high)
    for node in between.walk():
        if not isinstance(node, exp.Literal | exp.Var):
            node.meta.setdefault("start", start)
    join.set(
        "on", exp.And(this=on.copy() if not isinstance(on, exp.Or) else exp.Paren(this=on.copy()), expression=between)
    )
    keep_grace(query, grace)
    note(query, f"WITHIN in a join, {_AS_KSQLDB}", "It is read as a bound in time in ON.", start)


def _window(query: exp.Select, window: ForeignWindow) -> None:
    """Read a window table function in place of WINDOW, group by its bounds and show them."""
    query.set("windows", None)
    source, group, kind = query.args["from_"].this, query.args.get("group"), window.args["kind"]
    keys = group.expressions if group else []
    start = window.meta_get("start")
    if kind == "SESSION" and not all(isinstance(key, exp.Column) for key in keys):
        hint = "Compute it in a subquery, and group by its column."
        raise Refusal(start or 0, "sessions are grouped by something that isn't a column", hint=hint)
    data, name = source.copy(), source.alias_or_name
    data.set("alias", None)
    function = WindowFunction(
        this=data,
        kind=kind,
        time=exp.to_identifier(ROWTIME),
        expressions=[length.copy() for length in window.expressions],
        partition_by=[_named(key.name, start) for key in keys] if kind == "SESSION" else [],
    )
    function.update_positions(source) if source.meta_get("start") is not None else None
    function.meta.setdefault("start", start)
    source.replace(exp.Table(this=function, alias=exp.TableAlias(this=exp.to_identifier(name)) if name else None))
    for column in list(query.find_all(exp.Column)):
        bound = _BOUNDS.get(column.name.lower())
        if bound is not None and column.parent_select is query:
            is_shown = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(_named(bound, start), column.name) if is_shown else _named(bound, start))
    shown = {item.this.name if isinstance(item, exp.Alias) else item.name for item in query.expressions}
    hidden = [] if query.is_star else [bound for bound in _BOUNDS.values() if bound not in shown]
    query.set("expressions", [*query.expressions, *(_named(bound, start) for bound in hidden)])
    bounds = [_named(bound, start) for bound in _BOUNDS.values()]
    query.set("group", exp.Group(expressions=[*(key.copy() for key in keys), *bounds]))
    keep_grace(query, window.args.get("grace"))
    detail = (
        "It is read as a window table function, by whose bounds rows are grouped; its grace period is that of the view."
    )
    note(query, f"WINDOW {next(word for word in _KINDS if _KINDS[word] == kind)} (…), {_AS_KSQLDB}", detail, start)


def _named(name: str, start: int | None) -> exp.Column:
    column = exp.column(name)
    for node in column.walk():
        node.meta["start"] = start
    return column
