"""Patterns as a user writes them, and beside each what a row must be, in Python: what the independent matcher is told.

All of them look at the same events, of which some come out of order and two too late.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.operators.matcher import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM events (
  id STRING, card STRING, kind STRING, amount INT, price DECIMAL(8, 2), weight DOUBLE, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'card');
"""
Event = dict[str, Any]
Events = list[Event]
Defined = Callable[[Events, Path, int], bool | None]


def events() -> list[list[Event]]:
    """The commits of the log."""
    chance, commits, now, number = random.Random(7), [], 0, 0
    for commit in range(6):
        rows = []
        for _ in range(chance.randint(9, 13)):
            now += chance.choice([0, 1, 1, 2, 3])
            number += 1
            rows.append({
                "id": f"e{number}", "card": chance.choice(["x", "x", "y", "y", "z", None]),
                "kind": chance.choice(["a", "a", "b", "b", "c", None]), "amount": chance.choice([None, *range(1, 10)]),
                "price": f"{chance.randint(50, 900) / 100:.2f}", "weight": chance.choice([0.5, 1.25, 3.0, None]),
                "at": now - chance.choice([0, 0, 0, 1, 3]),
            })  # fmt: skip
        if commit in (3, 5):
            rows.append({**rows[0], "id": f"late{commit}", "at": 0})
        commits.append(rows)
        now += chance.choice([0, 4, 12])
    return commits


@dataclass(frozen=True)
class Case:
    """A pattern: its words behind ORDER BY, and what the rows of its variables are."""

    name: str
    pattern: str
    within: int | None = 20
    skip: str = "PAST LAST ROW"
    define: Mapping[str, tuple[str, Defined]] = field(default_factory=dict)
    rows: str = "ONE ROW PER MATCH"
    measures: Mapping[str, tuple[str, Callable[[Events, Path], Any]]] = field(default_factory=dict)
    subset: str = ""
    window: int | None = None
    options: str = ""

    @property
    def sql(self) -> str:
        """The view."""
        measured = ", ".join(f"{text} AS {name}" for name, (text, _) in self.measures.items())
        define = ", ".join(f"{name} AS {text}" for name, (text, _) in self.define.items())
        within = f" WITHIN INTERVAL '{self.within}' SECOND" if self.within else ""
        source, by = "events", "card"
        if self.window:
            source, by = f"TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '{self.window}' SECOND)", "card, window_end"
        return f"""CREATE MATERIALIZED VIEW {self.name}{self.options} AS SELECT * FROM {source} MATCH_RECOGNIZE (
          PARTITION BY {by} ORDER BY at MEASURES {measured} {self.rows} AFTER MATCH SKIP {self.skip}
          PATTERN ({self.pattern}){within}{self.subset}{f" DEFINE {define}" if define else ""});"""


def kind(name: str) -> tuple[str, Defined]:
    return f"kind = '{name}'", lambda rows, path, at: rows[at]["kind"] == name


def of(path: Path, *names: str) -> list[int]:
    """The rows of a path that some variables took; all of them without any."""
    return [row for row, name, _ in path if not names or name in names]


def value(rows: Events, places: list[int], column: str, place: int = -1) -> Any:
    return rows[places[place]][column] if -len(places) <= place < len(places) else None


def prev(rows: Events, at: int, column: str, count: int = 1, near: int | None = 20) -> Any:
    other = at - count
    if not 0 <= other < len(rows) or (near is not None and abs(rows[other]["at"] - rows[at]["at"]) >= near):
        return None
    return rows[other][column]


def total(values: list[Any]) -> Any:
    known = [each for each in values if each is not None]
    return sum(known) if known else None


def less(one: Any, other: Any) -> bool | None:
    return None if one is None or other is None else one < other


WHOLE: Mapping[str, tuple[str, Callable[[Events, Path], Any]]] = {
    "ids": ("array_join(collect_list(id), ',')", lambda rows, path: ",".join(rows[row]["id"] for row in of(path))),
    "took": (
        "array_join(collect_list(CLASSIFIER()), ',')",
        lambda _, path: ",".join(name.upper() for _, name, _ in path),
    ),
    "n": ("COUNT(*)", lambda _, path: len(path)),
}
"""All that there is to say of a match."""
ABC = {name: kind(name) for name in "abc"}

PATTERNS = [
    "a b", "a+ b", "a+? b", "a* b", "a*? c", "a b? c", "a b?? c", "a{2}", "a{2,}", "a{1,2} b", "a{1,3}? b", "(a | b) c",
    "(a b | a) b*", "(a | a b) c?", "(a b)+", "(a | b | c){3}", "PERMUTE(a, b)", "PERMUTE(a, b, c)", "a {- b -} c*",
    "a any b", "a any*? b", "a any* b", "any{4}", "(a b?)+ c", "((a | b)+? c)?", "(a* b*)+", "a (b | c)* a",
    "(a | b){2} c",
]  # fmt: skip
SKIPS = ["PAST LAST ROW", "TO NEXT ROW", "PAST LAST ROW"]


def _of_kinds() -> list[Case]:
    cases = []
    for number, pattern in enumerate(PATTERNS):
        names = [name for name in "abc" if name in pattern.replace("any", "").lower()]
        define = {name: ABC[name] for name in names}
        within = 60 if "PERMUTE" in pattern or "any b" in pattern else (20, 8, 40)[number % 3]
        skip = SKIPS[number % 3]
        cases.append(Case(f"kinds_{number}", pattern, within, skip, define, measures=WHOLE))
    return cases


_UP = ("price > PREV(price)", lambda rows, _, at: less(prev(rows, at, "price"), rows[at]["price"]))
_FALLS = (
    "down.price < PREV(down.price, 2)",
    lambda rows, _, at: less(rows[at]["price"], prev(rows, at, "price", 2, near=12)),
)
_BEFORE_MORE = ("amount < NEXT(amount)", lambda rows, _, at: less(rows[at]["amount"], prev(rows, at, "amount", -1)))
SO_FAR = [
    Case("rises", "start up{2,}", define={"up": _UP}, measures=WHOLE),
    Case("falls", "start down+", 12, define={"down": _FALLS}, measures=WHOLE),
    Case("before_more", "low+ high", define={"low": _BEFORE_MORE}, measures=WHOLE),
    Case(
        "more_than_the_first",
        "a more+",
        define={
            "more": (
                "amount > a.amount",
                lambda rows, path, at: less(value(rows, of(path, "a"), "amount"), rows[at]["amount"]),
            )
        },
        measures=WHOLE,
    ),
    Case(
        "more_than_the_last",
        "a (more | other)+?  b",
        define={
            "more": (
                "amount > LAST(more.amount, 1)",
                lambda rows, path, at: less(value(rows, of(path, "more"), "amount"), rows[at]["amount"]),
            ),
            "b": kind("b"),
        },
        measures=WHOLE,
    ),
    Case(
        "up_to_ten",
        "one+",
        define={
            "one": (
                "SUM(amount) <= 10",
                lambda rows, path, at: (lambda s: None if s is None else s <= 10)(
                    total([rows[row]["amount"] for row in [*of(path), at]])
                ),
            )
        },
        measures=WHOLE,
    ),
    Case(
        "above_the_mean",
        "a{2,3} b",
        30,
        "TO NEXT ROW",
        {
            "b": (
                "price > AVG(a.price) AND kind <> 'c'",
                lambda rows, path, at: (
                    None
                    if rows[at]["kind"] is None
                    else (
                        rows[at]["price"] > sum(rows[row]["price"] for row in of(path, "a")) / len(of(path, "a"))
                        and rows[at]["kind"] != "c"
                    )
                ),
            )
        },
        measures=WHOLE,
    ),
    Case(
        "few_of_them",
        "(a | b)+ c?",
        define={
            **ABC,
            "a": (
                "kind = 'a' AND COUNT(a.*) <= 2",
                lambda rows, path, at: rows[at]["kind"] == "a" and len(of(path, "a")) < 2,
            ),
        },
        measures=WHOLE,
    ),
    Case(
        "soon",
        "a any+? b",
        40,
        define={
            "a": kind("a"),
            "b": (
                "kind = 'b' AND at - FIRST(at) < INTERVAL '6' SECOND",
                lambda rows, path, at: rows[at]["kind"] == "b" and rows[at]["at"] - rows[of(path)[0]]["at"] < 6,
            ),
        },
        measures=WHOLE,
    ),
    Case(
        "one_of_two",
        "(a | b) other{0,2} u",
        define={
            "a": kind("a"),
            "b": kind("b"),
            "u": (
                "amount BETWEEN MIN(both.amount) AND 9 OR weight = LAST(other.weight)",
                lambda rows, path, at: _one_of_two(rows, path, at),
            ),
        },
        subset=" SUBSET both = (a, b)",
        measures=WHOLE,
    ),
]


def _one_of_two(rows: Events, path: Path, at: int) -> bool | None:
    known = [rows[row]["amount"] for row in of(path, "a", "b") if rows[row]["amount"] is not None]
    own, weight = rows[at]["amount"], value(rows, of(path, "other"), "weight")
    first = None if not known or own is None else min(known) <= own <= 9
    second = None if weight is None or rows[at]["weight"] is None else weight == rows[at]["weight"]
    return True if first or second else None if first is None or second is None else False


def _amounts(rows: Events, path: Path, *names: str) -> list[Any]:
    return [rows[row]["amount"] for row in of(path, *names)]


MEASURES: Mapping[str, tuple[str, Callable[[Events, Path], Any]]] = {
    "first_a": ("FIRST(a.id)", lambda rows, path: value(rows, of(path, "a"), "id", 0)),
    "second_a": ("FIRST(a.id, 1)", lambda rows, path: value(rows, of(path, "a"), "id", 1)),
    "last_b": ("b.id", lambda rows, path: value(rows, of(path, "b"), "id")),
    "before_last": ("LAST(id, 1)", lambda rows, path: value(rows, of(path), "id", -2)),
    "before_a": ("PREV(FIRST(a.id), 1)", lambda rows, path: _beside(rows, of(path, "a")[:1], -1)),
    "behind": ("NEXT(id, 1)", lambda rows, path: _beside(rows, of(path)[-1:], 1)),
    "total": (
        "SUM(both.amount) + 1",
        lambda rows, path: (lambda s: None if s is None else s + 1)(total(_amounts(rows, path, "a", "b"))),
    ),
    "least": (
        "MIN(a.amount)",
        lambda rows, path: min((each for each in _amounts(rows, path, "a") if each is not None), default=None),
    ),
    "kinds": ("COUNT(DISTINCT kind)", lambda rows, path: len({rows[row]["kind"] for row in of(path)} - {None})),
    "counted": ("COUNT(b.*)", lambda _, path: len(of(path, "b"))),
    "started_at": ("FIRST(at)", lambda rows, path: value(rows, of(path), "at", 0)),
    "took": ("CLASSIFIER()", lambda _, path: path[-1][1].upper() if path else None),
    "before_took": ("LAST(CLASSIFIER(), 1)", lambda _, path: path[-2][1].upper() if len(path) > 1 else None),
}


def _beside(rows: Events, places: list[int], step: int) -> Any:
    return prev(rows, places[0], "id", -step) if places else None


NUMBERED = {**WHOLE, "number": ("MATCH_NUMBER()", lambda _, path: None)}
OTHERS = [
    Case(
        "measures", "a+ b*", define={"a": kind("a"), "b": kind("b")}, measures=MEASURES, subset=" SUBSET both = (a, b)"
    ),
    Case("measures_next", "a* b+ c?", 20, "TO NEXT ROW", ABC, measures=MEASURES, subset=" SUBSET both = (a, b)"),
    Case(
        "keyed",
        "a any*? b",
        define=ABC | {},
        measures={**WHOLE, "started": ("FIRST(id)", lambda rows, path: value(rows, of(path), "id", 0))},
        options=" WITH (key = 'started')",
    ),
    Case(
        "to_last",
        "a b+ c?",
        20,
        "TO LAST b",
        {"a": kind("a"), "b": ("kind <> 'a'", lambda rows, _, at: rows[at]["kind"] not in (None, "a")), "c": kind("c")},
        measures=WHOLE,
    ),
    Case("to_first", "any b+", 20, "TO FIRST b", {"b": kind("b")}, measures=WHOLE),
    Case(
        "in_windows",
        "^ any* b $",
        None,
        define={"b": ("amount > 2", lambda rows, _, at: less(2, rows[at]["amount"]))},
        measures=WHOLE,
        window=12,
    ),
    Case("in_windows_numbered", "a+ b?", None, define=ABC | {}, measures=NUMBERED, window=30),
    Case("in_windows_within", "a any+", 4, "TO NEXT ROW", {"a": kind("a")}, measures=WHOLE, window=20),
    Case("all_rows", "a b* {- c -}", define=ABC, rows="ALL ROWS PER MATCH"),
    Case("all_rows_empty", "a*", define=ABC, rows="ALL ROWS PER MATCH SHOW EMPTY MATCHES"),
    Case("all_rows_next", "a any b", 20, "TO NEXT ROW", define=ABC, rows="ALL ROWS PER MATCH OMIT EMPTY MATCHES"),
    Case("all_rows_unmatched", "a b+", define=ABC, rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
    Case("all_rows_omit", "b*", 20, define=ABC, rows="ALL ROWS PER MATCH OMIT EMPTY MATCHES"),
]
OF_ROWS = {
    "took": "CLASSIFIER()",
    "so_far": "SUM(amount)",
    "in_all": "FINAL COUNT(*)",
    "first_id": "FIRST(id)",
    "last_id": "FINAL LAST(id)",
}
"""The measures of cases that show the rows of matches."""

_SPENT = ("amount", lambda rows, row: rows[row]["amount"])
BANK = [
    Case("not_answered", "a [^ b ]", 9, define={"a": kind("a"), "b": kind("b")}, measures=WHOLE),
    Case(
        "not_answered_more",
        "a any [^ more ]",
        7,
        "TO NEXT ROW",
        {
            "a": kind("a"),
            "more": (
                "amount > a.amount",
                lambda rows, path, at: less(value(rows, of(path, "a"), "amount"), rows[at]["amount"]),
            ),
        },
        measures=WHOLE,
    ),
    Case("not_in_the_window", "a+ [^ c ]", None, define={"a": kind("a"), "c": kind("c")}, measures=WHOLE, window=15),
    Case(
        "sixth_payment",
        "p{6}",
        20,
        define={"p": ("kind IS NOT NULL", lambda rows, _, at: rows[at]["kind"] is not None)},
        measures=WHOLE,
    ),
    Case(
        "more_than_twenty",
        "p* last",
        30,
        define={
            "p": (
                "SUM(amount) <= 20",
                lambda rows, path, at: (lambda s: None if s is None else s <= 20)(
                    total(_amounts(rows, (*path, (at, "p", False))))
                ),
            ),
            "last": (
                "SUM(amount) > 20",
                lambda rows, path, at: (lambda s: None if s is None else s > 20)(
                    total(_amounts(rows, (*path, (at, "p", False))))
                ),
            ),
        },
        measures=WHOLE,
    ),
    Case(
        "three_in_two_kinds",
        "p any*? p2 any*? p3",
        30,
        define={
            "p": ("amount > 4", lambda rows, _, at: less(4, rows[at]["amount"])),
            "p2": ("amount > 4", lambda rows, _, at: less(4, rows[at]["amount"])),
            "p3": (
                "amount > 4 AND (kind <> p.kind OR p2.kind <> p.kind)",
                lambda rows, path, at: _two_kinds(rows, path, at),
            ),
        },
        measures=WHOLE,
    ),
    Case("failed_logins", "failed{2,} ok", 25, define={"failed": kind("a"), "ok": kind("b")}, measures=WHOLE),
    Case(
        "rose_by_half",
        "before after",
        10,
        define={
            "after": (
                "after.price > before.price * 1.5",
                lambda rows, path, at: rows[at]["price"] > value(rows, of(path, "before"), "price") * 15 / 10,
            )
        },
        measures=WHOLE,
    ),
    Case(
        "faster_than_can_be",
        "here there",
        20,
        "TO NEXT ROW",
        {
            "there": (
                "abs(there.amount - here.amount) > 5",
                lambda rows, path, at: (lambda x, y: None if x is None or y is None else abs(x - y) > 5)(
                    rows[at]["amount"], value(rows, of(path, "here"), "amount")
                ),
            )
        },
        measures=WHOLE,
    ),
]


def _two_kinds(rows: Events, path: Path, at: int) -> bool | None:
    own, first, second = rows[at]["kind"], value(rows, of(path, "p"), "kind"), value(rows, of(path, "p2"), "kind")
    enough = less(4, rows[at]["amount"])
    differ = [None if None in pair else pair[0] != pair[1] for pair in ((own, first), (second, first))]
    other = True if True in differ else None if None in differ else False
    return False if enough is False or other is False else None if None in (enough, other) else True


CASES = [*_of_kinds(), *SO_FAR, *OTHERS, *BANK]
