"""The parser's refusals: with the offset in the text, before anyone knows the file.

A *refusal* is deliberate: the text is understood and means nothing we can keep. `Unparsed` is the parser losing its
way. The second is a `ParseError`, so that sqlglot may try another reading; the first is not.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot.errors import ParseError

from headwater.errors import DeclarationError
from headwater.findings import SyntaxRefused


@dataclass
class Refusal(Exception):
    """The thing that is refused, and why; `start` is the offset in the text that was parsed."""

    start: int
    summary: str
    detail: str | None = None
    hint: str | None = None
    kind: type[DeclarationError] = SyntaxRefused


class Unparsed(ParseError):
    """The text can't be parsed at `start`; `word` is what stands there, None at the end of the statement."""

    def __init__(self, reason: str, start: int, word: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.word = word


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """A sentence with the nearest known name, if one is near.

    >>> did_you_mean("grce", ["grace", "late"])
    'Did you mean "grace"?'
    """
    folded = {word.lower(): word for word in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=cutoff)
    return f'Did you mean "{folded[near[0]]}"?' if near else None
