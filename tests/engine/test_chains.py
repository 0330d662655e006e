"""Every chain of operators that may be live is sound: what its view holds is what batch says, and what DuckDB says.

The table of `plan.chain` is proven here. `make test` takes some chains of it over one log, `CHAINS=all` (`make chaos`)
every form of every chain, each over logs of its own; `CHAINS=100` is the first hundred of them, and `CHAINS_SEED` gives
other logs.
"""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest

from headwater.errors import HeadwaterError
from headwater.plan.chain import PROVEN, Chain
from headwater.testing import Scenario, scenario
from headwater.testing.compare import compare
from tests.engine import chains

SEED = int(os.environ.get("CHAINS_SEED", "1"))
SOME = (
    "left (before) → times, final by t",
    "left (after) → times, final by t",
    "once → right (around) → times, final by met",
    "inner (after) → times, changes by t",
    "full (around) → windows, final by HOP of met",
    "once → left (before) → windows, final by TUMBLE of t",
    "semi (before) → sessions, final by sessions of t",
    "window left → times, final by t",
    "window inner → windows, changes by TUMBLE of met",
    "once → distinct → windows, changes by CUMULATE of t",
)
"""The forms that `make test` looks at: each kind of join, each way of grouping."""


def chosen() -> list[chains.Case]:
    """The cases to look at, with a grace and bounds of each one's own."""
    wanted = os.environ.get("CHAINS", "")
    every = [case for chain in sorted(PROVEN, key=str) for case in _forms(chain)]
    if not wanted:
        return [case for case in every if str(case).startswith(SOME)]
    random.Random(SEED).shuffle(every)
    return every[: None if wanted == "all" else int(wanted)]


def _forms(chain: Chain) -> list[chains.Case]:
    chance = random.Random(f"{SEED} {chain}")
    return list(chains.cases(chain, chance.choice([0, 0, 2]), far=chance.random() < 0.3))


def test_every_chain_has_a_form() -> None:
    assert [str(chain) for chain in sorted(PROVEN, key=str) if not _forms(chain)] == []


@pytest.mark.timeout(0)
def test_proven_chains_are_sound_live() -> None:
    differences, cases = [], chosen()
    at_a_time = 10
    for first in range(0, len(cases), at_a_time):
        differences += prove(cases[first : first + at_a_time], SEED + first)
    assert differences == []


def prove(cases: list[chains.Case], seed: int) -> list[str]:
    """Run views of some chains over a log, in two lives with batches of other sizes; what differs."""
    chance, named = random.Random(seed), {f"v{number}": case for number, case in enumerate(cases)}
    found = []
    with scenario(chains.STREAMS + "".join(case.declared(name) for name, case in named.items())) as world:
        before, after = chains.logs(seed)
        world.feed(before)
        for name in named:
            world.run(name, per_batch=chance.choice([1, 2, None]))
        world.restart()
        world.feed(after)
        rows = {topic: world.project.read(topic) for topic in chains.TOPICS}
        for name, case in named.items():
            size = chance.choice([1, 2, None])
            difference = _difference(world, name, case, size, rows)
            print("differs" if difference else "sound", case, f"seed {seed}, {size} commits a batch", difference or "")
            found += [f"{case}, seed {seed}, {size} commits a batch: {difference}"] if difference else []
    return found


def _difference(
    world: Scenario, name: str, case: chains.Case, per_batch: int | None, rows: dict[str, pa.Table]
) -> str | None:
    try:
        world.run(name, per_batch=per_batch)
    except HeadwaterError as error:
        return str(error)
    counted = world.project.views.ledger(name)
    if counted.remainder:
        return f"the ledger has a remainder of {counted.remainder}"
    opinion = chains.expected(rows, case.duckdb)
    held = world.rows(name)
    difference = compare(held, opinion.select(held.column_names).cast(held.schema)) or compare(held, world.batch(name))
    return str(difference) if difference else None
