"""Arguments against a signature: what each becomes by an implicit cast, and what type the call has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from headwater.plan.functions import Parameter, Signature
from headwater.plan.spark_type import UNKNOWN, VOID, SparkType, array, parse_type
from headwater.plan.typing.call import Call
from headwater.plan.typing.coercion import accepts, cast_implicitly, common, tightest_element
from headwater.plan.typing.rules import find_rule

_LAMBDA = SparkType("lambda")


def match_arguments(signature: Signature, types: Sequence[SparkType]) -> tuple[SparkType, ...] | None:
    """The types of the arguments after implicit casts; None where one of them can't be what its parameter takes."""
    kinds = []
    for position, kind in enumerate(types):
        cast = _match(signature.parameter(position), kind, signature.strict)
        if cast is None:
            return None
        kinds.append(cast)
    shared = _shared(signature, kinds)
    if shared is None:
        return None
    return tuple(_filled(signature.parameter(position), kind, shared) for position, kind in enumerate(kinds))


def _match(parameter: Parameter, kind: SparkType, strict: bool) -> SparkType | None:
    if kind == UNKNOWN:
        return UNKNOWN
    if (kind == _LAMBDA) != (parameter.takes == ("lambda",)):
        return None
    if kind == VOID and not parameter.takes_null:
        return None
    if any(accepts(takes, kind) for takes in parameter.takes):
        return kind
    if strict and kind != VOID:
        return None
    casts = (cast_implicitly(kind, takes) for takes in parameter.takes)
    return next((cast for cast in casts if cast is not None), None)


def _shared(signature: Signature, kinds: Sequence[SparkType]) -> SparkType | None:
    """The type that T stands for: what the arguments in its places have in common."""
    taken = []
    for position, kind in enumerate(kinds):
        takes = signature.parameter(position).takes
        if takes == ("T",):
            taken.append(kind)
        elif takes == ("array<T>",):
            taken.append(kind.element if kind.name == "array" else VOID)
    return common(taken, tightest_element)


def _filled(parameter: Parameter, kind: SparkType, shared: SparkType) -> SparkType:
    if parameter.takes == ("T",):
        return shared
    return array(shared) if parameter.takes == ("array<T>",) else kind


_REFERENCE = re.compile(r"\$(\d)(?:\.(element|key|value))?|\bT\b")


def result_type(signature: Signature, call: Call) -> SparkType | None:
    """The type of a call whose arguments fit the signature."""
    result = signature.result
    if result.startswith("@"):
        return find_rule(result[1:])(call)
    if "$" not in result and "T" not in result:
        return parse_type(result)
    if _REFERENCE.fullmatch(result):
        return _referenced(result, signature, call)
    return _filled_in(result, signature, call)


def _filled_in(result: str, signature: Signature, call: Call) -> SparkType:
    """A type with references in it: parsed with a stand-in for each, which are then replaced."""
    template, names = _template(result)
    replacements = {name: _referenced(reference, signature, call) for name, reference in names}
    return _replaced(template, replacements)


@lru_cache(maxsize=256)
def _template(result: str) -> tuple[SparkType, tuple[tuple[int, str], ...]]:
    """The result with `time(100)`, `time(101)`, … in the places of its references: types that no one writes."""
    names: list[tuple[int, str]] = []

    def stand_in(word: re.Match[str]) -> str:
        names.append((100 + len(names), word[0]))
        return f"time({names[-1][0]})"

    return parse_type(_REFERENCE.sub(stand_in, result)), tuple(names)


def _replaced(kind: SparkType, replacements: dict[int, SparkType]) -> SparkType:
    if kind.digits and kind.digits[0] in replacements:
        return replacements[kind.digits[0]]
    parts = tuple(_replaced(part, replacements) for part in kind.parts)
    return SparkType(kind.name, parts, kind.labels, kind.digits)


def _referenced(reference: str, signature: Signature, call: Call) -> SparkType:
    if reference == "T":
        shared = _shared(signature, call.kinds)
        return UNKNOWN if shared is None else shared
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    position = int(match[1]) - 1
    kind = call.kinds[position] if position < len(call.kinds) else VOID
    if kind == VOID and match[2]:
        return VOID
    return getattr(kind, match[2]) if match[2] else kind
