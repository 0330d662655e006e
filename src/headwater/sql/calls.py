"""Function calls, kept as they were written.

sqlglot knows many functions by nodes of its own and writes some of them back in other words: `date_format(d, 'YYYY')`
with the format `yyyy`, `left(s, 2)` as a SUBSTRING, `parse_json(s)` as `s`. Spark has to get what the author
wrote, so a call becomes such a node only where that node is written back as the same name with the same arguments;
every other call is an `exp.Anonymous`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parsers.spark import SparkParser

from headwater.sql.generator import HeadwaterGenerator

Builder = Callable[..., exp.Expr]

_COLUMN = exp.column("a")
_LITERALS = (
    *(exp.Literal.string(text) for text in ("a", "YYYY", "$.a", "day")),
    exp.Literal.number(1),
    exp.true(),
)
_SAMPLES: tuple[tuple[exp.Expr, exp.Expr], ...] = (
    (_COLUMN, _COLUMN),
    *((literal, literal) for literal in _LITERALS),
    *((_COLUMN, literal) for literal in _LITERALS),
    *((literal, _COLUMN) for literal in _LITERALS),
)
"""First argument and the others: builders look at literals, and read texts as formats, paths and units."""


def builder(name: str) -> Builder:
    """A function that makes the node of a call of this one, from its arguments."""

    def build(args: list[exp.Expr], dialect: Spark | None = None) -> exp.Expr:  # noqa: ARG001  sqlglot may pass it
        return _node(name, args) if is_kept(name, len(args)) else exp.Anonymous(this=name, expressions=args)

    return build


def _node(name: str, args: list[exp.Expr]) -> exp.Expr:
    make = SparkParser.FUNCTIONS[name]
    try:
        node: exp.Expr = make(args)
    except TypeError:
        node = make(args, dialect=Spark())
    return node


@cache
def is_kept(name: str, count: int) -> bool:
    """Tells whether sqlglot's own node for this function, with so many arguments, is written back as it was read.

    >>> is_kept("SUM", 1), is_kept("DATE_FORMAT", 2)
    (True, False)
    """
    return all(_is_written_back(name, [first, *[rest] * (count - 1)][:count]) for first, rest in _SAMPLES)


def _is_written_back(name: str, sample: list[exp.Expr]) -> bool:
    written = f"{name}({', '.join(part.sql(dialect=Spark) for part in sample)})"
    try:
        node = _node(name, [part.copy() for part in sample])
        generator = HeadwaterGenerator(dialect=Spark, unsupported_level=ErrorLevel.RAISE)
        return not node.error_messages(sample) and generator.generate(node) == written
    except (SqlglotError, ValueError, AttributeError, TypeError, IndexError, KeyError):
        return False
