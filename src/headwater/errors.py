"""Every error that Headwater raises, grouped by who must act.

    HeadwaterError
    ├── DeclarationError          the author of a declaration: raised before anything runs, with file, line and column
    │   ├── CheckFailed               one or more findings; carries them all
    │   └── Finding                   one reason why a declaration is refused (the subclasses below)
    │       └── Caution                   one that is shown and doesn't refuse
    │       └── Caution                   a finding that is shown and doesn't refuse
    ├── CallError                 the caller of the API or of a command: a wrong name, a wrong argument
    │   ├── UnknownTopic  UnknownView  UnknownRow  UnknownOutlet  NotAProject  ProjectExists  ArgumentRefused
    │   ├── UnsortedLoad              a load would make most of itself late
    │   ├── StrictLoadRefused         a strict load has unreadable rows
    │   ├── SequenceRefused           a producer's sequence went back, or was used twice with other content
    │   ├── PositionRefused           a position that the log doesn't have, or a reader that was overtaken
    │   ├── UnknownVersion            a version of a view that the store doesn't have
    │   ├── UnknownSchema             a subject, version or schema that the registry doesn't have
    │   ├── SchemaRefused             what is no schema, or what the registry can't be asked
    │   ├── SchemaIncompatible        a schema that doesn't get on with the versions before it
    │   ├── StatementRefused          a query that isn't one reading statement, or that the store can't answer
    │   ├── TokenRefused  RoleRefused     a request without a known token, or with one that doesn't allow it
    │   └── TooLarge  TooSlow  FormatRefused    a body that is too large, too slow, or of a kind that can't be taken
    ├── DataError                 one event: becomes a dead letter, never a failed append
    │   ├── UnreadableEvent  WrongType  MissingValue  TimeOutOfRange  EventTooLarge  EventsLost
    │   ├── NotUpcast  SchemaViolated  FileReplaced  UnknownField
    │   └── MessageTooLarge  RowWithdrawn  DeliveryRefused    what an outlet can't deliver: a dead letter of the outlet
    ├── OperatorError             whoever runs the machines: disk, object store, settings
    │   ├── LogUnavailable            the storage did not answer or refused; a retry may succeed
    │   ├── LogDamaged                an entry or a file of the log is damaged, missing or foreign
    │   │   └── LogFileMissing            a data file is not there; a retry may succeed
    │   ├── TopicBusy                 other writers kept taking the commit; a retry may succeed
    │   ├── TopicChanged              the declaration no longer fits what the log holds
    │   ├── UpcastFailed              an upcast raised, or returned what isn't of the next version
    │   ├── StoreUnavailable          the store did not answer or refused; a retry may succeed
    │   ├── StoreDenied               the store refuses: a password, a database, a permission, an old version
    │   ├── StoreDamaged              the store's file is damaged, or someone dropped or altered a view's table
    │   ├── VersionRefused            a version exists in the store and was made by another plan
    │   ├── BatchRefused              a batch can't follow what the store holds
    │   ├── SourceUnavailable         what an intake reads from did not answer; a retry may succeed
    │   ├── SourceRefused             what an intake reads from refuses it
    │   ├── SourceReplaced            what an intake reads from is no longer what it was
    │   ├── RetentionGap              events were deleted at their source before they were taken in
    │   ├── TooMuchPoison             an intake pauses: far too much of what comes can't be read
    │   ├── TargetUnavailable         what an outlet sends to did not answer; a retry may succeed
    │   ├── TargetDenied              what an outlet sends to refuses it, or isn't there
    │   ├── TargetReplaced            what an outlet sends to is no longer what it was
    │   ├── ChangesLost               changes that an outlet has not sent are no longer kept
    │   ├── Fenced                    another run has taken over the view, the intake or the outlet
    │   ├── SettingsRefused           headwater.toml can't be used
    │   ├── ViewFailed                a view stopped alone and says why
    │   │   └── FunctionFailed            a Python function raised, or broke its declaration
    │   ├── ViewInterrupted           a run of a view was cut off by something else; a retry may succeed
    │   ├── ViewBusy  OutletBusy      another run works on the view, or sends; a retry may succeed
    │   ├── CheckpointDamaged         Spark can't read the checkpoint of a view
    │   ├── RowsDropped               Spark dropped rows of a version of a view, which is not served
    │   ├── PromotionRefused          a project that runs can't take changed declarations over
    │   ├── NotReached                a view had not come to a position in time; a retry may succeed
    │   ├── Overloaded                as much is under way as may be at a time; a retry may succeed
    │   ├── ExtraMissing              packages of an extra are not installed
    │   └── JavaMissing  SparkUnavailable
    └── InternalError             us: a broken invariant; please report it

An error carries fields, not only text: `error.summary`, `error.detail`, `error.hint`, `error.origin`, and whatever the
raiser named (`error.fields["view"]`). `str(error)` is what a person reads; `error.as_dict()` is what a program reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar


@dataclass(frozen=True, order=True)
class Origin:
    """Where in the user's files something was written; lines and columns count from one."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@cache
def _kebab(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class HeadwaterError(Exception):
    """The root. `summary` is one line in lower case without a full stop; `detail` and `hint` are sentences."""

    transient: ClassVar[bool] = False

    def __init__(
        self,
        summary: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        origin: Origin | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(summary)
        self.summary = summary
        self.detail = detail
        self.hint = hint
        self.origin = origin
        self.fields: Mapping[str, Any] = fields

    @classmethod
    def code(cls) -> str:
        """The stable name for programs and docs: the class name in kebab case.

        >>> UnknownTopic.code()
        'unknown-topic'
        """
        return _kebab(cls.__name__)

    def __str__(self) -> str:
        lines = [self.summary]
        if self.detail:
            lines.append(f"  Detail: {self.detail}")
        if self.hint:
            lines.append(f"  Hint:   {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.summary, self.detail, self.hint, self.origin, dict(self.fields))

    def as_dict(self) -> dict[str, Any]:
        """The error with stable field names, ready for JSON."""
        found: dict[str, Any] = {"error": self.code(), "summary": self.summary}
        if self.detail:
            found["detail"] = self.detail
        if self.hint:
            found["hint"] = self.hint
        if self.origin:
            found |= {"file": self.origin.file, "line": self.origin.line, "column": self.origin.column}
        return found | {name: str(value) for name, value in self.fields.items()}


def _restore(
    kind: type[HeadwaterError],
    summary: str,
    detail: str | None,
    hint: str | None,
    origin: Origin | None,
    fields: dict[str, Any],
) -> HeadwaterError:
    return kind(summary, detail=detail, hint=hint, origin=origin, **fields)


# The author of a declaration


class DeclarationError(HeadwaterError):
    """A declaration is refused; nothing has run."""


class Finding(DeclarationError):
    """One reason why a declaration is refused. A warning is a finding that doesn't refuse."""

    severity: ClassVar[str] = "error"


class SyntaxRefused(Finding):
    """The text of a declaration can't be parsed."""


class Caution(Finding):
    """A finding that is shown and doesn't refuse."""

    severity: ClassVar[str] = "warning"


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


class WatermarkRefused(Finding):
    """A watermark follows from something other than event time minus a delay, or a column that says it."""


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


class LengthIgnored(Caution):
    """VARCHAR(n) and CHAR(n) are kept as STRING; the length isn't enforced."""


class CheckFailed(DeclarationError):
    """A project was refused; `findings` holds every reason, not only the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        count = sum(1 for finding in self.findings if finding.severity == "error")
        super().__init__(f"the project has {count} {'finding' if count == 1 else 'findings'}")

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckFailed, (self.findings,)

    def __str__(self) -> str:
        located = (f"{finding.origin}: {finding}" if finding.origin else str(finding) for finding in self.findings)
        return "\n".join([self.summary, *located])


# The caller


class CallError(HeadwaterError):
    """The call can't be carried out as it was made; nothing has changed."""


class NotAProject(CallError):
    """The folder has no headwater.toml."""


class ProjectExists(CallError):
    """`init` would overwrite a project."""


class UnknownTopic(CallError):
    """The project declares no stream or table of that name."""


class UnknownOutlet(CallError):
    """The project declares no outlet of that name."""


class UnknownView(CallError):
    """The project declares no view of that name."""


class UnknownRow(CallError):
    """A view has no row of this name, and no event came too late for one."""


class ArgumentRefused(CallError):
    """An argument has a value that it can't take."""


class UnsortedLoad(CallError):
    """Many rows of a load would be late only because the load isn't in the order of time."""


class StrictLoadRefused(CallError):
    """A strict load has rows that can't be read; none was appended."""


class SequenceRefused(CallError):
    """A producer's sequence went back, or was used twice with other content."""


class PositionRefused(CallError):
    """The log doesn't have that position, or another member of the reader has moved it."""


class UnknownVersion(CallError):
    """The store has no such version of the view."""


class UnknownSchema(CallError):
    """The registry has no such subject, version or schema."""


class SchemaRefused(CallError):
    """A schema, or what is asked of the registry, can't be taken."""


class SchemaIncompatible(CallError):
    """A schema doesn't get on with the versions before it as its subject asks."""


class StatementRefused(CallError):
    """A query isn't one statement that reads, or the store can't answer it."""


class TokenRefused(CallError):
    """A request carries no token, or one that isn't known."""


class RoleRefused(CallError):
    """The token of a request doesn't allow what it asks for."""


class TooLarge(CallError):
    """The body of a request has more bytes than it may have; nothing was done."""


class TooSlow(CallError):
    """The body of a request came more slowly than it may; nothing was done."""


class FormatRefused(CallError):
    """The body of a request has a content type that can't be taken; nothing was done."""


# The data


class DataError(HeadwaterError):
    """One event can't be taken; it becomes a dead letter with this as its reason."""


class UnreadableEvent(DataError):
    """The bytes can't be parsed in the declared format."""


class WrongType(DataError):
    """A value doesn't fit the declared type."""


class MissingValue(DataError):
    """A required column has no value."""


class TimeOutOfRange(DataError):
    """The event time is before 1970 or further ahead than max_ahead."""


class EventTooLarge(DataError):
    """The event has more bytes than an event may have."""


class SchemaViolated(DataError):
    """The event breaks a constraint of the schema that it names."""


class UnknownField(DataError):
    """The event has a field that no column declares, and the topic takes none (`unknown_fields = 'dead'`)."""


class NotUpcast(DataError):
    """The event is of a version that isn't read, or its upcast fails on it."""


class EventsLost(DataError):
    """Events were deleted at their source before they were taken in, and an intake was told to go on."""


class FileReplaced(DataError):
    """A file was replaced with other content after it was admitted by an intake; the new content is not taken in."""


class MessageTooLarge(DataError):
    """A change has more bytes than the target of an outlet takes in one message."""


class DeliveryRefused(DataError):
    """The service that an outlet sends to refuses a change, or did not take it in as many attempts as it has."""


class RowWithdrawn(DataError):
    """A row that an outlet has sent is no longer in the view, and what it sends can't say so."""


# The operator


class OperatorError(HeadwaterError):
    """Disk, object store, server or settings need someone's attention."""


class LogUnavailable(OperatorError):
    """The storage of the log did not answer or refused; what wasn't acknowledged wasn't appended."""

    transient = True


class LogDamaged(OperatorError):
    """An entry or a file of the log is damaged, missing or was written by something else."""


class LogFileMissing(LogDamaged):
    """A data file of the log is not there: for a while, as on a disk of the network, or for good."""

    transient = True


class TopicBusy(OperatorError):
    """Other writers kept taking the next commit; nothing was appended."""

    transient = True


class TopicChanged(OperatorError):
    """The declaration no longer fits what the log holds."""


class UpcastFailed(OperatorError):
    """An upcast raised, or returned what isn't a row of the next version; the rows of the log are as they were."""


class StoreUnavailable(OperatorError):
    """The store did not answer or refused; a batch is in it whole or not at all, and repeating it is harmless."""

    transient = True


class StoreDenied(OperatorError):
    """The store is there and refuses to be used: a password, a database, a permission, a version. Nothing was written.

    Another attempt can't help.
    """


class StoreDamaged(OperatorError):
    """The store's file is damaged, or a view's table was dropped or altered by someone else."""


class VersionRefused(OperatorError):
    """The store holds this version of the view, made by another plan."""


class BatchRefused(OperatorError):
    """A batch can't follow what the store holds; nothing of it was written."""


class Fenced(OperatorError):
    """Another run has taken over the view, the intake or the outlet; nothing was written."""


class SourceUnavailable(OperatorError):
    """What an intake reads from did not answer; the log stands where it was, and the intake goes on from there."""

    transient = True


class SourceRefused(OperatorError):
    """What an intake reads from refuses it: an option, a password, a right."""


class SourceReplaced(OperatorError):
    """What an intake reads from was deleted, made anew or cut off: its positions no longer mean the same events."""


class RetentionGap(OperatorError):
    """Events were deleted at their source before they were taken in."""


class TooMuchPoison(OperatorError):
    """More of what comes can't be read than a stream is to take; nothing of it was appended, and it is tried again."""

    transient = True


class TargetUnavailable(OperatorError):
    """What an outlet sends to did not answer; the outlet goes on behind what was delivered."""

    transient = True


class TargetDenied(OperatorError):
    """What an outlet sends to refuses it, or isn't there: a topic, an option, a password, a right. Nothing was sent."""


class TargetReplaced(OperatorError):
    """What an outlet sends to was deleted and made anew, or is smaller: what was sent is not all there."""


class ChangesLost(OperatorError):
    """The store has let go of changes, or of the rows, that an outlet has not sent."""


class SettingsRefused(OperatorError):
    """headwater.toml can't be used."""


class PromotionRefused(OperatorError):
    """Changed declarations can't take effect in a project that runs; a new run begins with them."""


class NotReached(OperatorError):
    """A view had not come to a position in the time that was given; the rows are in the log."""

    transient = True


class Overloaded(OperatorError):
    """As much is under way as may be at a time; nothing was done."""

    transient = True


class ExtraMissing(OperatorError):
    """Packages that belong to an extra of Headwater are not installed."""


class ViewFailed(OperatorError):
    """A view stopped: one of its expressions failed on a row, or its execution did. The others go on."""


class FunctionFailed(ViewFailed):
    """A Python function of the project raised, returned something else than it declares, or is not deterministic."""


class ViewInterrupted(OperatorError):
    """A run of a view was cut off: a task was lost, a disk or a process did not answer, or it was stopped."""

    transient = True


class ViewBusy(OperatorError):
    """Another run works on the view; this one has done nothing, or stopped."""

    transient = True


class OutletBusy(OperatorError):
    """Another run sends for the outlet; this one has sent nothing."""

    transient = True


class CheckpointDamaged(OperatorError):
    """Spark can't read the checkpoint of a view. The log has all that is needed to build it anew."""


class RowsDropped(OperatorError):
    """Spark dropped admitted rows of a version of a view: it is unsound, and neither served nor gone on with."""


class JavaMissing(OperatorError):
    """Spark needs Java 17 or newer, and none was found."""


class SparkUnavailable(OperatorError):
    """Spark did not start."""


class InternalError(HeadwaterError):
    """A broken invariant: our mistake."""
