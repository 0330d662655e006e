"""A call whose type is being derived: what a rule may ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headwater.plan.spark_type import UNKNOWN, SparkType
from headwater.plan.typing.arithmetic import Operand

_WITH_INDEX = ("transform", "filter")
"""Functions that give their lambda the place of an element too, if it asks for it."""
LambdaTyper = Callable[[exp.Expr, Sequence[SparkType]], SparkType]
"""Types the body of a lambda, given the types of its parameters."""


class Refused(Exception):
    """A rule refuses a call; `detail` and `hint` are sentences."""

    def __init__(self, detail: str, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


class Underivable(Refused):
    """The type of a call depends on something that isn't known before the query runs."""


@dataclass(frozen=True)
class Call:
    """A call: its name in lower case, its arguments, and their types before (`types`) and after (`kinds`) implicit
    casts.

    `ordering` holds the types of WITHIN GROUP (ORDER BY …).
    """

    name: str
    arguments: tuple[exp.Expr, ...]
    types: tuple[SparkType, ...]
    kinds: tuple[SparkType, ...]
    type_lambda: LambdaTyper
    ordering: tuple[SparkType, ...] = ()

    def operand(self, position: int) -> Operand:
        """An argument as the operand of an operator."""
        return Operand(self.types[position], whole_number(self.arguments[position]))

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """The two arguments of a binary operator."""
        return self.operand(0), self.operand(1)

    def text(self, position: int) -> str | None:
        """The text that an argument was written as, where it is a literal or a word of the grammar."""
        node = self.arguments[position] if position < len(self.arguments) else None
        if isinstance(node, exp.Literal) and node.is_string:
            return str(node.this)
        return node.name if isinstance(node, exp.Var) else None

    def number(self, position: int) -> int | None:
        """The whole number that an argument was written as."""
        return whole_number(self.arguments[position]) if position < len(self.arguments) else None

    def body(self, position: int, *parameters: SparkType) -> SparkType:
        """The type of a lambda's body for parameters of these types."""
        if position >= len(self.arguments):
            return UNKNOWN
        node, most = self.arguments[position], len(parameters)
        if isinstance(node, exp.Lambda):
            least = 1 if self.name in _WITH_INDEX else most
            if not least <= len(node.expressions) <= most:
                wanted = str(most) if least == most else f"{least} or {most}"
                raise Refused(f"Its function has {len(node.expressions)} parameters, and is given {wanted}.")
        return self.type_lambda(node, parameters)


def whole_number(node: exp.Expr) -> int | None:
    """The number that a node spells, if it is a whole number written out.

    >>> whole_number(exp.Neg(this=exp.Literal.number(5)))
    -5
    """
    if isinstance(node, exp.Paren):
        return whole_number(node.this)
    if isinstance(node, exp.Neg):
        inner = whole_number(node.this)
        return None if inner is None else -inner
    return int(node.this) if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() else None


def is_constant(node: exp.Expr) -> bool:
    """Tells whether an expression names no column, so that Spark can compute it before it sees a row."""
    return not any(isinstance(part, (exp.Column, exp.Query)) for part in node.walk())


def name_of(node: exp.Expr) -> str | None:
    """The name that Spark gives a field made of this expression; None where it numbers it."""
    if isinstance(node, (exp.Column, exp.Identifier, exp.Alias)):
        return node.alias_or_name
    return node.expression.name if isinstance(node, exp.Dot) else None
