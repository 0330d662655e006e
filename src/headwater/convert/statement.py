"""The statements of a file of another system: their words, and the comment above each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.dialects.dialect import Dialect

from headwater.convert.words import Reader, Word, read_words
from headwater.sql.source import comment_above


@dataclass(frozen=True)
class Statement:
    """One statement, without its semicolon."""

    text: str
    words: tuple[Word, ...]
    source: str
    comment: str | None = None

    def reader(self) -> Reader:
        """A walk over its words, from the first."""
        return Reader(self.words, self.source)


def read_statements(text: str, dialect: Dialect) -> Iterator[Statement]:
    """The statements of a text."""
    gap = 0
    words: list[Word] = []
    for word in [*read_words(text, dialect), None]:
        if word is not None and word.upper != ";":
            words.append(word)
            continue
        if words:
            written = text[words[0].start : words[-1].end]
            yield Statement(written, tuple(words), text, comment_above(text[gap : words[0].start], gap == 0))
        words, gap = [], word.end if word else 0
