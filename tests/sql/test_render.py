from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from headwater import errors, model
from headwater.sql import parse_declarations, parse_expression, render, spell
from tests.sql.models import declarations


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(declarations())
def test_a_rendered_declaration_reads_back_as_itself(declaration: model.Declaration) -> None:
    text = render(declaration)
    parsed = parse_declarations(text, "rendered.sql")
    assert (parsed.findings, parsed.declarations) == ((), (declaration,)), text


def test_a_stream_is_rendered_with_what_differs_from_the_defaults() -> None:
    text = """create stream `orders` (
        id string not null comment 'of the shop', at timestamp, watermark for at as at - interval 5 seconds)
      with (unique = 'ID', max_ahead = 'none', idle = '90s')"""
    (stream,) = parse_declarations(text, "a.sql").declarations
    assert render(stream) == (
        "CREATE STREAM orders (\n"
        "  id STRING NOT NULL COMMENT 'of the shop',\n"
        "  at TIMESTAMP,\n"
        "  WATERMARK FOR at AS at - INTERVAL '5' SECOND\n"
        ")\n"
        "WITH (unique = 'id', idle = '1 minute 30 seconds', max_ahead = 'none')"
    )


def test_a_view_in_python_has_no_text() -> None:
    query = model.PythonQuery("m", "f", "def f(a): return a", ("a",), (), lambda a: a)
    with pytest.raises(errors.ArgumentRefused, match='view "v" is written in Python'):
        render(model.View(name="v", query=query))


BINARY = (
    exp.Or, exp.And, exp.EQ, exp.LT, exp.Like, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd, exp.BitwiseLeftShift,
    exp.Add, exp.Sub, exp.DPipe, exp.Mul, exp.IntDiv,
)  # fmt: skip
TREES = st.recursive(
    st.sampled_from("abc").map(exp.column),
    lambda tree: st.one_of(
        st.builds(lambda kind, one, other: kind(this=one, expression=other), st.sampled_from(BINARY), tree, tree),
        st.builds(lambda kind, one: kind(this=one), st.sampled_from([exp.Not, exp.Neg, exp.BitwiseNot]), tree),
        st.builds(lambda one, low, high: exp.Between(this=one, low=low, high=high), tree, tree, tree),
        st.builds(lambda one: exp.Is(this=one, expression=exp.Null()), tree),
        st.builds(lambda one, other: exp.In(this=one, expressions=[other]), tree, tree),
        st.builds(lambda one: exp.Bracket(this=one, expressions=[exp.Literal.number(0)]), tree),
    ),
    max_leaves=6,
)


@given(TREES)
def test_a_tree_that_was_put_together_is_read_as_it_is(tree: exp.Expr) -> None:
    """What stands in the place of a name, like a column of the same SELECT, is no part of what is around it."""
    assert bare(parse_expression(spell(tree))) == bare(tree), spell(tree)


def bare(tree: exp.Expr) -> str:
    """The tree without parentheses; AND and OR of several are the same however they are held together."""
    node = tree.unnest()
    if isinstance(node, exp.And | exp.Or):
        return f"{node.key}({', '.join(bare(part) for part in node.flatten())})"
    parts = [f"{name}={bare(part)}" for name, part in node.args.items() if isinstance(part, exp.Expr)]
    listed = [bare(part) for part in node.expressions]
    return f"{node.key}({', '.join(parts + listed)})" if parts or listed else f"{node.key} {node.name}"
