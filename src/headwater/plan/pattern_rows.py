"""Names in a pattern: the columns, the neighbours and the values of a match that its expressions speak of.

A name with a variable before it is a column of the rows that the variable took. So `LAST(a.price, 1)`, `SUM(a.price)`
and `a.price`, which is the last one's, are values of a match; in a condition, of the match so far. A column without one
is that of the row itself, and `PREV` and `NEXT` lead to other rows of the partition, whoever took them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.operators import Expression, Field, Named, Scan, Stage
from headwater.operators.match.stage import Neighbour
from headwater.plan.bind import bind
from headwater.plan.calls import is_aggregate, unwrapped
from headwater.plan.context import Context
from headwater.plan.expression import ancestors_of, expression, text
from headwater.plan.positions import columns_of, locate
from headwater.plan.scope import Scope

STEPS = {"PREV": -1, "NEXT": 1}
ENDS = ("FIRST", "LAST")
OF_MATCH = ("CLASSIFIER", "MATCH_NUMBER")


def name_of(node: exp.Expr) -> str:
    """The name of a function of patterns, in upper case; none if the node is no such call."""
    if isinstance(node, exp.First | exp.Last):
        return node.key.upper()
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    return name if name in (*STEPS, *ENDS, *OF_MATCH) else ""


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a function of patterns."""
    return node.expressions if isinstance(node, exp.Anonymous) else [node.this]


@dataclass(frozen=True)
class Navigation:
    """A value of one row: a column of the first or the last row (`last`) of some variables, or so many from it on, and
    so many rows of the partition after that (`step`). The variable that isn't named is the whole match.
    """

    value: exp.Expr
    variable: str
    last: bool = True
    offset: int = 0
    step: int = 0


@dataclass
class Rows:
    """The columns of rows, as expressions of a pattern add to them. `variables` are all names, in lower case."""

    context: Context
    scope: Scope
    variables: frozenset[str]
    neighbours: dict[str, Neighbour] = field(default_factory=dict)
    computed: dict[str, Named] = field(default_factory=dict)
    extra: tuple[Field, ...] = ()

    @property
    def stage(self) -> Stage:
        """A stage with all columns of a row, to type expressions over it."""
        below = self.scope.stage
        added = [(each.name, each.expression) for each in self.neighbours.values()]
        added += [(named.name, named.expression) for named in self.computed.values()]
        fields = [Field(name, known.type, True, ancestors_of(known, below)) for name, known in added]
        return Scan((*below.columns, *fields, *self.extra), "", "stream")

    def variable_of(self, column: exp.Column) -> str:
        """The variable that a column names, in lower case; none if it names none."""
        parts = column.parts
        return parts[0].name.lower() if len(parts) > 1 and parts[0].name.lower() in self.variables else ""

    def plain(self, node: exp.Expr) -> exp.Expr:
        """A bound copy of an expression without the variables that it names, as one over the row itself."""
        root = exp.Paren(this=node.copy())
        for column in list(columns_of(root)):
            if self.variable_of(column):
                parts = [part.copy() for part in column.parts[1:]]
                names = dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False))
                column.replace(locate(exp.Column(**names), column))
        added = [each.name for each in self.neighbours.values()] + [named.name for named in self.computed.values()]
        added += [column.name for column in self.extra]
        known = {name.lower(): exp.column(exp.to_identifier(name)) for name in added}
        return bind(self.context, root.this, self.scope, known)

    def variables_in(self, node: exp.Expr) -> set[str]:
        """The variables that an expression names, and none for columns without one."""
        return {self.variable_of(column) for column in columns_of(node)}

    def navigation(self, node: exp.Expr, own: str = "") -> Navigation | None:
        """The value that a call of PREV, NEXT, FIRST or LAST leads to; `own` is the variable that a condition is of."""
        name, arguments = name_of(node), arguments_of(node)
        if not arguments or len(arguments) > 2:
            hint = f"Write {name}(a.column) or {name}(a.column, 2)."
            self._refuse(node, f"calls {name} with {len(arguments)} arguments", hint)
            return None
        count = self._count(node, name, arguments[1:])
        inner = arguments[0]
        if name in STEPS and name_of(inner) in ENDS:
            known = self.navigation(inner, own)
            return known and replace(known, step=STEPS[name] * count)
        allowed = ("",) if name in STEPS else ("", "CLASSIFIER")
        if any(name_of(part) not in allowed or is_aggregate(part) for part in inner.walk()):
            hint = "Write PREV(LAST(a.column, 1), 2): of one row of the match, a row of the partition."
            self._refuse(node, f"nests another call in {name}", hint)
            return None
        variables = self.variables_in(inner)
        if len(variables) > 1:
            self._refuse(node, f"names more than one variable in {name}", "Let each call name one.")
            return None
        variable = next(iter(variables), "")
        if name in STEPS:
            return Navigation(inner, variable, step=STEPS[name] * count)
        return Navigation(inner, variable, last=name == "LAST", offset=count)

    def _count(self, node: exp.Expr, name: str, more: list[exp.Expr]) -> int:
        if not more:
            return 1 if name in STEPS else 0
        if isinstance(more[0], exp.Literal) and more[0].is_int and int(more[0].name) <= 10_000:
            return int(more[0].name)
        self._refuse(node, f"calls {name} with a distance that is no constant number", "Write one from 0 to 10,000.")
        return 0

    def column_of(self, navigation: Navigation) -> str:
        """The name of a column of each row with the value that a navigation leads to from there."""
        value = self.plain(navigation.value)
        if not navigation.step:
            return self.compute(value)
        spelled = f"{navigation.step}:{text(value)}"
        if spelled not in self.neighbours:
            typed = expression(self.context, value, self.stage)
            self.neighbours[spelled] = Neighbour(f"__beside{len(self.neighbours)}", typed, navigation.step)
        return self.neighbours[spelled].name

    def compute(self, value: exp.Expr) -> str:
        """The name of a column of each row with the value of a bound expression."""
        if isinstance(value, exp.Column) and not value.table:
            return value.name
        spelled = text(value)
        if spelled not in self.computed:
            self.computed[spelled] = Named(f"__row{len(self.computed)}", expression(self.context, value, self.stage))
        return self.computed[spelled].name

    def expression(self, column: str) -> Expression:
        """A column of the rows as an expression over them."""
        known = self.stage.column(column)
        assert known is not None, column
        return known.expression

    def _refuse(self, node: exp.Expr, what: str, hint: str) -> None:
        self.context.refuse(QueryRefused, what, node, hint=hint)


def calls_of_match(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost calls in an expression that lead to other rows, or gather those of a match."""
    inner = unwrapped(node)
    if name_of(inner) or is_aggregate(node) or is_aggregate(inner):
        yield node
        return
    for part in node.iter_expressions():
        yield from calls_of_match(part)


def replaced(node: exp.Expr, each: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """A copy of an expression with other nodes in the place of some; what was replaced is not looked into."""
    root = exp.Paren(this=node.copy())
    waiting: list[exp.Expr] = [root.this]
    while waiting:
        part = waiting.pop()
        new = each(part)
        if new is not None:
            part.replace(locate(new, part))
        else:
            waiting += list(part.iter_expressions())
    return cast(exp.Expr, root.this)
