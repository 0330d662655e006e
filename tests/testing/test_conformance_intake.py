"""The suite for inlets finds inlets that break the contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from headwater.intake import Events, Inlet, Piece, SourcePositions, Wait
from headwater.testing import IntakeConformance
from tests.intake.test_conformance import Journal, JournalFeed

SUITE = IntakeConformance()


class Forgetful(Journal):
    """Begins at the start again."""

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        super().open(positions, alone=alone)
        self._next = 0


class Hasty(Journal):
    """Begins at the end if it finds letters that are there already."""

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        super().open(positions, alone=alone)
        if positions.sources["journal"].is_behind_its_letters:
            self._next = self._end


class Renumbering(Journal):
    """Counts events from where it began."""

    def read(self, wait: Wait) -> Sequence[Piece]:
        found = super().read(wait)
        return [Events(piece.source, piece.values, range(len(piece.values)), piece.after) for piece in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (Forgetful, SUITE.test_each_event_is_a_row_or_a_dead_letter_once),
        (Hasty, SUITE.test_a_process_that_is_killed_loses_and_doubles_nothing),
        (Renumbering, SUITE.test_dead_letters_say_where_they_came_from),
        (Renumbering, SUITE.test_a_process_that_is_killed_loses_and_doubles_nothing),
    ],
)
def test_an_inlet_that_breaks_the_contract_is_found(
    tmp_path: Path, broken: type[Inlet], test: Callable[[JournalFeed], None]
) -> None:
    class Feed(JournalFeed):
        def inlet(self) -> Inlet:
            return broken(tmp_path / "journal.jsonl")  # type: ignore[call-arg]

    with pytest.raises(AssertionError):
        test(Feed(tmp_path / "journal.jsonl"))
