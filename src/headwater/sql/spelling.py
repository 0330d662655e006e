"""The one spelling of names, texts and trees."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headwater.sql.dialect import Headwater

_HALF_KEYWORDS = {word.split(" ")[0] for word in Headwater.Tokenizer.KEYWORDS if " " in word} | {"ANY", "CASE"}
"""Words that begin a keyword (ORDER BY), or an expression without parentheses."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@lru_cache(maxsize=4096)
def needs_quotes(name: str) -> bool:
    """Tells whether a name must stand in backquotes: it isn't a plain word, or the word has a meaning of its own."""
    if not _PLAIN.fullmatch(name):
        return True
    tokens = Headwater().tokenize(name)
    return [token.token_type for token in tokens] != [TokenType.VAR] or name.upper() in _HALF_KEYWORDS


def spell_name(name: str) -> str:
    """A name as SQL writes it.

    >>> spell_name("card_id"), spell_name("order"), spell_name("total €")
    ('card_id', '`order`', '`total €`')
    """
    return f"`{name.replace('`', '``')}`" if needs_quotes(name) else name


def spell_text(text: str) -> str:
    """A text as an SQL literal."""
    return exp.Literal.string(text).sql(dialect=Headwater)


def spell(node: exp.Expr, pretty: bool = False) -> str:
    """A tree as text: keywords and functions in capitals, names in backquotes where needed, no comments."""
    copy = node.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", needs_quotes(name.name))
    return copy.sql(dialect=Headwater, comments=False, pretty=pretty)
