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

_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Is,
    exp.Like, exp.ILike, exp.RegexpLike, exp.SimilarTo, exp.Escape,
)  # fmt: skip
_LEVELS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.Or,), (exp.Xor,), (exp.And,), (exp.Not,), _COMPARISONS, (exp.BitwiseOr,), (exp.BitwiseXor,),
    (exp.BitwiseAnd,), (exp.BitwiseLeftShift, exp.BitwiseRightShift), (exp.Add, exp.Sub, exp.DPipe),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod), (exp.Neg, exp.BitwiseNot), (exp.Bracket, exp.Collate, exp.Dot),
)  # fmt: skip
"""Operators by how tightly they bind what stands beside them, the loosest first."""
_BINDING: dict[type[exp.Expr] | None, int] = {kind: level for level, kinds in enumerate(_LEVELS) for kind in kinds}
_OPERANDS = ("this", "expression", "low", "high")
_BESIDE_ITSELF = (exp.And, exp.Or, exp.Not, exp.Escape)
"""Operators that mean the same however several of them are held together, or that belong to what they hold."""


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
    """A tree as text that reads as the tree: keywords and functions in capitals, names in backquotes where needed.

    >>> total = exp.Add(this=exp.column("a"), expression=exp.column("b"))
    >>> spell(exp.Mul(this=total, expression=exp.Literal.number(2)))
    '(a + b) * 2'
    """
    copy = node.copy()
    for held in reversed([found for found in copy.walk() if _must_be_apart(found)]):  # what is inside first
        held.replace(exp.Paren(this=held.copy()))
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", needs_quotes(name.name))
    return copy.sql(dialect=Headwater, comments=False, pretty=pretty)


def _must_be_apart(node: exp.Expr) -> bool:
    """Tells whether an operand would be read as part of something else, unless it stands in parentheses.

    What was parsed has them already; what was put in the place of a name, like a column of the same SELECT, may not.
    """
    around = node.parent
    own, other = _BINDING.get(type(node)), _BINDING.get(type(around) if around else None)
    if own is None or other is None or node.arg_key not in _OPERANDS:
        return False
    if isinstance(around, exp.Bracket | exp.Collate | exp.Dot) and node.arg_key != "this":
        return False
    if isinstance(node, exp.BitwiseNot) and isinstance(around, exp.BitwiseNot):
        return True  # ~~ is another operator
    if own == other:
        is_first = node.arg_key == "this" and not isinstance(around, _COMPARISONS)
        return not is_first and not isinstance(around, _BESIDE_ITSELF)
    return own < other
