"""The pattern of MATCH_RECOGNIZE: from its text to its tree."""

from __future__ import annotations

import re
from typing import cast

from headwater.model.pattern import (
    Absence,
    Alternation,
    Anchor,
    Exclusion,
    Permutation,
    Repeat,
    Sequence,
    Step,
    Variable,
)
from headwater.sql.refusal import Unparsed

_WORD = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|`(?P<quoted>(?:[^`]|``)+)`|(?P<sign>\{-|-\}|[0-9]+|\S))")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_step(text: str, start: int = 0) -> Step:
    """The tree of a pattern's text; `start` is added to the offset that `Unparsed` carries.

    >>> parse_step("A B+?")
    Sequence(parts=(Variable(name='A'), Repeat(part=Variable(name='B'), least=1, most=None, greedy=False)))
    """
    reader = _Reader(text, start)
    step = reader.alternation()
    if reader.sign() is not None or not reader.ended:
        raise reader.error("a pattern has variables, ( ) | * + ? {n,m} ^ $ PERMUTE, {- -} and [^ ]")
    return step


class _Reader:
    """A position in a pattern's text, moved by recursive descent."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start, self.at = text, start, 0

    @property
    def ended(self) -> bool:
        return not self.text[self.at :].strip()

    def error(self, reason: str) -> Unparsed:
        word = _WORD.match(self.text, self.at)
        if word is None:
            return Unparsed(reason, self.start + len(self.text), None)
        return Unparsed(reason, self.start + word.end() - len(word[0].lstrip()), word[0].strip())

    def sign(self) -> str | None:
        word = _WORD.match(self.text, self.at)
        return word["sign"] if word else None

    def take(self, *signs: str) -> str | None:
        word = _WORD.match(self.text, self.at)
        if word is None or word["sign"] not in signs:
            return None
        self.at = word.end()
        return cast(str, word["sign"])

    def expect(self, sign: str) -> None:
        if self.take(sign) is None:
            raise self.error(f"expected {sign}")

    def alternation(self) -> Step:
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def sequence(self) -> Step:
        parts = []
        while (part := self.quantified()) is not None:
            parts.append(part)
        if not parts:
            raise self.error("expected a pattern variable")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantified(self) -> Step | None:
        part = self.primary()
        if part is not None and (bounds := self.bounds()) is not None:
            return Repeat(part, *bounds, greedy=self.take("?") is None)
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        if sign := self.take("*", "+", "?"):
            return _SIGNS[sign]
        if not self.take("{"):
            return None
        least = self.number()
        most = least if self.sign() == "}" else None
        if self.take(","):
            most = self.number()
        self.expect("}")
        if least is None and most is None:
            raise self.error("expected a number in { }")
        return least or 0, most

    def number(self) -> int | None:
        sign = self.sign()
        if sign is None or not sign.isdigit():
            return None
        self.take(sign)
        return int(sign)

    def primary(self) -> Step | None:
        if self.take("["):
            return self.absence()
        if sign := self.take("(", "{-", "^", "$"):
            return self.group(sign)
        word = _WORD.match(self.text, self.at)
        if word is None or word["sign"]:
            return None
        self.at = word.end()
        if word["name"] and word["name"].upper() == "PERMUTE" and self.take("("):
            return self.permutation()
        return Variable(word["name"] or word["quoted"].replace("``", "`"))

    def group(self, sign: str) -> Step:
        if sign in "^$":
            return Anchor("start" if sign == "^" else "end")
        inner = self.alternation()
        self.expect(")" if sign == "(" else "-}")
        return inner if sign == "(" else Exclusion(inner)

    def absence(self) -> Step:
        self.expect("^")
        inner = self.primary()
        if not isinstance(inner, Variable):
            raise self.error("expected a pattern variable")
        self.expect("]")
        return Absence(inner.name)

    def permutation(self) -> Step:
        parts = [self.alternation()]
        while self.take(","):
            parts.append(self.alternation())
        self.expect(")")
        return Permutation(tuple(parts))
