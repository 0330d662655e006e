from __future__ import annotations

import pytest

from headwater.model import Pattern
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

A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (A, "A"),
        (Sequence((A, Alternation((B, C)))), "A (B | C)"),
        (Alternation((Sequence((A, B)), C)), "A B | C"),
        (Repeat(Sequence((A, B)), 1, None), "(A B)+"),
        (Repeat(Repeat(A, 0, 1), 0, None, greedy=False), "(A?)*?"),
        (Repeat(A, 2, 2), "A{2}"),
        (Repeat(A, 2, 5), "A{2,5}"),
        (Repeat(A, 2, None, greedy=False), "A{2,}?"),
        (Permutation((A, B)), "PERMUTE(A, B)"),
        (Sequence((Anchor("start"), Exclusion(A), Anchor("end"))), "^ {- A -} $"),
        (Variable("my `a`"), "`my ``a```"),
    ],
)
def test_a_pattern_is_spelled_as_sql_does(step: Step, text: str) -> None:
    assert spell_step(step) == text


def test_the_variables_of_a_pattern_are_named_once_in_their_order() -> None:
    step = Sequence((B, Repeat(Alternation((A, B)), 1, None), Exclusion(Permutation((C, A))), Anchor("end")))
    assert Pattern(step=step).variables == ("B", "A", "C")
