"""Windows: the frame of an OVER, and ORDER BY, in DuckDB's SQL."""

from __future__ import annotations

from sqlglot import exp

from headwater.plan.typing import type_of
from headwater.query.expression import Expressions, check_parts, spell
from headwater.query.refusal import refused
from headwater.query.spelling import name


def frame(writer: Expressions, node: exp.Window) -> str:
    """The window of an OVER, or the name of one."""
    if node.args.get("alias") is not None and node.args.get("over"):
        return name(node.args["alias"].name)
    keys = [writer.write(key) for key in node.args.get("partition_by") or ()]
    parts = [f"PARTITION BY {', '.join(keys)}"] if keys else []
    if node.args.get("order") is not None:
        parts.append(order_by(writer, node.args["order"]))
    spec = node.args.get("spec")
    if spec is not None:
        parts.append(_spec(spec))
    return f"({' '.join(parts)})"


def _spec(spec: exp.WindowSpec) -> str:
    check_parts(spec, "kind", "start", "start_side", "end", "end_side")
    kind = spec.text("kind").upper()
    bounds = [_bound(spec, side, kind) for side in ("start", "end") if spec.args.get(side)]
    return f"{kind} BETWEEN {bounds[0]} AND {bounds[1] if len(bounds) > 1 else 'CURRENT ROW'}"


def _bound(spec: exp.WindowSpec, side: str, kind: str) -> str:
    bound, word = spec.args[side], spec.text(f"{side}_side").upper()
    text = bound if isinstance(bound, str) else bound.name
    if text.upper() in ("UNBOUNDED", "CURRENT ROW"):
        return f"{text.upper()} {word}".strip()
    if kind != "ROWS" or not text.isdigit():
        raise refused("A frame of a query counts rows.", "Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW.")
    return f"{text} {word}"


def order_by(writer: Expressions, node: exp.Order) -> str:
    """ORDER BY, with NULLs where Spark has them."""
    return f"ORDER BY {', '.join(_ordered(writer, term) for term in node.expressions)}"


def _ordered(writer: Expressions, term: exp.Expr) -> str:
    check_parts(term, "this", "desc", "nulls_first")
    value = term.this
    if type_of(value).parts:
        raise refused(f"A query can't order by {spell(value)}, which is {str(type_of(value)).upper()}.")
    is_number = isinstance(value, exp.Literal) and not value.is_string
    text = value.name if is_number else writer.write(value)
    nulls = "FIRST" if term.args.get("nulls_first") else "LAST"
    return f"{text} {'DESC' if term.args.get('desc') else 'ASC'} NULLS {nulls}"
