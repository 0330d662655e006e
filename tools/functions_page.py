"""The page of docs/reference that lists the functions which need a reader's attention.

python tools/functions_page.py >docs/reference/functions.md
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.operators import Stability
from headwater.plan.functions.catalogue import FunctionInfo, catalogue

_INTRODUCTION = """\
# Functions

A view may call every function of Spark 4.3 that is pure. This page lists the others, and the aggregates that need a
word. It is generated from the catalogue; a test keeps it current. A function that isn't listed is pure, and exact if
it is an aggregate.

## Impure

The value of an impure function depends on when or where it runs, so that a replay would give other rows. Views that
call one are refused.

{impure}

## Rewritten

The value of these aggregates depends on the order of rows. The engine gives them one, by the position of each row in
the log, so that every execution gives the same value. `avg` of whole numbers is rewritten as a sum of DECIMAL divided
by the count, and `DISTINCT` inside an aggregate as an aggregate over the set of values.

{rewritten}

## Approximate

The value of these aggregates may differ between executions within a bound. `check` says so, and `verify` compares
them within it; [sketches](sketches.md) has the bounds, and what was measured. `sum` and `avg` are approximate over
FLOAT and DOUBLE, and exact over whole numbers (`avg`: rewritten), DECIMAL and intervals: cast to DECIMAL for an exact
value.

{approximate}

## Refused

No view can call these, for the reason given.

{refused}
"""


def functions_page() -> str:
    """The page, ready to be written."""
    known = sorted(catalogue().values(), key=lambda info: info.name)
    impure = [info for info in known if info.impurity is not None and not info.refused]
    return _INTRODUCTION.format(
        impure=_table("Function", "Why", ((_impure_name(info), _impure_reason(info)) for info in impure)),
        rewritten=_by_stability(known, Stability.REWRITTEN, "What it does then"),
        approximate=_by_stability(known, Stability.APPROXIMATE, "What may differ"),
        refused=_by_stability(known, Stability.REFUSED, "Why"),
    )


def _impure_name(info: FunctionInfo) -> str:
    below = info.impurity.below if info.impurity else None
    return f"`{info.name}`" + (f" with fewer than {below} argument{'s'[: below > 1]}" if below is not None else "")


def _impure_reason(info: FunctionInfo) -> str:
    return info.impurity.why if info.impurity else ""


def _by_stability(known: Iterable[FunctionInfo], stability: Stability, heading: str) -> str:
    rows = ((f"`{info.name}`", info.reason or "") for info in known if info.fixed_stability is stability)
    return _table("Aggregate" if stability is not Stability.REFUSED else "Function", heading, rows)


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join([f"| {first} | {second} |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)])


if __name__ == "__main__":
    print(functions_page(), end="")
