"""MATCH_RECOGNIZE: a pattern over the rows of partitions becomes the stage Match.

Conditions and measures are taken apart. What concerns one row, or rows at a fixed distance, becomes a column of each
row; what a condition asks of the match so far becomes a tree that the machine computes; what a measure asks of the
match becomes a call over its rows, and the measure an expression over such calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.findings import NotSupportedYet, OrderDependent, QueryRefused, TypeMismatch, UnboundedState, UnknownName
from headwater.model.pattern import RowsPerMatch
from headwater.operators import Expression, Field, Named, Ordering, Role, Stability, Stage
from headwater.operators.match.program import TooLong, absences, anchors, exclusions, program_of
from headwater.operators.match.stage import Condition, Match, MatchCall
from headwater.operators.remedy import NOTHING_BOUNDS_IT
from headwater.operators.scan.time import partition_by_window
from headwater.operators.stage import ends
from headwater.plan.bind import bind
from headwater.plan.calls import call_of, is_aggregate
from headwater.plan.context import Context, Relation
from headwater.plan.expression import ancestors_of, check_key, expression, text
from headwater.plan.over import ordering
from headwater.plan.pattern_condition import condition_of
from headwater.plan.pattern_rows import Navigation, Rows, name_of, replaced
from headwater.plan.scope import Scope
from headwater.plan.stability import check_stability
from headwater.sql.refusal import did_you_mean

VARIABLE, NUMBER = "__variable", "__number"
_ROWS = (Field(VARIABLE, pa.string()), Field(NUMBER, pa.int64()))
_WITHIN = "Write WITHIN INTERVAL '10' MINUTE behind the pattern: how long a match may last."


def recognized(context: Context, match: exp.MatchRecognize, scope: Scope) -> Relation:
    """The relation of the matches of a pattern in what a scope has."""
    if not scope.complete:
        return Relation(scope.stage, complete=False)
    pattern = sql.pattern_of(match)
    assert pattern is not None
    before = len(context.findings)
    stage = _Planning(context, match, scope, pattern).stage()
    return Relation(stage or scope.stage, complete=stage is not None and len(context.findings) == before)


@dataclass
class _Planning:
    """One pattern, while it is planned."""

    context: Context
    match: exp.MatchRecognize
    scope: Scope
    pattern: model.Pattern

    def stage(self) -> Stage | None:
        pattern, below = self.pattern, self.scope.stage
        if not self._check_names() or not self._check_input() or not self._check_absences() or not self._check_length():
            return None
        partition = self._partition()
        order = self._order()
        if partition is None or not self._check_order(order):
            return None
        self._check_bounds(partition)
        names = frozenset(name.lower() for name in (*pattern.variables, *pattern.subsets))
        rows = Rows(self.context, self.scope, names)
        conditions = self._conditions(rows)
        measuring = _Measuring(self.context, rows, self.pattern)
        measures = [measuring.measure(node) for node in self.match.args.get("measures") or ()]
        skip_to = self._members(pattern.skip.variable) if pattern.skip.variable else ()
        stage = Match(
            (), below, partition, order, pattern.step, pattern.variables, pattern.rows, pattern.skip, skip_to,
            pattern.within, tuple(rows.neighbours.values()), tuple(rows.computed.values()), tuple(conditions),
            tuple(measuring.calls.values()), tuple(Named(name, typed) for name, typed in measures),
            origin=self.context.origin(self.match),
        )  # fmt: skip
        return replace(stage, columns=self._columns(stage, measuring))

    def _columns(self, stage: Match, measuring: _Measuring) -> tuple[Field, ...]:
        below = stage.input
        shown = [self._key_field(key, below) for key in stage.partition]
        if stage.shows_rows:
            shown = [*(field for field in below.columns if not field.hidden)]
        taken = [field.name.lower() for field in shown]
        for node, named in zip(self.match.args.get("measures") or (), stage.measures, strict=True):
            if named.name.lower() in taken:
                hint = "Give it another name with AS."
                self._refuse(
                    QueryRefused, f'has two output columns named "{named.name}" in MATCH_RECOGNIZE', node, hint
                )
            taken.append(named.name.lower())
            shown.append(measuring.field(named, stage))
        return tuple(shown)

    @staticmethod
    def _key_field(key: Expression, below: Stage) -> Field:
        column = below.column_of(key)
        assert column is not None
        return column

    # What is refused

    def _refuse(self, kind: type, what: str, at: exp.Expr | None, hint: str, detail: str | None = None) -> None:
        self.context.refuse(kind, what, at or self.match, hint=hint, detail=detail)

    def _check_names(self) -> bool:
        """Variables are named once, and those that are defined are in the pattern."""
        pattern, variables = self.pattern, self.pattern.variables
        known = [name.lower() for name in variables]
        before = len(self.context.findings)
        defined: set[str] = set()
        for definition, node in zip(pattern.define, self.match.args.get("define") or (), strict=True):
            name = definition.variable.lower()
            if name not in known:
                hint = did_you_mean(definition.variable, variables) or f"Its variables are {', '.join(variables)}."
                self._refuse(UnknownName, f'defines "{definition.variable}", which is not in its pattern', node, hint)
            if name in defined:
                hint = "Write its conditions as one, with AND."
                self._refuse(QueryRefused, f'defines the variable "{definition.variable}" twice', node, hint)
            defined.add(name)
        for name, members in pattern.subsets.items():
            if name.lower() in known:
                hint = "Give the subset a name of its own."
                self._refuse(QueryRefused, f'has a subset named like its variable "{name}"', None, hint)
            for member in members:
                if member.lower() not in known:
                    hint = did_you_mean(member, variables) or f"Its variables are {', '.join(variables)}."
                    self._refuse(UnknownName, f'has "{member}" in a subset, which is not in its pattern', None, hint)
        wanted = pattern.skip.variable
        if wanted is not None and not self._members(wanted):
            hint = did_you_mean(wanted, variables) or f"Its variables are {', '.join(variables)}."
            self._refuse(UnknownName, f'skips to "{wanted}", which is not in its pattern', None, hint)
        return len(self.context.findings) == before

    def _members(self, name: str) -> tuple[str, ...]:
        """The variables that a name stands for."""
        for subset, members in self.pattern.subsets.items():
            if subset.lower() == name.lower():
                return members
        return tuple(each for each in self.pattern.variables if each.lower() == name.lower())

    def _check_input(self) -> bool:
        below = self.scope.stage
        if not all(stage.is_by_identity or stage.puts_in_windows for stage in below.walk() if stage.keeps_state):
            hint = "Make what it reads a view of its own, and look for the pattern in that."
            detail = "Its rows become final one by one, and those of a pattern in the order of event time."
            self._refuse(NotSupportedYet, "looks for a pattern in what it has grouped or joined", None, hint, detail)
            return False
        return True

    def _check_absences(self) -> bool:
        """Nothing can follow what must not come until the time is over."""
        step = self.pattern.step
        parts = step.parts if isinstance(step, model.pattern.Sequence) else (step,)
        last = (parts[-1],) if len(parts) > 1 and isinstance(parts[-1], model.pattern.Absence) else ()
        for absent in [one for one in absences(step) if not any(one is each for each in last)]:
            detail = "It says that nothing of the kind comes until WITHIN is over: only the end of a pattern can."
            hint = "Write it last, behind another variable; in between, take the rows of a variable that is NOT that."
            self._refuse(QueryRefused, f"has [^ {absent.name} ] before the end of its pattern", None, hint, detail)
            return False
        return True

    def _check_length(self) -> bool:
        try:
            program_of(self.pattern.step, self.pattern.variables)
        except TooLong:
            detail = "It would become more than 2,000 instructions, or has a PERMUTE of more than 6 parts."
            hint = "Bound its quantifiers by smaller numbers, or leave their upper bounds out."
            self._refuse(QueryRefused, "has a pattern with too many forms", None, hint, detail)
            return False
        return True

    def _partition(self) -> tuple[Expression, ...] | None:
        keys = []
        for node in self.match.args.get("partition_by") or ():
            key = expression(self.context, bind(self.context, node, self.scope), self.scope.stage)
            check_key(self.context, key, node, self.scope.stage)
            if self.scope.stage.column_of(key) is None:
                hint = "Compute it in a subquery in FROM, and name its column here."
                self._refuse(QueryRefused, f'partitions a pattern by "{text(node)}", which is no column', node, hint)
                return None
            if pa.types.is_floating(key.type) or pa.types.is_nested(key.type):
                hint = "Cast it, or partition by something that it holds."
                kind = model.spell_type(key.type)
                self._refuse(TypeMismatch, f'partitions a pattern by "{text(node)}", which is {kind}', node, hint)
                return None
            keys.append(key)
        return tuple(keys)

    def _order(self) -> tuple[Ordering, ...]:
        clause = self.match.args.get("order")
        bound = bind(self.context, clause, self.scope) if clause is not None else None
        return ordering(self.context, bound, self.scope.stage) if isinstance(bound, exp.Order) else ()

    def _check_order(self, order: tuple[Ordering, ...]) -> bool:
        below = self.scope.stage
        first = below.column_of(order[0].expression) if order else None
        by_time = first is not None and first.role is Role.EVENT_TIME and not first.nullable and not order[0].descending
        if by_time:
            return True
        times = [field.name for field in below.visible if field.role is Role.EVENT_TIME and not field.nullable]
        hint = f"Write ORDER BY {times[0]}." if times else "Declare its event time with WATERMARK FOR, and order by it."
        detail = "Which match comes first, and when it is final, is decided by event time."
        self._refuse(
            OrderDependent,
            "looks for a pattern in rows that event time doesn't order",
            self.match.args.get("order"),
            hint,
            detail,
        )
        return False

    def _check_bounds(self, partition: tuple[Expression, ...]) -> None:
        """Report what partitions that never end can't have."""
        pattern, below = self.pattern, self.scope.stage
        if pattern.rows is RowsPerMatch.ALL_WITH_UNMATCHED and next(exclusions(pattern.step), None) is not None:
            hint = "Leave the exclusion or WITH UNMATCHED ROWS out."
            self._refuse(QueryRefused, "excludes rows of matches and shows those without a match", None, hint)
        if ends(partition, below):
            return
        names = [key.sql for key in partition]
        window = partition_by_window(below, names)
        if pattern.within is None:
            hint = f"{_WITHIN} Or {window[0].lower()}{window[1:]}"
            self._refuse(UnboundedState, "looks for a pattern that may never end", None, hint, NOTHING_BOUNDS_IT)
        elif pattern.within.total_seconds() <= 0:
            self._refuse(QueryRefused, "looks for a pattern within no time", None, _WITHIN)
        if next(anchors(pattern.step), None) is not None:
            detail = "Its first row is as old as the log, and it has no last one."
            self._refuse(QueryRefused, "anchors a pattern in a partition that never ends", None, window, detail)
        if pattern.rows is RowsPerMatch.ALL_WITH_UNMATCHED and pattern.skip.to != "past last row":
            hint = f"Write AFTER MATCH SKIP PAST LAST ROW. Or {window[0].lower()}{window[1:]}"
            self._refuse(NotSupportedYet, "shows rows without a match where matches overlap", None, hint)
        numbers = [node for node in self.match.find_all(exp.Anonymous) if name_of(node) == "MATCH_NUMBER"]
        for node in numbers[:1]:
            detail = "It would count from the beginning of the log, with a number kept for every partition for ever."
            time = next((term.split(" ")[0] for term in pattern.order_by), "at")
            hint = f"Tell matches apart by the time of their first row: FIRST({time}). {window}"
            self._refuse(UnboundedState, "numbers the matches of a partition that never ends", node, hint, detail)

    # Conditions

    def _conditions(self, rows: Rows) -> list[Condition]:
        nodes = {node.alias.lower(): node.this for node in self.match.args.get("define") or ()}
        conditions = []
        for variable in self.pattern.variables:
            node = nodes.get(variable.lower())
            if node is not None:
                conditions.append(condition_of(self.context, rows, self.pattern, variable, node))
        return conditions


@dataclass
class _Measuring:
    """The measures of a pattern: calls over the rows of a match, and expressions over them."""

    context: Context
    rows: Rows
    pattern: model.Pattern
    calls: dict[MatchCall, MatchCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows.extra = _ROWS

    def measure(self, node: exp.Expr) -> tuple[str, Expression]:
        """The name and the expression of a measure."""
        shows_rows = self.pattern.rows is not RowsPerMatch.ONE
        running = shows_rows and node.args.get("window_frame") != "FINAL"
        lifted = replaced(node.this.this, lambda part: self._lifted(part, running))
        fields = tuple(_field_of(call, self.rows.stage) for call in self.calls.values())
        typing = replace(self.rows, extra=(*_ROWS, *fields)).stage
        return node.this.alias, expression(self.context, lifted, typing)

    def field(self, named: Named, stage: Match) -> Field:
        """The output column of a measure; one that is the time of a row of every match is a time."""
        typed = named.expression
        known = [call for call in stage.calls if call.name in typed.reads]
        ancestors = frozenset(each for call in known for each in ancestors_of(call.expression, self.rows.stage))
        column = Field(named.name, typed.type, True, ancestors)
        if typed.is_column and len(known) == 1 and not stage.shows_rows and self._always(known[0]):
            below = stage.input.column_of(known[0].expression)
            if below is not None and below.role is Role.EVENT_TIME and not below.nullable:
                return replace(column, role=Role.EVENT_TIME, nullable=False)
        return column

    def _always(self, call: MatchCall) -> bool:
        """Tells whether every match has a row that a call gives the value of."""
        if call.offset not in (0, -1):
            return False
        return always(self.pattern.step, frozenset(call.variables) or frozenset(self.pattern.variables))

    def _lifted(self, node: exp.Expr, running: bool) -> exp.Expr | None:
        """The column in the place of a part of a measure; None to look into it."""
        name = name_of(node)
        if name == "MATCH_NUMBER":
            return exp.column(exp.to_identifier(NUMBER))
        if name == "CLASSIFIER":
            return self._value(Navigation(exp.column(VARIABLE), ""), running)
        if name:
            navigation = self.rows.navigation(node)
            return self._value(navigation, running) if navigation else exp.Null()
        if is_aggregate(node):
            return self._aggregate(node, running)
        if isinstance(node, exp.Column):
            return self._value(Navigation(node, self.rows.variable_of(node)), running)
        return None

    def _value(self, navigation: Navigation, running: bool) -> exp.Expr:
        """A column with the value of one row of the match."""
        if navigation.step:
            typed = self.rows.expression(self.rows.column_of(navigation))
        else:
            value = self.rows.plain(_classified(navigation.value))
            typed = expression(self.context, value, self.rows.stage)
        offset = -1 - navigation.offset if navigation.last else navigation.offset
        function = "last" if navigation.last else "first"
        return self._call(MatchCall("", function, typed, self._members(navigation.variable), running, offset))

    def _aggregate(self, node: exp.Expr, running: bool) -> exp.Expr:
        """A column with an aggregate of the rows of the match."""
        stars = [star.parent for star in node.find_all(exp.Star) if isinstance(star.parent, exp.Column)]
        copy = exp.Paren(this=node.copy())
        variables = self.rows.variables_in(node) | set(map(self.rows.variable_of, stars))
        for star in list(copy.find_all(exp.Star)):
            starred = star.parent if isinstance(star.parent, exp.Column) else star
            starred.replace(exp.Literal.number(1))
        if len(variables) > 1:
            hint = "Let each aggregate name one; SUBSET makes one of several."
            self.context.refuse(QueryRefused, "names more than one variable in an aggregate", node, hint=hint)
            return exp.Null()
        bound = self.rows.plain(_classified(copy.this))
        call = call_of(bound)
        typed = expression(self.context, bound, self.rows.stage)
        function, members = call.info.name if call else "call", self._members(next(iter(variables), ""))
        stability = check_stability(self.context, bound, self.rows.stage, function) if call else Stability.EXACT
        return self._call(MatchCall("", function, typed, members, running, None, stability))

    def _call(self, call: MatchCall) -> exp.Expr:
        """The column of a call, of which there is one."""
        if call not in self.calls:
            self.calls[call] = replace(call, name=f"__call{len(self.calls)}")
        return exp.column(exp.to_identifier(self.calls[call].name))

    def _members(self, name: str) -> tuple[str, ...]:
        for subset, members in self.pattern.subsets.items():
            if subset.lower() == name:
                return members
        return tuple(each for each in self.pattern.variables if each.lower() == name)


def _classified(node: exp.Expr) -> exp.Expr:
    """The expression with a column in the place of CLASSIFIER()."""
    return replaced(node, lambda part: exp.column(VARIABLE) if name_of(part) == "CLASSIFIER" else None)


def _field_of(call: MatchCall, rows: Stage) -> Field:
    return Field(
        call.name,
        call.expression.type,
        call.expression.nullable or call.offset is not None,
        ancestors_of(call.expression, rows),
    )


def always(step: model.pattern.Step, variables: frozenset[str]) -> bool:
    """Tells whether every match of a pattern has a row of one of some variables."""
    wanted = {name.lower() for name in variables}

    def has(step: model.pattern.Step) -> bool:
        match step:
            case model.pattern.Variable(name):
                return name.lower() in wanted
            case model.pattern.Sequence(parts) | model.pattern.Permutation(parts):
                return any(map(has, parts))
            case model.pattern.Alternation(options):
                return all(map(has, options))
            case model.pattern.Repeat(part, least):
                return least > 0 and has(part)
            case model.pattern.Exclusion(part):
                return has(part)
            case model.pattern.Anchor() | model.pattern.Absence():
                return False

    return has(step)
