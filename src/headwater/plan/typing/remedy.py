"""Remedies for types that don't fit: the cast, the element or the other operator that was probably meant."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.functions import FunctionInfo
from headwater.plan.spark_type import BOOLEAN, STRING, VOID, SparkType, parse_type
from headwater.plan.typing.coercion import accepts, can_cast, cast_implicitly

_TIMES = ("timestamp", "timestamp_ntz", "date")
_NESTED = ("array", "map", "struct")


def inside(text: str, kind: SparkType) -> str | None:
    """The part to take out of a nested value in its place; None if it isn't nested."""
    if kind.name == "array":
        return f"{text} is an array: take an element of it, like {text}[0]."
    if kind.name == "map":
        return f"{text} is a map: take a value of it, like {text}['key']."
    if kind.name == "struct" and kind.labels:
        return f"{text} is a struct: take a field of it, like {text}.{kind.labels[0]}."
    return None


def of_operator(name: str, texts: Sequence[str], kinds: Sequence[SparkType]) -> str:
    """The text to write in place of an operator between two values that have nothing in common."""
    (left, right), (left_kind, right_kind) = texts, kinds
    if name == "+" and STRING in kinds and all(kind.name not in _NESTED for kind in kinds):
        return f"Write {left} || {right} to put texts together."
    if name in ("+", "-") and left_kind.name in _TIMES and right_kind.is_numeric:
        return f"Write {left} {name} INTERVAL '{right if right.isdigit() else 1}' SECOND, or another unit."
    if name == "[]":
        return _of_element(left, left_kind)
    for text, kind in zip(texts, kinds, strict=True):
        if (hint := inside(text, kind)) is not None:
            return hint
    return f"Write {_with_cast(name, texts, kinds)}, or compare what was meant."


def _of_element(text: str, kind: SparkType) -> str:
    if kind.name == "struct" and kind.labels:
        return f"Write {text}.{kind.labels[0]}: a struct has fields."
    if kind.name == "map":
        return f"Write {text}[…] with a key of type {str(kind.key).upper()}."
    return f"Write {text}[0]: elements have whole numbers, from 0 on."


def _with_cast(name: str, texts: Sequence[str], kinds: Sequence[SparkType]) -> str:
    """The operator with the cast that lets it be: of the right side, or else of the left."""
    (left, right), (left_kind, right_kind) = texts, kinds
    if can_cast(right_kind, left_kind) and left_kind not in (STRING, right_kind):
        return f"{left} {name} CAST({right} AS {str(left_kind).upper()})"
    if can_cast(left_kind, right_kind) and right_kind != STRING:
        return f"CAST({left} AS {str(right_kind).upper()}) {name} {right}"
    return f"CAST({left} AS STRING) {name} CAST({right} AS STRING)"


def of_several(kinds: Sequence[SparkType]) -> str:
    """The text to write where several values must have a type in common."""
    wanted = next((kind for kind in kinds if kind.name not in (*_NESTED, "string", "void")), STRING)
    return f"Let all of them have one type, like CAST(… AS {str(wanted).upper()})."


def of_condition(text: str, kind: SparkType) -> str:
    """The text to write in place of a condition that is no BOOLEAN."""
    if kind.is_numeric:
        return f"A condition is BOOLEAN: write {text} <> 0."
    return inside(text, kind) or f"A condition is BOOLEAN: write {text} IS NOT NULL, or a comparison."


def of_call(info: FunctionInfo, texts: Sequence[str], types: Sequence[SparkType]) -> str:
    """The text to write in place of a call whose arguments don't fit."""
    for position, (text, kind) in enumerate(zip(texts, types, strict=False)):
        takes = info.signature.parameter(position).takes
        if any(accepts(name, kind) or cast_implicitly(kind, name) is not None for name in takes):
            continue
        if (hint := inside(text, kind)) is not None:
            return hint
        if kind == VOID:
            return f"Write a value in place of {text}."
        wanted = next((name for name in takes if _is_plain(name) and can_cast(kind, parse_type(name))), None)
        if wanted is not None:
            return f"Write CAST({text} AS {wanted.upper()}) in place of {text}."
    return of_several(types)


def _is_plain(name: str) -> bool:
    return name in ("string", "int", "bigint", "double", "date", "timestamp", "boolean", "binary")


def of_boolean_sum(text: str, kind: SparkType) -> str | None:
    """The text to write in place of the sum of truth values."""
    return f"Write count_if({text}): how often it is true." if kind == BOOLEAN else None
