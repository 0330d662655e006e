"""The views of a project, by what is wanted of them: to be run, asked, or inspected."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.operate.ask import ViewAnswers
from headwater.operate.catalog import Catalog
from headwater.operate.inspect import ViewInspection
from headwater.operate.promotion import Promotion
from headwater.operate.run import ViewRuns
from headwater.plan import Plan


@dataclass(frozen=True)
class Views:
    """The views of a catalog: `run` keeps them, `ask` tells what they have, `inspect` how that came about."""

    catalog: Catalog
    run: ViewRuns
    ask: ViewAnswers
    inspect: ViewInspection

    def take_over(self, plan: Plan, promotion: Promotion) -> None:
        """Let another plan take the place of this one, and let the views that are kept up follow it."""
        self.catalog.take_over(plan)
        self.run.take_over(promotion)

    def close(self) -> None:
        """Stop what runs, and let go of the stores."""
        self.run.stop()
        self.ask.close()
        self.catalog.stores.close()
