"""The catalogue: a `FunctionInfo` for every function of Spark and of the project."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from headwater.model import Function
from headwater.operators import Stability
from headwater.plan.functions.signature import Parameter, Signature, parse_signature
from headwater.plan.spark_type import SparkType, from_arrow


class Kind(StrEnum):
    """The kinds of functions: where one may stand, and how many rows it looks at."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    TABLE = "table"


@dataclass(frozen=True)
class Impurity:
    """Tells why a function is impure; `below` is the number of arguments from which on it is pure (None: never)."""

    why: str
    below: int | None = None
    hint: str | None = None


_SUMS = ("sum", "try_sum")
_AVERAGES = ("avg", "mean", "try_avg")
_DISTINCT_MATTERS_NOT = (
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "any",
    "some",
    "bit_and",
    "bit_or",
    "collect_set",
)
_FLOATING = "the last digits of a floating-point result"


@dataclass(frozen=True)
class FunctionInfo:
    """A function as it is known; `reason` is why it is rewritten, approximate or refused."""

    name: str
    kind: Kind
    signature: Signature
    impurity: Impurity | None = None
    fixed_stability: Stability = Stability.EXACT
    reason: str | None = None

    def is_pure(self, arguments: int) -> bool:
        """Tells whether a call with that many arguments depends on them alone."""
        return self.impurity is None or (self.impurity.below is not None and arguments >= self.impurity.below)

    @property
    def refused(self) -> bool:
        """Tells whether no view can use it."""
        return self.fixed_stability is Stability.REFUSED

    def stability(self, arguments: Sequence[SparkType] = (), distinct: bool = False) -> Stability:
        """The effect of batching on a call with arguments of these types.

        >>> from headwater.plan.spark_type import BIGINT, DOUBLE
        >>> find("sum").stability([BIGINT]), find("sum").stability([DOUBLE])
        (<Stability.EXACT: 'exact'>, <Stability.APPROXIMATE: 'approximate'>)
        """
        return self.explain_stability(arguments, distinct)[0]

    def explain_stability(
        self, arguments: Sequence[SparkType] = (), distinct: bool = False
    ) -> tuple[Stability, str | None]:
        """The stability of a call and its reason: the bound, the rewrite, or why it is refused."""
        if self.kind is not Kind.AGGREGATE or self.fixed_stability is not Stability.EXACT:
            return self.fixed_stability, self.reason
        argument = arguments[0] if arguments else None
        if (
            self.name in _SUMS + _AVERAGES
            and argument is not None
            and (argument.is_floating or argument.name == "string")
        ):
            return Stability.APPROXIMATE, _FLOATING
        if self.name in _AVERAGES and argument is not None and argument.is_integral:
            return Stability.REWRITTEN, "divides a DECIMAL sum by the count"
        if distinct and self.name not in _DISTINCT_MATTERS_NOT:
            return Stability.REWRITTEN, "counts or sums the set of distinct values"
        return Stability.EXACT, None


@cache
def catalogue() -> Mapping[str, FunctionInfo]:
    """Every function of Spark by its name in lower case."""
    data = tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text("utf-8"))
    kinds = {name: (Kind(kind), text) for kind in Kind for name, text in data[kind].items()}
    kinds |= {name: (Kind.SCALAR, text) for name, text in data["grammar"].items()}
    return {name: _info(name, kind, text, data) for name, (kind, text) in kinds.items()}


def _info(name: str, kind: Kind, text: str, data: Mapping[str, Mapping[str, object]]) -> FunctionInfo:
    impurity = data["impure"].get(name)
    stability, reason = Stability.EXACT, None
    for kept in (Stability.REWRITTEN, Stability.APPROXIMATE, Stability.REFUSED):
        if name in data[kept]:
            stability, reason = kept, str(data[kept][name])
    return FunctionInfo(
        name,
        kind,
        parse_signature(text),
        Impurity(**impurity) if isinstance(impurity, dict) else None,
        stability,
        reason,
    )


def find(name: str, functions: Mapping[str, Function] | None = None) -> FunctionInfo | None:
    """The function of that name, without regard to case: Spark's, or else one of the project's own."""
    lowered = name.lower()
    known = catalogue().get(lowered)
    if known is None and functions:
        own = next((function for spelled, function in functions.items() if spelled.lower() == lowered), None)
        return declared(own) if own else None
    return known


def declared(function: Function) -> FunctionInfo:
    """A function of the project's own: pure as far as its body is, which is checked where the body takes its place."""
    takes = tuple(Parameter((str(from_arrow(parameter.type)),)) for parameter in function.parameters)
    return FunctionInfo(function.name, Kind.SCALAR, Signature(takes, str(from_arrow(function.returns))))


def suggest(name: str, functions: Iterable[str] = ()) -> list[str]:
    """The names nearest to one that isn't known, at most three, best first."""
    known = [one for one in catalogue() if one[0].isalpha()] + [one.lower() for one in functions]
    return difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.8)
