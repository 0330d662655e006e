"""The leaves of expressions: columns and constants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sqlglot import exp

from headwater import sql
from headwater.plan.typing import type_of
from headwater.query.calls import function
from headwater.query.expression import Expressions, Rule, spell
from headwater.query.refusal import refused
from headwater.query.spelling import cast, name, text_of

_CONSTANTS = ("current_timestamp", "current_date")
"""Functions that are called without parentheses."""


def _column(writer: Expressions, node: exp.Column) -> str:
    parts = [part.name for part in node.parts]
    called = parts[0].lower()
    if len(parts) == 1 and called in _CONSTANTS and not node.this.args.get("quoted") and called not in writer.names:
        return function(writer, node, called)
    return ".".join(map(name, parts))


def _literal(_: Expressions, node: exp.Literal) -> str:
    return text_of(node.name) if node.is_string else cast(text_of(node.name), type_of(node))


def _hex(_: Expressions, node: exp.HexString) -> str:
    digits = node.name.zfill(len(node.name) + len(node.name) % 2)
    return f"unhex('{digits}')"


def _interval(_: Expressions, node: exp.Expr) -> str:
    length = sql.interval(node)
    if length is None:
        raise refused(f"A query adds intervals of fixed length, and this has none: {spell(node)}.")
    return f"CAST({length // timedelta(microseconds=1)} AS BIGINT)"


LEAVES: Mapping[type, Rule] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda _, node: "TRUE" if node.this else "FALSE",
    exp.Null: lambda _, __: "CAST(NULL AS BIGINT)",
    exp.HexString: _hex,
    exp.Interval: _interval,
}
