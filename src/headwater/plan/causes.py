"""Causes: of all that was found, what an author has to mend; what only follows from it is left out.

A name that can't be resolved leaves a hole in a query, and whatever is judged around the hole (what a group is made of,
when it ends, how far a join reaches) is judged on a guess. Such a verdict *follows*: mended, the cause takes it along,
or it is found then. The same unknown name in several places of a view is one cause, shown at the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from headwater.errors import (
    AmbiguousColumn,
    EmitRefused,
    Finding,
    KeyNotInOutput,
    NotSupportedYet,
    NoWatermark,
    OrderDependent,
    Origin,
    QueryRefused,
    SyntaxRefused,
    TypeMismatch,
    UnboundedJoin,
    UnboundedState,
    UngroupedColumn,
    UnknownColumn,
    UnknownFunction,
    UnknownName,
    UnknownType,
    UnnamedColumn,
    UnversionedJoin,
    WindowRefused,
)
from headwater.plan.graph import Edge

_UNKNOWN = (UnknownName, UnknownColumn, UnknownFunction)
_HOLES = (*_UNKNOWN, SyntaxRefused, AmbiguousColumn)
"""Findings behind which nothing is certain any more."""
_BREAKS = (*_HOLES, QueryRefused, NotSupportedYet, TypeMismatch, OrderDependent, WindowRefused, NoWatermark)
"""Findings behind which nothing is certain about time and state."""
_ABOUT_STATE = (UnboundedState, UnboundedJoin, UnversionedJoin, KeyNotInOutput, EmitRefused)
_ABOUT_GROUPS = (UngroupedColumn,)
_ABOUT_TYPES = (TypeMismatch, UnknownType)
_NOWHERE = Origin("")


def causes(
    findings: Iterable[Finding], refused: Collection[str], blind: Collection[str], edges: Collection[Edge]
) -> tuple[Finding, ...]:
    """The findings that stand for a cause of their own, in the order of the files, each once.

    `refused` are the names of declarations that couldn't be read, `blind` the views that read one of those; `edges` say
    which view reads what.
    """
    known = sorted(findings, key=lambda found: (found.origin or _NOWHERE, found.code(), found.summary))
    unread = {name.lower() for name in refused}
    holed = _views(found for found in known if isinstance(found, _HOLES))
    blind = _views(found for found in known if isinstance(found, UnknownName)) | set(blind)
    broken = _downstream(holed, edges) | blind | _downstream(blind, edges)
    by_view: dict[str, list[Finding]] = {}
    for found in known:
        by_view.setdefault(str(found.fields.get("view", "")), []).append(found)
    own = [found for found in known if not _follows(found, by_view[str(found.fields.get("view", ""))], broken)]
    return tuple(_merged(_once(found for found in own if not _is_unread(found, unread))))


def _views(findings: Iterable[Finding]) -> set[str]:
    return {str(found.fields["view"]) for found in findings if "view" in found.fields}


def _downstream(views: set[str], edges: Collection[Edge]) -> set[str]:
    """The views that read one of these, directly or through others."""
    reached: set[str] = set()
    waiting = set(views)
    while waiting:
        waiting = {edge.reader for edge in edges if edge.source in waiting} - reached
        reached |= waiting
    return reached


def _follows(finding: Finding, beside: Collection[Finding], broken: Collection[str]) -> bool:
    """Whether a finding is there only because of another one about the same view, or about one that it reads."""
    if "view" not in finding.fields:
        return False
    below = finding.fields["view"] in broken
    if isinstance(finding, _ABOUT_STATE):
        return below or any(isinstance(other, _BREAKS) for other in beside)
    if isinstance(finding, _ABOUT_GROUPS):
        return any(isinstance(other, (*_HOLES, QueryRefused)) for other in beside)
    if isinstance(finding, UnnamedColumn):
        return any(isinstance(other, _HOLES) and other.origin == finding.origin for other in beside)
    if isinstance(finding, _ABOUT_TYPES):
        return below or ("VOID" in finding.summary and any(isinstance(other, _HOLES) for other in beside))
    return False


def _is_unread(finding: Finding, unread: Collection[str]) -> bool:
    """Whether what is unknown to a view is declared, in a declaration that couldn't be read."""
    return isinstance(finding, UnknownFunction) and str(finding.fields.get("function", "")).lower() in unread


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Each finding once; one about an unknown name at its first place in a view, one about a shape per place."""
    seen: set[tuple[object, ...]] = set()
    for found in findings:
        place = None if isinstance(found, _UNKNOWN) else found.origin
        summary = found.fields.get("view", "") if type(found) is QueryRefused else found.summary
        key = (type(found), place, summary)
        if key not in seen:
            seen.add(key)
            yield found


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with those about the columns of one `*` that no group has as one."""
    for (kind, _, _), found in groupby(findings, key=lambda one: (type(one), one.origin, one.fields.get("view"))):
        several = list(found)
        if kind is UngroupedColumn and len(several) > 1:
            yield _ungrouped_star(several)
        else:
            yield from several


def _ungrouped_star(several: list[Finding]) -> Finding:
    first = several[0]
    names = ", ".join(str(found.fields["column_name"]) for found in several)
    return UngroupedColumn(
        f'view "{first.fields["view"]}" reads columns that are neither grouped nor aggregated',
        detail=f"They are {names}.",
        hint="Name the columns of GROUP BY in SELECT, and aggregates of the others, like max(…), in place of *.",
        origin=first.origin,
        **first.fields,
    )
