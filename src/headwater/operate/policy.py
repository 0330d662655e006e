"""The policy of a project for promotions: who may serve another version of a view, and what has to hold before.

It is declared in `[promotion]` of headwater.toml. What is asked for with a promotion comes on top of it: the stricter
limit counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headwater.errors import PromotionRefused
from headwater.operate.audit import actor
from headwater.operate.hold import KEEP_OLD


@dataclass(frozen=True)
class Gate:
    """The conditions of a promotion: the largest share of rows that may differ and that may be missing, and queries.

    Each of `require` is in the SQL of views, over `old` and `new`; the first value of its answer must be true.
    """

    most_different: float | None = None
    most_missing: float | None = None
    require: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Tells whether nothing is asked."""
        return self.most_different is None and self.most_missing is None and not self.require

    def with_(self, other: Gate) -> Gate:
        """The gate that asks for what both ask for.

        >>> Gate(0.1, require=("a",)).with_(Gate(0.2, 0.0, ("b",)))
        Gate(most_different=0.1, most_missing=0.0, require=('a', 'b'))
        """
        return Gate(
            _less(self.most_different, other.most_different),
            _less(self.most_missing, other.most_missing),
            tuple(dict.fromkeys((*self.require, *other.require))),
        )


@dataclass(frozen=True)
class Policy:
    """The policy: what every promotion has to pass, how long the version before is fed, who may promote.

    With `hold`, or a gate, a view whose declaration has changed is held until somebody promotes it. Whoever may promote
    is named as in the audit trail: `user ada`, `token deploy`; everybody, if nobody is named.
    """

    gate: Gate = Gate()
    keep_old: timedelta = KEEP_OLD
    hold: bool = False
    by: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Tells whether no version of another declaration is served before somebody promotes it."""
        return self.hold or not self.gate.is_open

    def check_actor(self) -> None:
        """Refuse a promotion by somebody who may not promote."""
        if self.by and actor() not in self.by:
            raise PromotionRefused(
                f"{actor()} may not promote",
                detail=f"[promotion] of headwater.toml names {', '.join(self.by)}. Nothing was changed.",
                hint="Ask one of them, or have the policy changed.",
            )


def _less(one: float | None, other: float | None) -> float | None:
    given = [share for share in (one, other) if share is not None]
    return min(given, default=None)
