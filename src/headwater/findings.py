"""Findings: the reasons for which the compiler refuses a declaration, and those that it shows and lets pass."""

from __future__ import annotations

from headwater.errors import Caution, Finding


class SyntaxRefused(Finding):
    """The text of a declaration can't be parsed."""


class DuplicateName(Finding):
    """Two declarations have the same name."""


class UnknownName(Finding):
    """A query reads a stream, table or view that is declared nowhere."""


class UnknownColumn(Finding):
    """An expression names a column that its inputs don't have."""


class UnknownFunction(Finding):
    """An expression calls a function that neither Spark nor the project has."""


class UnknownOption(Finding):
    """WITH names an option that this kind of declaration doesn't have."""


class OptionRefused(Finding):
    """An option has a value that it can't take."""


class UnknownStore(Finding):
    """A view names a store that headwater.toml doesn't declare."""


class AmbiguousColumn(Finding):
    """An unqualified column exists in more than one input."""


class TypeMismatch(Finding):
    """An expression is given types that it can't take."""


class UnknownType(Finding):
    """The type of an expression can't be derived, or a declared type can't be kept in the log."""


class ReservedName(Finding):
    """A column has a name that belongs to the log."""


class ClauseRefused(Finding):
    """A declaration has a clause that its kind can't have, or lacks one that it needs."""


class ColumnsUnknown(Finding):
    """A table leaves its columns to its database, which could not be asked for them."""


class WatermarkRefused(Finding):
    """A watermark follows from something other than event time minus a delay, or a column that says it.

    Or a table that is copied has an event time other than that of its commits.
    """


class NoWatermark(Finding):
    """Event time is used, but the input declares no watermark."""


class UnboundedJoin(Finding):
    """A stream-stream join has no bound in time."""


class UnboundedState(Finding):
    """A query would keep state for ever and no retention is stated."""


class ImpureFunction(Finding):
    """A view calls a function whose value depends on when or where it runs."""


class OrderDependent(Finding):
    """An aggregate's value would depend on the order in which rows happen to be processed."""


class DependencyCycle(Finding):
    """A view depends on itself."""


class UnversionedJoin(Finding):
    """A stream is joined with a table that has no versions, so a replay would give other rows."""


class EmitRefused(Finding):
    """The operators of a view can't keep the emit it asks for."""


class StoreRefused(Finding):
    """The store of a view can't take what the view emits."""


class KeyNotInOutput(Finding):
    """A declared key names a column that the declaration doesn't have."""


class NotSupportedYet(Finding):
    """The declaration is understood, but its executor doesn't exist in this version."""


class QueryRefused(Finding):
    """The query's shape has no meaning as a view."""


class WindowRefused(Finding):
    """A window is not over time, has a shape that can't be kept, or is grouped by half of its bounds."""


class OutletRefused(Finding):
    """An outlet sends to what is no target, or sends what its view can't give."""


class UngroupedColumn(Finding):
    """A column is read from a group although it is neither grouped nor aggregated."""


class UnnamedColumn(Finding):
    """An output column of a query has no name."""


class ApproximateValue(Caution):
    """A value may differ in its last digits, or within its stated bound, between executions."""


class ClauseIgnored(Caution):
    """A clause speaks of how a query runs, which Headwater chooses by itself."""


class EqualTimesLate(Caution):
    """Rows of a stream that have the same event time turn each other away: its watermark is its newest event time."""


class ForeignSpelling(Caution):
    """A query is spelled as another system has it, and read as what we write for it."""


class HeldForEver(Caution):
    """A view keeps state over a stream without an event time, so that nothing of it is ever forgotten."""


class KeyLeavesOut(Caution):
    """A declared key leaves out a column that a view groups by, so that several groups may have one key."""


class LengthIgnored(Caution):
    """VARCHAR(n) and CHAR(n) are kept as STRING; the length isn't enforced."""
