"""Cuts: commits, one of each topic, up to which their logs have whole transactions.

The tables of a database have a log each, and a transaction that changes several of them is in a commit of each log.
Whoever takes them in ends these commits at the same places, and leaves a mark with each (`log.producer`): the position
that the commit comes to, and the positions that the other logs have there. At a mark whose positions all logs have
come to is a cut; a log that nothing was changed for stands where it stood. Topics that share no transactions are cut
at their heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from headwater.log.producer import Mark, Standing
from headwater.log.topic import TopicLog

Commits = Mapping[TopicLog, int]


def newest_cut(logs: Iterable[TopicLog]) -> dict[TopicLog, int]:
    """The newest cut of logs; commit 0 of those that share transactions and have come to no common cut yet."""
    cut = {log: max(log.head, 0) for log in logs}
    for together in shared(cut):
        cut |= next(cuts(together), dict.fromkeys(together, 0))
    return cut


def cut_by_name(logs: Mapping[str, TopicLog]) -> dict[str, int]:
    """The newest cut of logs, by their names."""
    cut = newest_cut(logs.values())
    return {name: cut[log] for name, log in logs.items()}


def shared(logs: Iterable[TopicLog]) -> list[list[TopicLog]]:
    """The logs that share transactions with others of these, together with them."""
    named = {log: log.topic.intake.transactions_of for log in logs if log.topic.intake is not None}
    sharing = sorted((log for log, place in named.items() if place), key=lambda log: str(named[log]))
    groups = (list(group) for _, group in groupby(sharing, key=lambda log: named[log]))
    return [group for group in groups if len(group) > 1]


def cuts(logs: Sequence[TopicLog]) -> Iterator[dict[TopicLog, int]]:
    """The known cuts of logs that share transactions, the newest first; their heads, if none of them has marks."""
    producers = dict.fromkeys(log.standing().producer for log in logs)
    producers.pop(None, None)
    if not producers:
        yield {log: max(log.head, 0) for log in logs}
    for producer in producers:
        standings = {log: log.standing(producer) for log in logs}
        marks = {mark for standing in standings.values() for mark in standing.marks}
        for mark in sorted(marks, key=lambda mark: mark.position, reverse=True):
            found = {log: _commit_at(log.topic.name, standing, mark) for log, standing in standings.items()}
            if all(commit is not None for commit in found.values()):
                yield {log: commit for log, commit in found.items() if commit is not None}


def _commit_at(topic: str, standing: Standing, mark: Mark) -> int | None:
    """The commit of a log at a mark; None if it has not come there, or began behind it."""
    position = mark.stands.get(topic)
    return None if position is None or position > mark.position else standing.commit_at(position)
