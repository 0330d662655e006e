from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.pattern import (
    Alternation,
    Anchor,
    Exclusion,
    Permutation,
    Repeat,
    Sequence,
    Step,
    Variable,
    spell_step,
)
from headwater.sql.pattern import parse_step
from headwater.sql.refusal import Unparsed

A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("A", A),
        ("A B", Sequence((A, B))),
        ("A|B C", Alternation((A, Sequence((B, C))))),
        ("(A | B) C", Sequence((Alternation((A, B)), C))),
        ("A* B+ C?", Sequence((Repeat(A, 0, None), Repeat(B, 1, None), Repeat(C, 0, 1)))),
        ("A*?", Repeat(A, 0, None, greedy=False)),
        ("A??", Repeat(A, 0, 1, greedy=False)),
        ("A{3}", Repeat(A, 3, 3)),
        ("A{3,}", Repeat(A, 3, None)),
        ("A{,3}", Repeat(A, 0, 3)),
        ("A{2,3}?", Repeat(A, 2, 3, greedy=False)),
        ("^A$", Sequence((Anchor("start"), A, Anchor("end")))),
        ("{- A B -} C", Sequence((Exclusion(Sequence((A, B))), C))),
        ("PERMUTE(A, B C)", Permutation((A, Sequence((B, C))))),
        ("permute", Variable("permute")),
        ("`my a` `x``y`", Sequence((Variable("my a"), Variable("x`y")))),
    ],
)
def test_a_pattern_is_read(text: str, step: Step) -> None:
    assert parse_step(text) == step


@pytest.mark.parametrize(
    ("text", "at"), [("", 0), ("A |", 3), ("(A", 2), ("A )", 2), ("A{x}", 2), ("A{,}", 4), ("* A", 0), ("A ; B", 2)]
)
def test_what_is_no_pattern_is_refused_at_its_place(text: str, at: int) -> None:
    with pytest.raises(Unparsed) as refused:
        parse_step(text, 100)
    assert refused.value.start == 100 + at


def steps() -> st.SearchStrategy[Step]:
    names = st.sampled_from(["A", "b_1", "größe", "a b", "x`y", "permute"])
    leaves: st.SearchStrategy[Step] = st.builds(Variable, names) | st.sampled_from([Anchor("start"), Anchor("end")])

    def nested(inner: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
        some = st.lists(inner, min_size=2, max_size=3).map(tuple)
        bounds = st.tuples(st.integers(0, 3), st.none() | st.integers(3, 5))
        repeat = st.builds(lambda part, bound, greedy: Repeat(part, *bound, greedy), inner, bounds, st.booleans())
        return st.one_of(
            st.builds(Sequence, some.filter(lambda parts: not any(isinstance(part, Sequence) for part in parts))),
            st.builds(Alternation, some.filter(lambda parts: not any(isinstance(part, Alternation) for part in parts))),
            st.builds(Permutation, some),
            st.builds(Exclusion, inner),
            repeat,
        )

    return st.recursive(leaves, nested, max_leaves=6)


@given(steps())
def test_a_pattern_is_spelled_so_that_it_reads_back(step: Step) -> None:
    assert parse_step(spell_step(step)) == step
