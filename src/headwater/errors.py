"""Every error that Headwater raises, grouped by who must act.

    HeadwaterError
    ├── DeclarationError          the author of a declaration: raised before anything runs, with file, line and column
    │   ├── CheckFailed               one or more findings; carries them all
    │   └── Finding                   one reason why a declaration is refused (see `findings`)
    │       └── Caution                   a finding that is shown and doesn't refuse
    ├── CallError                 the caller of the API or of a command: a wrong name, a wrong argument
    │   ├── UnknownTopic  UnknownView  UnknownRow  UnknownOutlet  UnknownVersion  UnknownSchema
    │   ├── NotAProject  ProjectExists  ArgumentRefused  PositionRefused  StatementRefused
    │   ├── UnsortedLoad  StrictLoadRefused  SequenceRefused  SchemaRefused  SchemaIncompatible
    │   └── TokenRefused  RoleRefused  TooLarge  TooSlow  FormatRefused
    ├── DataError                 one event: becomes a dead letter, never a failed append
    │   ├── UnreadableEvent  WrongType  MissingValue  TimeOutOfRange  EventTooLarge  EventsLost
    │   ├── NotUpcast  SchemaViolated  FileReplaced  UnknownField
    │   └── MessageTooLarge  RowWithdrawn  DeliveryRefused    what an outlet can't deliver: a dead letter of the outlet
    ├── OperatorError             whoever runs the machines: disk, object store, settings
    │   ├── LogUnavailable  LogDamaged (LogFileMissing)  FolderUnavailable  TopicBusy  TopicChanged  UpcastFailed
    │   ├── StoreUnavailable  StoreDenied  StoreDamaged  VersionRefused  BatchRefused  Fenced
    │   ├── SourceUnavailable  SourceRefused  SourceReplaced  RetentionGap  TooMuchPoison
    │   ├── TargetUnavailable  TargetDenied  TargetReplaced  ChangesLost  OutletBusy
    │   ├── ViewFailed (FunctionFailed)  ViewInterrupted  ViewBusy  CheckpointDamaged  RowsDropped
    │   ├── PromotionRefused  NotReached  Overloaded
    │   └── SettingsRefused  ExtraMissing  JavaMissing  SparkUnavailable
    └── InternalError             us: a broken invariant; please report it
        └── PlannedTypeDiffers

An error carries fields, not only text: `error.summary`, `error.detail`, `error.hint`, `error.origin`, and whatever the
raiser named (`error.fields["view"]`). `str(error)` is what a person reads; `error.as_dict()` is what a program reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
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
    """Tells whether a retry may succeed."""

    def __init_subclass__(cls, *, transient: bool | None = None) -> None:
        super().__init_subclass__()
        cls.transient = cls.transient if transient is None else transient

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
        told: dict[str, Any] = {"detail": self.detail, "hint": self.hint, "origin": self.origin}
        return partial(type(self), self.summary, **told, **self.fields), ()

    def as_dict(self) -> dict[str, Any]:
        """The error with stable field names, ready for JSON."""
        told = {"error": self.code(), "summary": self.summary, "detail": self.detail, "hint": self.hint}
        members: dict[str, Any] = {name: text for name, text in told.items() if text}
        if self.origin:
            members |= {"file": self.origin.file, "line": self.origin.line, "column": self.origin.column}
        return members | {name: str(value) for name, value in self.fields.items()}


class DeclarationError(HeadwaterError):
    """A declaration is refused; nothing has run."""


class Finding(DeclarationError):
    """One reason why a declaration is refused. A warning is a finding that doesn't refuse."""

    severity: ClassVar[str] = "error"


class Caution(Finding):
    """A finding that is shown and doesn't refuse."""

    severity: ClassVar[str] = "warning"


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


class OperatorError(HeadwaterError):
    """Disk, object store, server or settings need someone's attention."""


class LogUnavailable(OperatorError, transient=True):
    """The storage of the log did not answer or refused; what wasn't acknowledged wasn't appended."""


class FolderUnavailable(OperatorError, transient=True):
    """A file in the project's folder could not be written; what it would have told of was not done."""


class LogDamaged(OperatorError):
    """An entry or a file of the log is damaged, missing or was written by something else."""


class LogFileMissing(LogDamaged, transient=True):
    """A data file of the log is not there: for a while, as on a disk of the network, or for good."""


class TopicBusy(OperatorError, transient=True):
    """Other writers kept taking the next commit; nothing was appended."""


class TopicChanged(OperatorError):
    """The declaration no longer fits what the log holds."""


class UpcastFailed(OperatorError):
    """An upcast raised, or returned what isn't a row of the next version; the rows of the log are as they were."""


class StoreUnavailable(OperatorError, transient=True):
    """The store did not answer or refused; a batch is in it whole or not at all, and repeating it is harmless."""


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


class SourceUnavailable(OperatorError, transient=True):
    """The source of an intake did not answer; the log stands where it was, and the intake goes on from there."""


class SourceRefused(OperatorError):
    """The source of an intake refuses it: an option, a password, a right."""


class SourceReplaced(OperatorError):
    """The source of an intake was deleted, made anew or cut off: its positions no longer mean the same events."""


class RetentionGap(OperatorError):
    """Events were deleted at their source before they were taken in."""


class TooMuchPoison(OperatorError, transient=True):
    """More of what comes can't be read than a stream is to take; nothing of it was appended, and it is tried again."""


class TargetUnavailable(OperatorError, transient=True):
    """The target of an outlet did not answer; the outlet goes on behind what was delivered."""


class TargetDenied(OperatorError):
    """The target of an outlet refuses it, or isn't there: a topic, an option, a password, a right. Nothing was sent."""


class TargetReplaced(OperatorError):
    """The target of an outlet was deleted and made anew, or is smaller: what was sent is not all there."""


class ChangesLost(OperatorError):
    """The store has let go of changes, or of the rows, that an outlet has not sent."""


class SettingsRefused(OperatorError):
    """headwater.toml can't be used."""


class PromotionRefused(OperatorError):
    """Changed declarations can't take effect in a project that runs, or another version of a view can't be served."""


class NotReached(OperatorError, transient=True):
    """A view had not come to a position in the time that was given; the rows are in the log."""


class Overloaded(OperatorError, transient=True):
    """As much is under way as may be at a time; nothing was done."""


class ExtraMissing(OperatorError):
    """Packages that belong to an extra of Headwater are not installed."""


class ViewFailed(OperatorError):
    """A view stopped: one of its expressions failed on a row, or its execution did. The others go on."""


class FunctionFailed(ViewFailed):
    """A Python function of the project raised, returned something else than it declares, or is not deterministic."""


class ViewInterrupted(OperatorError, transient=True):
    """A run of a view was cut off: a task was lost, a disk or a process did not answer, or it was stopped."""


class ViewBusy(OperatorError, transient=True):
    """Another run works on the view; this one has done nothing, or stopped."""


class OutletBusy(OperatorError, transient=True):
    """Another run sends for the outlet; this one has sent nothing."""


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


class PlannedTypeDiffers(InternalError):
    """A column of a view has another type for Spark than was planned; nothing was delivered."""
