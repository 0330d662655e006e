"""JSON operators, as PostgreSQL has them, over texts; and `->` for the field of a struct, as ksqlDB has it.

`body ->> 'a'` is the text of a value, `get_json_object(body, '$.a')`. `body -> 'a'` is its JSON, and may be looked
into by a further operator: `body -> 'lines' -> 0 ->> 'sku'` is one path. They are read from left to
right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headwater.sql.parser import LocatedParser, first_offset
from headwater.sql.translation import note

_TEXTS = (TokenType.DARROW, TokenType.DHASH_ARROW)
_OPERATORS = (TokenType.ARROW, TokenType.HASH_ARROW, *_TEXTS)
_PATH = "json_path"
"""In the `meta` of a value in JSON: what it was taken from, and by which path."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class JsonParser(LocatedParser):
    """Reads the operators into calls of Spark's functions."""

    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., exp.Expr] | None]] = {
        token: read for token, read in LocatedParser.COLUMN_OPERATORS.items() if token not in _OPERATORS
    }

    def _parse_factor_operand(self) -> exp.Expr | None:
        this = super()._parse_factor_operand()
        while this is not None and self._match_set(_OPERATORS):
            this = self._read_step(self._prev.token_type, this, super()._parse_factor_operand())
        return this

    def _read_step(self, token: TokenType, this: exp.Expr, step: exp.Expr | None) -> exp.Expr:
        """The value that an operator takes out of another one."""
        if token is TokenType.ARROW and isinstance(step, exp.Column) and not step.table:
            return _field_of(this, step)
        if not isinstance(step, exp.Literal):
            self._refuse_json(this)
        start = first_offset(this)
        base, path = this.unnest().meta.get(_PATH, (this, "$"))
        path += self._path(this, step, hashed=token in (TokenType.HASH_ARROW, TokenType.DHASH_ARROW))
        if token in _TEXTS:
            return self._call("GET_JSON_OBJECT", start, base.copy(), exp.Literal.string(path))
        parsed = self._call("TRY_PARSE_JSON", start, base.copy())
        part = self._call("TRY_VARIANT_GET", start, parsed, exp.Literal.string(path), exp.Literal.string("variant"))
        value = self._call("TO_JSON", start, part)
        value.meta[_PATH] = (base, path)
        return value

    def _path(self, this: exp.Expr, step: exp.Literal, *, hashed: bool) -> str:
        """A step, or the steps of `{a,b}`, as Spark spells a path."""
        if not step.is_string:
            return f"[{step.name}]"
        if step.name.startswith("$"):
            return step.name[1:]
        if not hashed:
            return self._key(this, step.name)
        names = [name.strip() for name in step.name.strip("{}").split(",")]
        return "".join(f"[{name}]" if name.isdigit() else self._key(this, name) for name in names)

    def _key(self, this: exp.Expr, name: str) -> str:
        if not name or "'" in name or "?" in name:
            self._refuse_json(this)
        return f".{name}" if _WORD.fullmatch(name) else f"['{name}']"

    def _call(self, name: str, start: int | None, *arguments: exp.Expr) -> exp.Expr:
        make = self.FUNCTIONS.get(name)
        call = make(list(arguments)) if make else exp.Anonymous(this=name, expressions=list(arguments))
        for node in (call, *arguments):
            node.meta.setdefault("start", start)
        return call


def _field_of(this: exp.Expr, name: exp.Column) -> exp.Expr:
    """The field of a struct."""
    field: exp.Expr = exp.Dot(this=this, expression=name.this)
    if isinstance(this, exp.Column) and not this.args.get("catalog"):
        field = exp.Column(this=name.this, table=this.this, db=this.args.get("table"), catalog=this.args.get("db"))
    note(field, "-> for the field of a struct, as ksqlDB has it", "It is read as a dot.", first_offset(this))
    return field
