"""Signatures: what a function takes and gives, in one line.

    array_insert = "array<T>, int, T -> array<T>"
    concat_ws    = "string, (array<string>|string)* -> string"
    is_variant_null = "= variant -> boolean"

A *parameter* names the types that it takes, `|` between them. Besides types it may name a family: `any`, `numeric`,
`integral`, `decimal` (of any precision), `array`, `map`, `struct`, `day_time` and `year_month` (intervals of any
fields), `lambda`. `T` is a type that all its parameters share. `?` marks a parameter that may be left out, `*` one that
may come any number of times, `#` one that must be a constant, `!` one that takes no untyped NULL. A leading `=` says
that arguments must have these types as they are; otherwise Spark's implicit casts apply.

The *result* is a type in which `$1` is the type of the first argument after its cast, `$1.element`, `$1.key` and
`$1.value` what is inside it, and `T` the shared type; or `@name`, a rule of `headwater.plan.typing.rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Parameter:
    """One parameter: the types that it takes, in the order in which an implicit cast tries them."""

    takes: tuple[str, ...]
    optional: bool = False
    repeated: bool = False
    constant: bool = False
    takes_null: bool = True

    def __str__(self) -> str:
        spelled = " or ".join(_FAMILIES.get(name, name.upper()) for name in self.takes)
        spelled = f"a constant {spelled}" if self.constant else spelled
        return f"[{spelled}]" if self.optional else f"{spelled}, …" if self.repeated else spelled


_FAMILIES = {
    "any": "anything",
    "numeric": "a number",
    "integral": "a whole number",
    "lambda": "a function",
    "array": "an array",
    "map": "a map",
    "struct": "a struct",
    "day_time": "INTERVAL DAY TO SECOND",
    "year_month": "INTERVAL YEAR TO MONTH",
    "T": "the same type",
    "array<T>": "an array of the same type",
    "array<struct>": "an array of structs",
    "array<array>": "an array of arrays",
}


@dataclass(frozen=True)
class Signature:
    """The parameters and the result of a function."""

    parameters: tuple[Parameter, ...]
    result: str
    strict: bool = False

    @property
    def least(self) -> int:
        """The smallest number of arguments."""
        return sum(1 for parameter in self.parameters if not parameter.optional and not parameter.repeated)

    @property
    def most(self) -> int | None:
        """The largest number of arguments, None where there is no limit."""
        repeated = any(parameter.repeated for parameter in self.parameters)
        return None if repeated else len(self.parameters)

    def parameter(self, position: int) -> Parameter:
        """The parameter that the argument at this position (from zero) belongs to."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def __str__(self) -> str:
        return ", ".join(str(parameter) for parameter in self.parameters)


@lru_cache(maxsize=1024)
def parse_signature(text: str) -> Signature:
    """The signature that a line of the catalogue spells.

    >>> parse_signature("array<T>, int? -> T").least
    1
    """
    takes, _, result = text.rpartition("->")
    takes = takes.strip()
    strict = takes.startswith("=")
    parameters = tuple(_parameter(part) for part in _split(takes.removeprefix("="), ","))
    return Signature(parameters, result.strip(), strict)


def _parameter(text: str) -> Parameter:
    marks = text[len(text.rstrip("?*!")) :]
    takes = text.rstrip("?*!").removeprefix("#").strip()
    if takes.startswith("("):
        takes = takes[1:-1]
    return Parameter(tuple(_split(takes, "|")), "?" in marks, "*" in marks, text.startswith("#"), "!" not in marks)


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that aren't inside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
