"""Words that stand where a statement, a kind of declaration or a type is expected, and are none."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from headwater.findings import UnknownType
from headwater.sql.foreign import KINDS, TYPES, VERBS
from headwater.sql.refusal import Refusal, did_you_mean
from headwater.sql.types import TYPE_NAMES

_KINDS = ("STREAM", "TABLE", "SOURCE", "VIEW", "MATERIALIZED VIEW", "FUNCTION", "OUTLET")


def unknown_type(start: int, name: str) -> Refusal:
    """The refusal of a word that stands where a type is expected."""
    every = f"The types are {', '.join(TYPE_NAMES)}."
    hint = TYPES.get(name.upper()) or did_you_mean(name, TYPE_NAMES) or every
    return Refusal(start, f'"{name}" is not a type', hint=hint, kind=UnknownType)


def unknown_statement(token: Token) -> Refusal:
    """The refusal of a statement that begins with another word than CREATE."""
    word = token.text.upper()
    every = f"A declaration starts with CREATE {', '.join(_KINDS[:-1])} or {_KINDS[-1]}."
    hint = VERBS.get(word) or did_you_mean(word, ("CREATE",)) or every
    return Refusal(token.start, f'"{token.text}" doesn\'t start a declaration', hint=hint)


def unknown_kind(token: Token | None, start: int) -> Refusal:
    """The refusal of a declaration of something that isn't declared here."""
    every = f"CREATE declares a {', '.join(_KINDS[:-1])} or {_KINDS[-1]}."
    if token is None:
        return Refusal(start, "the statement doesn't say what it creates", hint=every)
    word = token.text.upper()
    hint = KINDS.get(word) or did_you_mean(word, _KINDS) or every
    return Refusal(token.start, f"CREATE {word} declares nothing here", hint=hint)
