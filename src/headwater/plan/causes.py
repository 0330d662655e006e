"""Causes: of all findings, those that an author has to mend; what only follows from them is left out.

A name that can't be resolved leaves a hole in a query, and whatever is judged around the hole (what a group is made of,
when it ends, how far a join reaches) is judged on a guess. Such a verdict *follows*: mended, the cause takes it along,
or it is found then. The same unknown name several times in a view is one cause, shown at the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from headwater.errors import Finding, Origin
from headwater.findings import (
    AmbiguousColumn,
    EmitRefused,
    KeyNotInOutput,
    NotSupportedYet,
    NoWatermark,
    OrderDependent,
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
from headwater.plan.graph import Graph

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
    findings: Iterable[Finding], refused: Collection[str], blind: Collection[str], graph: Graph
) -> tuple[Finding, ...]:
    """The findings that stand for a cause of their own, in the order of the files, each once.

    `refused` are the names of declarations that couldn't be read, `blind` the views that read one of those; the
    `graph` says which view reads what.
    """
    known = sorted(findings, key=lambda finding: (finding.origin or _NOWHERE, finding.code(), finding.summary))
    unread = {name.lower() for name in refused}
    holed = _views(finding for finding in known if isinstance(finding, _HOLES))
    blind = _views(finding for finding in known if isinstance(finding, UnknownName)) | set(blind)
    broken = blind.union(*(graph.downstream(view) for view in holed | blind))
    by_view: dict[str, list[Finding]] = {}
    for finding in known:
        by_view.setdefault(str(finding.fields.get("view", "")), []).append(finding)
    own = [finding for finding in known if not _follows(finding, by_view[str(finding.fields.get("view", ""))], broken)]
    return tuple(_merged(_once(finding for finding in own if not _is_unread(finding, unread))))


def _views(findings: Iterable[Finding]) -> set[str]:
    return {str(finding.fields["view"]) for finding in findings if "view" in finding.fields}


def _follows(finding: Finding, beside: Collection[Finding], broken: Collection[str]) -> bool:
    """Tells whether a finding is there only because of another one about the same view, or about one that it reads."""
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
    """Tells whether what is unknown to a view is declared, in a declaration that couldn't be read."""
    return isinstance(finding, UnknownFunction) and str(finding.fields.get("function", "")).lower() in unread


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Each finding once; one about an unknown name where it is first in a view, one about a shape per origin."""
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        origin = None if isinstance(finding, _UNKNOWN) else finding.origin
        summary = finding.fields.get("view", "") if type(finding) is QueryRefused else finding.summary
        key = (type(finding), origin, summary)
        if key not in seen:
            seen.add(key)
            yield finding


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with those about the columns of one `*` that no group has as one."""
    for (kind, _, _), alike in groupby(
        findings, key=lambda finding: (type(finding), finding.origin, finding.fields.get("view"))
    ):
        several = list(alike)
        if kind is UngroupedColumn and len(several) > 1:
            yield _ungrouped_star(several)
        else:
            yield from several


def _ungrouped_star(several: list[Finding]) -> Finding:
    first = several[0]
    names = ", ".join(str(finding.fields["column_name"]) for finding in several)
    return UngroupedColumn(
        f'view "{first.fields["view"]}" reads columns that are neither grouped nor aggregated',
        detail=f"They are {names}.",
        hint="Name the columns of GROUP BY in SELECT, and aggregates of the others, like max(…), in place of *.",
        origin=first.origin,
        **first.fields,
    )
