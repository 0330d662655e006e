"""The words of a statement of another system, and a reader that walks over them.

A *word* is a name, a keyword, a text, a number or a sign. Clauses that stand around queries are read word by word,
since each system has its own; expressions, types and queries are left to parsers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headwater.findings import SyntaxRefused

_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_NESTED = ("ARRAY", "MAP", "STRUCT", "ROW", "MULTISET")
"""The types behind whose names an angle bracket opens; elsewhere it compares."""


@dataclass(frozen=True)
class Word:
    """A word and its place in the text, of which `end` is the first offset behind it."""

    text: str
    kind: Literal["word", "name", "text", "number"]
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in capitals; what is quoted is no keyword."""
        return self.text.upper() if self.kind in ("word", "number") else f"'{self.text}"


def read_words(text: str, dialect: Dialect) -> list[Word]:
    """The words of a text, as a dialect tells them apart."""
    try:
        tokens = dialect.tokenize(text)
    except TokenError as problem:
        raise SyntaxRefused("the text can't be told into words", detail=f"{problem}.") from None
    words: list[Word] = []
    before: Token | None = None
    for token in tokens:
        if before is not None and before.token_type in dialect.tokenizer_class.COMMANDS:
            words += _behind(text, before, token.text, dialect)
        else:
            words += _words(text, token)
        before = token
    return words


def _behind(text: str, command: Token, unread: str, dialect: Dialect) -> list[Word]:
    """The words of what a tokenizer has left unread, behind a command like EXECUTE."""
    start = text.index(unread, command.end + 1)
    return [replace(word, start=word.start + start, end=word.end + start) for word in read_words(unread, dialect)]


def _words(text: str, token: Token) -> list[Word]:
    """The words of a token; one like PRIMARY KEY is two."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return [
            Word(token.text, "name" if token.token_type == TokenType.IDENTIFIER else "text", token.start, token.end + 1)
        ]
    if token.token_type == TokenType.NUMBER:
        return [Word(token.text, "number", token.start, token.end + 1)]
    words, start = [], token.start
    for part in text[token.start : token.end + 1].split():
        start = text.index(part, start)
        words.append(Word(part, "word", start, start + len(part)))
        start += len(part)
    return words


class Reader:
    """A walk over the words of a statement; `text` is what their offsets count in."""

    def __init__(self, words: Sequence[Word], text: str) -> None:
        self.words = list(words)
        self.text = text
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.words)

    def sees(self, *texts: str) -> bool:
        """Tells whether these words come next."""
        part = self.words[self.at : self.at + len(texts)]
        return [word.upper for word in part] == list(texts)

    def take(self, *texts: str) -> bool:
        """Take these words, if they come next."""
        if not self.sees(*texts):
            return False
        self.at += len(texts)
        return True

    def take_any(self, *texts: str) -> str:
        """Take the one of these words that comes next, in capitals; nothing if none does."""
        return next((text for text in texts if self.take(text)), "")

    def next(self) -> Word:
        """Take one word, whichever it is."""
        if not self:
            raise SyntaxRefused("the statement ends too early")
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *texts: str) -> None:
        """Take these words, or refuse the statement."""
        if not self.take(*texts):
            found = f'"{self.words[self.at].text}" stands there' if self else "the statement ends there"
            raise SyntaxRefused(f"{' '.join(texts)} is missing", detail=f"{found}.")

    def name(self) -> str:
        """Take a name; of one with dots (`public.orders`) the last part."""
        name = self.next().text
        while self.take("."):
            name = self.next().text
        return name

    def group(self) -> Reader | None:
        """Take what stands in parentheses, if they come next."""
        if not self.sees("("):
            return None
        self.at += 1
        first = self.at
        self.skip_to(")")
        self.expect(")")
        return Reader(self.words[first : self.at - 1], self.text)

    def skip_to(self, *texts: str) -> str:
        """Pass by words up to one of these outside of parentheses, or the end; the text of what was passed by."""
        first, depth, angles = self.at, 0, 0
        while self and not (depth == 0 and angles == 0 and self.words[self.at].upper in texts):
            word = self.words[self.at].upper
            depth += _DEPTH.get(word, 0)
            if word == "<" and self.at and self.words[self.at - 1].upper in _NESTED:
                angles += 1
            elif angles and set(word) == {">"}:
                angles = max(0, angles - len(word))
            self.at += 1
        return self.between(first, self.at)

    def parts(self) -> list[Reader]:
        """The parts between commas, of all that is left."""
        parts: list[Reader] = []
        while self:
            first = self.at
            self.skip_to(",")
            parts.append(Reader(self.words[first : self.at], self.text))
            self.take(",")
        return parts

    def rest(self) -> str:
        """Take all that is left, as text."""
        first, self.at = self.at, len(self.words)
        return self.between(first, self.at)

    def between(self, first: int, last: int) -> str:
        """The text of the words from an index to before another."""
        return self.text[self.words[first].start : self.words[last - 1].end] if first < last else ""

    def find(self, *texts: str) -> int | None:
        """The index of these words outside of parentheses, from here on."""
        depth = 0
        for index in range(self.at, len(self.words)):
            if depth == 0 and [word.upper for word in self.words[index : index + len(texts)]] == list(texts):
                return index
            depth += _DEPTH.get(self.words[index].upper, 0)
        return None

    def cut(self, first: int, last: int) -> Reader:
        """A reader of the words from an index to before another, which are taken out of this one."""
        taken = Reader(self.words[first:last], self.text)
        del self.words[first:last]
        self.at = min(self.at, len(self.words))
        return taken

    def written(self) -> str:
        """The words that are left, as text in which what was cut is blank."""
        text = ""
        end = self.words[self.at].start if self else 0
        for word in self.words[self.at :]:
            gap = self.text[end : word.start]
            text += (gap if not gap.strip() or gap.lstrip().startswith(("--", "/*")) else " ") + self.text[
                word.start : word.end
            ]
            end = word.end
        return text
