"""The types of calls: a name and arguments against the catalogue, whatever node they are.

A call is looked up by the name that Spark will read; its arguments are matched with the signature; its type is the
signature's result or what a rule says. Lambdas among the arguments are typed when a rule knows their parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.errors import Finding
from headwater.findings import QueryRefused, TypeMismatch, UnknownFunction, UnknownType
from headwater.model import Function
from headwater.plan.functions import FunctionInfo, Kind, find, hint_for, hint_instead, suggest, window_hint
from headwater.plan.positions import takes_unit
from headwater.plan.spark_type import INT, STRING, UNKNOWN, SparkType, to_sqlglot
from headwater.plan.typing import remedy
from headwater.plan.typing.call import Call, Refused, Underivable, is_constant
from headwater.plan.typing.constants import check_constants
from headwater.plan.typing.matching import match_arguments, result_type
from headwater.plan.typing.problem import Problem
from headwater.plan.typing.spelling import OPERAND, Reading, read

FindingKind = type[Finding]

NATIVE_NAMES: dict[type[exp.Expr], str] = {
    exp.Trim: "trim", exp.Substring: "substring", exp.StrPosition: "position", exp.Overlay: "overlay",
    exp.Extract: "extract",
}  # fmt: skip
_NATIVE_ARGUMENTS = {
    "trim": ("this", "expression"),
    "substring": ("this", "start", "length"),
    "position": ("substr", "this", "position"),
    "overlay": ("this", "expression", "from_", "for_"),
    "extract": ("this", "expression"),
}


@dataclass
class CallTyper(ABC):
    """Types calls. `generated` holds the columns that generators make, by the id of the author's node.

    While a call is typed as Spark reads it, `readings` holds what is read and the types of its operands.
    """

    dialect: type[Dialect]
    functions: Mapping[str, Function] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    generated: dict[int, SparkType] = field(default_factory=dict)
    parameters: list[dict[str, SparkType]] = field(default_factory=list)
    readings: list[tuple[Reading, tuple[SparkType | None, ...]]] = field(default_factory=list)

    @abstractmethod
    def type(self, node: exp.Expr) -> SparkType:
        """The type of an expression."""

    @abstractmethod
    def derive(self, node: exp.Expr) -> SparkType:
        """The type of an expression, which isn't kept with it."""

    def report(self, node: exp.Expr, kind: FindingKind, summary: str, **more: Any) -> SparkType:
        """Keep a problem; the type of its expression isn't known."""
        origin = node
        if self.readings:
            origin = self.readings[0][0].origin
        self.problems.append(Problem(origin, kind, summary, **more))
        return UNKNOWN

    def unknown(self, node: exp.Expr) -> SparkType:
        """A node that has no rule."""
        for child in node.iter_expressions():
            self.type(child)
        if isinstance(node, exp.SimilarTo):
            hint = f"Write {self.text(node.this)} RLIKE '…' with a regular expression, or LIKE."
            return self.report(node, QueryRefused, "uses SIMILAR TO, which Spark SQL doesn't have", hint=hint)
        return self.report(
            node,
            UnknownType,
            f"has an expression whose type can't be derived: {self.text(node)}",
            hint="Write CAST(… AS type) around it.",
        )

    def text(self, node: exp.Expr) -> str:
        """The node as it would be written, cut to a length that fits into a message."""
        text = node.sql(dialect=self.dialect, comments=False)
        return text if len(text) <= 80 else f"{text[:77]}…"

    def spelled(self, node: exp.Expr) -> SparkType:
        """A node of sqlglot's, as the call that Spark will read."""
        reading = read(node, self.dialect)
        if reading is None:
            return self.unknown(node)
        kinds = tuple(None if isinstance(operand, exp.Lambda) else self.type(operand) for operand in reading.operands)
        self.readings.append((reading, kinds))
        try:
            return self.derive(reading.tree)
        finally:
            self.readings.pop()

    def native(self, node: exp.Expr) -> SparkType:
        """A call that keeps its own node even when it is read plainly: TRIM(… FROM …), SUBSTRING(… FROM …),
        POSITION(… IN …).
        """
        name = NATIVE_NAMES[type(node)]
        arguments = tuple(part for key in _NATIVE_ARGUMENTS[name] if (part := node.args.get(key)) is not None)
        return self.call(node, name, arguments)

    def call(
        self, node: exp.Expr, name: str, arguments: tuple[exp.Expr, ...], ordering: tuple[SparkType, ...] = ()
    ) -> SparkType:
        """The type of a call by its name, whatever node it is."""
        return self._call(node, name, plain_arguments(arguments), ordering)

    def _call(
        self, node: exp.Expr, name: str, arguments: tuple[exp.Expr, ...], ordering: tuple[SparkType, ...] = ()
    ) -> SparkType:
        info = find(name, self.functions)
        unit = takes_unit(name, len(arguments))
        types = tuple(
            STRING if unit and position == 0 else self._argument(argument)
            for position, argument in enumerate(arguments)
        )
        if info is None:
            return self._unknown_function(node, name, arguments)
        if info.refused and info.kind is not Kind.AGGREGATE:
            return self._refuse_function(node, info, arguments)
        named = any(isinstance(argument, exp.Kwarg) for argument in arguments)
        if not self._check_count(node, info, len(arguments), named):
            return UNKNOWN
        nodes = tuple(self._original(argument) for argument in arguments)
        kinds = types if named else match_arguments(info.signature, types)
        if kinds is None:
            return self._refuse_call(node, info, types, arguments)
        if not named and UNKNOWN not in types and not self._check_constants(node, info, nodes):
            return UNKNOWN
        call = Call(info.name.lower(), nodes, types, kinds, self._type_lambda, ordering)
        return self._result(node, info, call)

    def _argument(self, node: exp.Expr) -> SparkType:
        if isinstance(self._original(node), exp.Lambda):
            return SparkType("lambda")
        if isinstance(node, exp.Star):
            return INT
        return self.type(node.expression if isinstance(node, exp.Kwarg) else node)

    def _original(self, node: exp.Expr) -> exp.Expr:
        """The author's node that a numbered column of a reading stands for."""
        if self.readings and isinstance(node, exp.Column) and node.name.startswith(OPERAND):
            return self.readings[-1][0].operands[int(node.name[len(OPERAND) :])]
        return node.expression if isinstance(node, exp.Kwarg) else node

    def _check_count(self, node: exp.Expr, info: FunctionInfo, count: int, named: bool) -> bool:
        least, most = info.signature.least, info.signature.most
        if (count >= least or named) and (most is None or count <= most):
            return True
        wanted = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
        takes = str(info.signature)
        counted = f"{count} {'argument' if count == 1 else 'arguments'}"
        more = f"Leave {count - most} of them out." if most is not None and count > most else None
        self.report(
            node,
            TypeMismatch,
            f'gives the function "{info.name}" {counted}, and it takes {wanted}',
            detail=f"It takes ({takes})." if takes else None,
            hint=more or f"Write {info.name}({_short(info)}).",
            fields={"function": info.name},
        )
        return False

    def _check_constants(self, node: exp.Expr, info: FunctionInfo, nodes: Sequence[exp.Expr]) -> bool:
        for position, argument in enumerate(nodes):
            if info.signature.parameter(position).constant and not is_constant(argument):
                self.report(
                    node,
                    TypeMismatch,
                    f'gives the function "{info.name}" a column where it takes a constant',
                    detail=f"Its argument {position + 1} must be the same for all rows.",
                    hint=f"Write a constant in place of {self.text(argument)}.",
                    fields={"function": info.name},
                )
                return False
        return True

    def _unknown_function(self, node: exp.Expr, name: str, arguments: tuple[exp.Expr, ...]) -> SparkType:
        spelled = [self.text(self._original(argument)) for argument in arguments]
        window = window_hint(name, spelled)
        if window is not None:
            return self.report(
                node, UnknownFunction, "makes windows by a function", hint=window, fields={"function": name}
            )
        written = name if isinstance(node, exp.Anonymous) else name.lower()
        near = suggest(name, self.functions)
        hint = hint_for(name, spelled) or (f"Did you mean {' or '.join(near)}?" if near else _own(written))
        return self.report(
            node, UnknownFunction, f'calls an unknown function "{written}"', hint=hint, fields={"function": name}
        )

    def _refuse_function(self, node: exp.Expr, info: FunctionInfo, arguments: Sequence[exp.Expr]) -> SparkType:
        why = info.reason or "it has no meaning in a view"
        spelled = [self.text(self._original(argument)) for argument in arguments]
        return self.report(
            node,
            QueryRefused,
            f'calls the function "{info.name}", which no view can use',
            detail=f"{why[0].upper()}{why[1:]}.",
            hint=_made_in_from(info.name, spelled)
            or "Compute it before the event is appended, or when you query the view.",
            fields={"function": info.name},
        )

    def _refuse_call(
        self, node: exp.Expr, info: FunctionInfo, types: Sequence[SparkType], arguments: Sequence[exp.Expr]
    ) -> SparkType:
        if any(not kind.is_known for kind in types):
            return UNKNOWN
        kinds = ", ".join(spell(kind) for kind in types)
        spelled = [self.text(self._original(argument)) for argument in arguments]
        return self.report(
            node,
            TypeMismatch,
            f'gives the function "{info.name}" ({kinds})',
            detail=f"It takes ({info.signature}).",
            hint=window_hint(info.name, spelled) or _remedy(info, spelled, types),
            fields={"function": info.name},
        )

    def _result(self, node: exp.Expr, info: FunctionInfo, call: Call) -> SparkType:
        try:
            result = result_type(info.signature, call)
            check_constants(call)
        except Refused as refusal:
            if any(not kind.is_known for kind in call.types):
                return UNKNOWN
            kind = UnknownType if isinstance(refusal, Underivable) else TypeMismatch
            summary = f'calls the function "{info.name}", '
            summary += "whose type can't be derived" if kind is UnknownType else "which can't take what it is given"
            return self.report(
                node, kind, summary, detail=refusal.detail, hint=refusal.hint, fields={"function": info.name}
            )
        if result is None:
            return self._refuse_call(node, info, call.types, call.arguments)
        if info.kind is Kind.GENERATOR and result != UNKNOWN:
            self.generated[id(self.readings[0][0].origin if self.readings else node)] = result
            return result.parts[0] if len(result.parts) == 1 else result
        return result

    def _type_lambda(self, node: exp.Expr, parameters: Sequence[SparkType]) -> SparkType:
        if not isinstance(node, exp.Lambda):
            return UNKNOWN
        names = [part.name.lower() for part in node.expressions]
        held, self.readings = self.readings, []
        self.parameters.append(dict(zip(names, parameters, strict=False)))
        try:
            kind = self.type(node.this)
            node._type = to_sqlglot(kind)
            return kind
        finally:
            self.parameters.pop()
            self.readings = held


def _short(info: FunctionInfo) -> str:
    """The parameters that a function needs, each by the first type that it takes."""
    needed = info.signature.parameters[: max(info.signature.least, 1)]
    return ", ".join(str(replace(parameter, takes=parameter.takes[:1], constant=False)) for parameter in needed)


def _made_in_from(name: str, spelled: Sequence[str]) -> str | None:
    """The text to write in place of Spark's functions that make windows."""
    if name not in ("window", "session_window"):
        return None
    time, *texts = (*spelled, "at")[: max(len(spelled), 1)]
    lengths = [f"INTERVAL {text}" for text in texts if text[:1] == "'"]
    overlap = name == "window" and len(lengths) > 1
    kind = "session" if name == "session_window" else "hop" if overlap else "tumble"
    size, *slide = lengths if len(lengths) == len(texts) and lengths else (None,)
    return window_hint(kind, (time, *slide[:1], size) if size else (time,))


def _own(name: str) -> str:
    return f"If it is yours, declare it: CREATE FUNCTION {name}(x STRING) RETURNS STRING RETURN …."


def _remedy(info: FunctionInfo, spelled: Sequence[str], types: Sequence[SparkType]) -> str:
    """The text to write in place of a call with arguments that its function doesn't take."""
    counted = remedy.of_boolean_sum(spelled[0], types[0]) if info.name in ("sum", "avg", "mean") and types else None
    foreign = hint_instead(info.name, spelled) if types and types[0].is_numeric else None
    return counted or foreign or remedy.of_call(info, spelled, types)


def plain_arguments(arguments: Sequence[exp.Expr]) -> tuple[exp.Expr, ...]:
    """The arguments without the words around them: DISTINCT, IGNORE NULLS, an ORDER BY."""
    plain: list[exp.Expr] = []
    for argument in arguments:
        if isinstance(argument, exp.Distinct):
            plain += argument.expressions
        elif isinstance(argument, (exp.IgnoreNulls, exp.RespectNulls, exp.Order)):
            plain += plain_arguments([argument.this])
        else:
            plain.append(argument)
    return tuple(plain)


def spell(kind: SparkType) -> str:
    """A type as messages have it."""
    return str(kind).upper() if not kind.labels or not kind.parts else str(kind)
