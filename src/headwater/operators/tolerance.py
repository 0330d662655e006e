"""The columns of a view that may differ between executions, and by how much.

Most aggregates give the same value however the rows are cut into batches. Sketches don't: two executions give two
estimates of one truth. A column that derives from one has a *tolerance*: by which share of the value two executions may
differ, or none that could be stated of a value, because the sketch's bound is one of rank (a quantile) or of membership
(the most frequent). The last digits of floating-point values are not meant: they are compared to fewer digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.operators.expression import Expression, Named


@dataclass(frozen=True)
class Tolerance:
    """The distance that two executions may be apart, as a share of the value; None if it can't be said of the value."""

    share: float | None


Tolerances = Mapping[str, Tolerance]


def tolerances_of(expressions: Iterable[Named], below: Tolerances) -> Tolerances:
    """The tolerances of some expressions over the columns of a stage."""
    widest = {named.name: widest_read(named.expression, below) for named in expressions}
    return {name: tolerance for name, tolerance in widest.items() if tolerance is not None}


def widest_read(expression: Expression, below: Tolerances) -> Tolerance | None:
    """The widest tolerance of the columns that an expression reads; None if they have none."""
    read = [below[name] for name in expression.reads if name in below]
    return widest(read) if read else None


def widest(tolerances: list[Tolerance]) -> Tolerance:
    """The tolerance within which all of them are."""
    shares = [tolerance.share for tolerance in tolerances]
    return Tolerance(None if None in shares else max(share for share in shares if share is not None))
