"""The likely meaning of a text where the parser lost its way: a reason in plain words, and what to write.

The parser says what it expected and where it stood. From that, from the word there and from the words around it follows
a *guess*: a comma too many, a parenthesis that nothing closes, a misspelt keyword, a clause of another system.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from headwater.errors import Finding
from headwater.findings import NotSupportedYet, SyntaxRefused, UnknownType
from headwater.sql.foreign import find_phrase
from headwater.sql.refusal import Unparsed, did_you_mean
from headwater.sql.source import Source
from headwater.sql.types import TYPE_NAMES
from headwater.sql.unknown import unknown_type

_KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "QUALIFY", "JOIN", "USING", "LIMIT", "UNION", "INTERSECT",
    "EXCEPT", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "FILTER", "OVER", "PARTITION", "WINDOW", "INTERVAL", "DISTINCT",
    "LATERAL", "CROSS", "INNER", "OUTER", "RIGHT", "WITHIN", "RANGE", "PRECEDING", "FOLLOWING",
)  # fmt: skip
_CLAUSES = ("FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "QUALIFY", "AS", ")", "]", ";")
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(?P<node>\w+)'>")
_EXPECTING = re.compile(r"Expecting (?P<what>.+)")
_TWICE = re.compile(r"Found multiple '(?P<clause>[\w ]+)' clauses")
_COLUMNS = "(id STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)"


def lost(source: Source, problem: Unparsed, title: str, tokens: Sequence[Token]) -> Finding:
    """The finding for a text that can't be parsed; `tokens` are those of its statement."""
    phrase = find_phrase(tokens)
    if phrase is not None:
        kind: type[Finding] = NotSupportedYet if phrase.later else SyntaxRefused
        summary = f"{title} uses {phrase.called}"
        summary += ", which is not supported yet" if phrase.later else ""
        hint = f"{phrase.hint} It will come." if phrase.later else phrase.hint
        return kind(summary, hint=hint, origin=source.at(phrase.token.start))
    if problem.reason.startswith("Expected TYPE") and problem.word:
        refusal = unknown_type(problem.start, problem.word)
        return UnknownType(refusal.summary, hint=refusal.hint, origin=source.at(refusal.start))
    guess = _Guess(source, problem, tokens)
    spot = f'at "{problem.word}"' if problem.word else "at its end"
    reason = guess.reason.removesuffix(".")
    return SyntaxRefused(
        f"{title} can't be parsed {spot}",
        detail=f"{reason[:1].upper()}{reason[1:]}.",
        hint=guess.hint,
        origin=source.at(problem.start),
    )


@dataclass(frozen=True)
class _Guess:
    """A guess at what is wrong where the parser stood, and at what to write there."""

    source: Source
    problem: Unparsed
    tokens: Sequence[Token]

    @property
    def before(self) -> str:
        """The word before that."""
        words = [token.text for token in self.tokens if token.start < self.problem.start]
        return words[-1] if words else ""

    @property
    def reason(self) -> str:
        """The parser's expectation, without a word of how it is made."""
        reason = self.problem.reason
        if _MISSING.search(reason):
            return f'something is missing behind "{self.before}"' if self.before else "something is missing"
        if expecting := _EXPECTING.match(reason):
            return f"expected {expecting['what']}"
        if twice := _TWICE.match(reason):
            return f"there are two {twice['clause'].upper()} clauses"
        return reason.replace("Expected", "expected")

    @property
    def hint(self) -> str:
        """The words to write."""
        reason, word = self.reason, self.problem.word
        if "behind the comma" in reason:
            return self._behind_comma()
        if "no end" in reason:
            return f"Write {word} at its end as well." if word != "/" else "Write */ at its end."
        if reason == "expected )" or (self._opened() is not None and word in (None, *_CLAUSES[:7])):
            return self._unclosed()
        if word == ")" and self._opened() is None:
            return "Leave it out: no parenthesis is open here."
        if "two" in reason and "clauses" in reason:
            return "Join their conditions with AND."
        return self._by_reason() or self._by_word()

    def _behind_comma(self) -> str:
        word = (self.problem.word or "").upper()
        if word in ("", *_CLAUSES):
            return "Leave the comma out, or write what is missing behind it."
        return f"Write it in backquotes if it is a name: `{self.problem.word}`."

    def _opened(self) -> Token | None:
        """The last parenthesis before that spot that is still open there."""
        stack: list[Token] = []
        for token in self.tokens:
            if token.start >= self.problem.start:
                break
            if token.token_type == TokenType.L_PAREN:
                stack.append(token)
            elif token.token_type == TokenType.R_PAREN and stack:
                stack.pop()
        return stack[-1] if stack else None

    def _unclosed(self) -> str:
        opened = self._opened()
        if (near := self._near()) is not None:
            return near
        if opened is None:
            return "Write ) here."
        at = self.source.at(opened.start)
        return f"Close the parenthesis that opens at {at.line}:{at.column}, or write , or an operator here."

    def _by_reason(self) -> str | None:
        reason = self.reason
        if reason == "expected (" and self._declares("STREAM", "TABLE", "SOURCE"):
            return f"Write its columns: {_COLUMNS}."
        if reason == "expected (" and self._declares("FUNCTION"):
            return "Write its parameters: CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2."
        if reason == "expected a column":
            return f"Declare at least one column, like {_COLUMNS}."
        if reason == "expected =":
            return f"Write {self.before} = '…'."
        if reason == "expected RETURN":
            return "Write RETURN and an expression, like RETURN x * 2."
        if "END" in reason:
            return "Write END behind the last value of CASE."
        if "as the default" in reason:
            return "Write a constant, like DEFAULT 0; what depends on the event is computed in a view."
        if "missing behind" in reason:
            return "Write what is missing, or leave the word before it out."
        return None

    def _declares(self, *kinds: str) -> bool:
        return len(self.tokens) > 1 and self.tokens[1].text.upper() in kinds

    def _near(self) -> str | None:
        """A keyword that the word there, or the one before it, is nearly."""
        for word in (self.problem.word or "", self.before):
            is_word = word.isalpha() and word.upper() not in (*_KEYWORDS, *TYPE_NAMES)
            near = did_you_mean(word, _KEYWORDS, cutoff=0.8) if is_word else None
            if near is not None:
                return near
        return None

    def _by_word(self) -> str:
        if (near := self._near()) is not None:
            return near
        if self.problem.word is None:
            return "Write what is missing at the end."
        return f'Is a comma or a word missing before "{self.problem.word}"?'
