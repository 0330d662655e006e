"""The text of a file: its statements, the comments above them, and the origins in it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headwater.errors import Origin
from headwater.sql.dialect import Headwater
from headwater.sql.refusal import Unparsed

_COMMENT = re.compile(r"--(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|(?P<space>\s+)", re.DOTALL)
_OFFSET = re.compile(r"from \d+:(\d+)")


@dataclass(frozen=True)
class Source:
    """A text and where it stands; `origin` is that of its first character."""

    text: str
    origin: Origin
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0, *(newline.end() for newline in re.finditer("\n", self.text))]
        object.__setattr__(self, "_starts", starts)

    def at(self, offset: int) -> Origin:
        """The origin of a character.

        >>> str(Source("SELECT 1,\\n  x", Origin("a.sql", 3, 5)).at(12))
        'a.sql:4:3'
        """
        line = bisect.bisect_right(self._starts, offset) - 1
        column = offset - self._starts[line] + 1
        first = self.origin.column - 1 if line == 0 else 0
        return Origin(self.origin.file, self.origin.line + line, column + first)


@dataclass(frozen=True)
class Statement:
    """The tokens of one statement and the comment directly above it."""

    tokens: list[Token]
    comment: str | None


def tokenize(text: str) -> tuple[list[Token], Unparsed | None]:
    """The tokens of a text; if it can't be read to its end, those before the offset where reading stops."""
    try:
        return Headwater().tokenize(text), None
    except TokenError as error:
        offset = _OFFSET.search(str(error.__cause__))
        stop = int(offset[1]) if offset else text.rfind("/*")
        reason = "a comment has no end" if text.startswith("/*", stop) else "a quote has no end"
        problem = Unparsed(reason, max(stop, 0), text[stop : stop + 1])
        return (tokenize(text[:stop])[0] if stop > 0 else []), problem


def statements(text: str, tokens: list[Token]) -> Iterator[Statement]:
    """The statements of a text, without their semicolons."""
    gap, part = 0, list[Token]()
    for token in [*tokens, None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            part.append(token)
            continue
        if part:
            yield Statement(part, comment_above(text[gap : part[0].start], gap == 0))
        gap, part = (token.end + 1 if token else len(text)), []


def comment_above(gap: str, is_start: bool) -> str | None:
    """The comment that ends a gap between statements, unless a blank line parts it from what follows.

    What stands on the line of the statement before (`; -- done`) belongs to that one.
    """
    lines: list[str] = []
    fresh = is_start
    for part in _COMMENT.finditer(gap):
        if part["space"] is not None:
            fresh = fresh or "\n" in part["space"]
            if part["space"].count("\n") > 1:
                lines = []
        elif fresh:
            lines += [part["line"]] if part["line"] is not None else _block_lines(part["block"])
    return "\n".join(line.strip() for line in lines).strip() or None


def _block_lines(block: str) -> list[str]:
    return [re.sub(r"^\s*\*+ ?", "", line) for line in block.strip("*").split("\n")]
