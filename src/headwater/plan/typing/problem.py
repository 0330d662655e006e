"""Problems: what is wrong with an expression, said about the declaration that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headwater.errors import Finding


@dataclass(frozen=True)
class Problem:
    """One reason why Spark would refuse an expression, or why its type can't be known.

    `summary` goes on where a sentence like 'view "x" …' stops; `detail` and `hint` are sentences.
    """

    node: exp.Expr = field(repr=False)
    kind: type[Finding]
    summary: str
    detail: str | None = None
    hint: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
