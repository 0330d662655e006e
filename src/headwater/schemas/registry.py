"""A schema registry of one's own: subjects with versions of schemas, each schema under a number of its own.

A *subject* is a name under which versions of one schema are kept, `payments-value` for the values of the topic
`payments`. A schema that is registered under several subjects has one *number*, which is what messages name. A version
may be deleted: then it is no longer offered, and messages that name its number are read all the same; deleted for good,
it is gone. Numbers are never given to another schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from headwater.errors import HeadwaterError, SchemaIncompatible, SchemaRefused, UnknownSchema
from headwater.json_text import depth_of
from headwater.log import TopicLog
from headwater.schemas.canonical import canonical
from headwater.schemas.changes import Changes
from headwater.schemas.compatibility import Version, find_problems
from headwater.schemas.known import Draft, Mode, Registered, digest_of, in_order
from headwater.schemas.level import Level
from headwater.schemas.written import Language, Written

DEEPEST_SCHEMA = 64
"""The number of levels that of brackets a schema may have."""
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError)
"""The errors of reading or comparing a schema that isn't one."""
LATEST: Literal["latest"] = "latest"
LANGUAGES = ("AVRO", "JSON", "PROTOBUF")


class SchemaRegistry:
    """The registry of a project. Thread-safe; several processes may have it open."""

    def __init__(self, log: TopicLog) -> None:
        self._changes = Changes(log)

    # Asking

    def subjects(self, *, deleted: bool = False) -> list[str]:
        """The names of subjects that have a version, or, if `deleted`, had one that may come back."""
        known = self._changes.known()
        return sorted(name for name in known.versions if known.offered(name, deleted))

    def versions(self, subject: str, *, deleted: bool = False) -> list[Registered]:
        """The versions of a subject, oldest first; `UnknownSchema` if it has none."""
        versions = self._changes.known().offered(subject, deleted)
        if not versions:
            raise _unknown(f'subject "{subject}" is not known', 40401, subject=subject)
        return versions

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> Registered:
        """One version of a subject."""
        versions = self.versions(subject, deleted=deleted)
        if version == LATEST:
            return versions[-1]
        for one in versions:
            if one.version == version:
                return one
        raise _unknown(f'subject "{subject}" has no version {version}', 40402, subject=subject, version=version)

    def numbered(self, number: int) -> Registered:
        """The schema with this number, under one of the subjects that have it."""
        schema = self._changes.known().schemas.get(number)
        if schema is None:
            raise _unknown(f"there is no schema {number}", 40403, number=number)
        return schema

    def places(self, number: int, *, deleted: bool = False) -> list[Registered]:
        """The versions that have this schema."""
        self.numbered(number)
        return in_order((one for one in self._changes.folded.all() if one.number == number), deleted)

    def find(self, subject: str, draft: Draft, *, deleted: bool = False) -> Registered:
        """The version of a subject that is this very schema."""
        digest = self._digest(draft)
        for one in self.versions(subject, deleted=deleted):
            if one.digest == digest:
                return one
        raise _unknown(f'subject "{subject}" has no such schema', 40403, subject=subject)

    def written(self, draft: Draft) -> Written:
        """The schema with those that it refers to; `SchemaRefused` if it refers to what isn't there."""
        references = []
        for reference in draft.references:
            try:
                registered = self.version(reference.subject, reference.version, deleted=isinstance(draft, Registered))
            except UnknownSchema as unknown:
                what = f'the schema refers to "{reference.name}", which is not registered'
                raise _refused(what, f"{unknown.summary[0].upper()}{unknown.summary[1:]}.", 42201) from unknown
            references.append((reference.name, self.written(registered)))
        return Written(draft.language, draft.text, tuple(references))

    def schema(self, number: int, language: Language) -> Written | None:
        """The schema that messages with this number are read with; None if there is none of the language."""
        registered = self._changes.known().schemas.get(number)
        return None if registered is None or registered.language != language else self.written(registered)

    def version_of(self, number: int, subject: str) -> int | None:
        """The version of a subject that the schema with this number is, deleted ones too; None if it is none."""
        every = self._changes.known().offered(subject, deleted=True)
        return next((one.version for one in reversed(every) if one.number == number), None)

    def referring(self, subject: str, version: int) -> list[int]:
        """The numbers of the schemas that refer to a version."""
        self.version(subject, version, deleted=True)
        return sorted(
            {
                one.number
                for one in self._changes.folded.all()
                if any((reference.subject, reference.version) == (subject, version) for reference in one.references)
            }
        )

    def level(self, subject: str | None = None) -> Level | None:
        """The level that a subject asks for by itself, or, without one, that all others ask for."""
        level = self._changes.known().levels.get(subject)
        return Level.BACKWARD if level is None and subject is None else level

    def effective_level(self, subject: str) -> Level:
        """The level that holds for a subject."""
        return self.level(subject) or self.level() or Level.BACKWARD

    def mode(self, subject: str | None = None) -> Mode | None:
        """The mode that a subject has by itself, or, without one, that of all others."""
        mode = self._changes.known().modes.get(subject)
        return Mode.READWRITE if mode is None and subject is None else mode

    def check(self, subject: str, draft: Draft, against: Registered | None = None) -> list[str]:
        """The problems of a schema as the next version of a subject; with `against`, as if that were its latest."""
        self._digest(draft)
        level = self.effective_level(subject)
        earlier = self._changes.folded.offered(subject) if against is None else [against]
        try:
            return find_problems(level, self.written(draft), [Version(v.version, self.written(v)) for v in earlier])
        except _MALFORMED as problem:
            raise _refused(
                f'the schema can\'t be compared with the versions of "{subject}"', f"{_reason(problem)}."
            ) from problem

    # Changing

    def register(self, subject: str, draft: Draft) -> Registered:
        """Make a schema the next version of a subject, unless a version is that schema already, which is returned.

        `SchemaRefused` if it is no schema, `SchemaIncompatible` if it doesn't get on with the versions before it.
        """
        if not subject.strip():
            raise _refused("the name of a subject is empty", None, 42208)

        def decide() -> tuple[Registered, dict[str, Any] | None]:
            digest, known = self._digest(draft), self._changes.folded
            for one in known.offered(subject):
                if one.digest == digest:
                    return one, None
            self._refuse_unless_writable(subject)
            self._refuse_incompatible(subject, draft)
            number = known.numbers.get(digest) or max(known.numbers.values(), default=0) + 1
            version = known.last.get(subject, 0) + 1
            new = Registered(draft.language, draft.text, draft.references, subject, version, number, digest)
            return new, new.record()

        return self._changes.make(decide)

    def delete(
        self, subject: str, version: int | Literal["latest"] | None = None, *, permanent: bool = False
    ) -> list[int]:
        """Delete one version of a subject, or all; for good only what was deleted before. Returns their numbers."""

        def decide() -> tuple[list[int], dict[str, Any] | None]:
            self._refuse_unless_writable(subject)
            chosen = self._deletable(subject, version, permanent)
            for one in chosen:
                self._refuse_referred(one, chosen)
            change = "removed" if permanent else "deleted"
            one_of_them = None if version is None else chosen[0].version
            return [one.version for one in chosen], {"change": change, "subject": subject, "version": one_of_them}

        return self._changes.make(decide)

    def set_level(self, level: Level | None, subject: str | None = None) -> None:
        """Ask for so much compatibility: of a subject, or of all that don't say; None takes that back."""
        record = {"change": "level", "subject": subject, "level": level}
        self._changes.make(lambda: (None, record))

    def set_mode(self, mode: Mode | None, subject: str | None = None) -> None:
        """Let a subject, or all that don't say, be changed or not; None takes that back."""
        record = {"change": "mode", "subject": subject, "level": mode}
        self._changes.make(lambda: (None, record))

    def _refuse_unless_writable(self, subject: str) -> None:
        if (self.mode(subject) or self.mode()) is Mode.READONLY:
            raise _refused(f'subject "{subject}" is read-only', "Its mode is READONLY. Nothing was changed.", 42205)

    def _digest(self, draft: Draft) -> str:
        """The digest that tells a schema from others; `SchemaRefused` if it isn't one."""
        if draft.language not in LANGUAGES:
            raise _refused(
                f'"{draft.language[:50]}" is no language of schemas', f"It is one of {', '.join(LANGUAGES)}."
            )
        if depth_of(draft.text) > DEEPEST_SCHEMA:
            raise _refused(f"the schema is nested more than {DEEPEST_SCHEMA} levels deep", "Nothing was registered.")
        try:
            return digest_of(draft.language, canonical(self.written(draft)), draft.references)
        except _MALFORMED as problem:
            raise _refused(f"this is no schema of {draft.language}", f"{_reason(problem)}.") from problem

    def _refuse_incompatible(self, subject: str, draft: Draft) -> None:
        problems = self.check(subject, draft)
        if problems:
            raise SchemaIncompatible(
                f'the schema doesn\'t get on with the versions of "{subject}" as {self.effective_level(subject)} asks',
                detail="; ".join(problems) + ". Nothing was registered.",
                hint=f"Change it so that it does, or ask less of it: `headwater schema level {subject} NONE`.",
                subject=subject,
                problems=problems,
                status=409,
            )

    def _deletable(
        self, subject: str, version: int | Literal["latest"] | None, permanent: bool
    ) -> Sequence[Registered]:
        if version is not None:
            one = self.version(subject, version, deleted=permanent)
            if permanent and not one.deleted:
                raise _unknown(f'version {one.version} of "{subject}" must be deleted before it is for good', 40407)
            return [one]
        every = self.versions(subject, deleted=permanent)
        if permanent and any(not one.deleted for one in every):
            raise _unknown(f'subject "{subject}" must be deleted before it is for good', 40405, subject=subject)
        return every

    def _refuse_referred(self, one: Registered, chosen: Sequence[Registered]) -> None:
        numbers = set(self.referring(one.subject, one.version)) - {other.number for other in chosen}
        if numbers:
            what = f'version {one.version} of "{one.subject}" is referred to'
            raise _refused(what, f"By the schemas {', '.join(map(str, sorted(numbers)))}.", 42206)


def _unknown(what: str, status: int, **fields: Any) -> HeadwaterError:
    return UnknownSchema(what, hint="`headwater schema list` shows what there is.", status=status, **fields)


def _reason(problem: BaseException) -> str:
    return str(problem).partition("\n")[0].rstrip(".")[:500] or type(problem).__name__


def _refused(what: str, detail: str | None, status: int = 42201) -> HeadwaterError:
    return SchemaRefused(what, detail=detail, status=status)
