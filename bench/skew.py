"""Hot keys: the same question with 60% of the events on one key, and with no key that has more than one in a thousand.

Views are caught up from the start of the log, as in `bench.live`. Spark aggregates the rows of each task before it
shuffles them, so that a hot key is one row of each task and window; what is left of it is the work on its set of values
where an aggregate has one (DISTINCT).
"""

from __future__ import annotations

from bench.duel import prepared_bench
from bench.effort import Effort, effort_of, median
from bench.live import catch_up
from bench.nexmark import Data, Question

BIDS = 5_000_000
ROUNDS = 5
"""How often each is asked; the first time warms up and isn't counted."""
_EVEN = "price % 4999"
_HOT = "CASE WHEN unix_micros(at) % 1000 < 600 THEN -1 ELSE price % 4999 END"
_VALUES = {
    "sums": ("count, sum and highest price", "count(*) AS n, sum(price) AS total, max(price) AS highest"),
    "spread": ("the standard deviation of prices", "stddev(price) AS spread"),
    "first": ("the first bidder and the highest", "first(bidder) AS opened, max_by(bidder, price) AS leads"),
    "distinct": ("the number of bidders", "count(DISTINCT bidder) AS bidders"),
}


def asked(name: str, key: str) -> Question:
    """One of the questions, by a key, for every 10 seconds."""
    about, values = _VALUES[name]
    source = f"(SELECT at, price, bidder, {key} AS kind FROM bids)"
    window = f"TUMBLE(TABLE {source}, DESCRIPTOR(at), INTERVAL '10' SECOND)"
    sql = f"SELECT kind, window_start, window_end, {values} FROM {window} GROUP BY kind, window_start, window_end"
    return Question(name, about, sql, lambda bids: bids)


def costs(data: Data, name: str) -> tuple[Effort, Effort]:
    """What a question costs with even keys and with a hot one, in turns."""
    spent = [
        [effort_of(catch_up(data, asked(name, key), "final").work) for key in (_EVEN, _HOT)] for _ in range(ROUNDS)
    ]
    even, hot = zip(*spent[1:], strict=True)
    return median(even), median(hot)


def main() -> None:
    """Ask, and print Markdown."""
    with prepared_bench(BIDS) as bench:
        found = []
        for name, done in bench.each("skew", tuple(_VALUES)):
            found.append((name, *costs(bench.data, name)))
            done()
        rows = bench.data.rows
        print(f"{rows:,} bids, medians of {ROUNDS - 1} runs of each in turns.\n")
        print("| every 10 s, by key | even keys, events/s | 60% on one key, events/s | ratio | by processor time |")
        print("|---|---|---|---|---|")
        for name, even, hot in found:
            ratios = f"{even.clock / hot.clock:.0%} | {even.worked / hot.worked:.0%}"
            print(f"| {_VALUES[name][0]} | {rows / even.clock:,.0f} | {rows / hot.clock:,.0f} | {ratios} |")


if __name__ == "__main__":
    main()
