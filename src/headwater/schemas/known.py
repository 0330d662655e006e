"""The knowledge of a registry: the fold of its changes, from nothing to now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from headwater.model import Column, Stream
from headwater.schemas.level import Level

COLUMNS = ("change", "subject", "language", "text", "references", "digest", "level", "version", "number")
TOPIC = Stream(
    name="schemas",
    columns=tuple(
        Column(name, pa.int64() if name in ("version", "number") else pa.string(), nullable=name != "change")
        for name in COLUMNS
    ),
    comment="Schemas and what was changed about them",
)
"""The columns of a registry's log."""


class Mode(StrEnum):
    """Tells whether a subject may be changed."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"


@dataclass(frozen=True)
class Reference:
    """A version of a subject that a schema needs, under the name by which it calls it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Draft:
    """A schema as somebody gives it."""

    language: str
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Registered(Draft):
    """A version of a subject."""

    subject: str = ""
    version: int = 0
    number: int = 0
    digest: str = ""
    deleted: bool = False

    def record(self) -> dict[str, Any]:
        """The change that registers it."""
        references = json.dumps([vars(reference) for reference in self.references])
        kept = {name: getattr(self, name) for name in COLUMNS if name not in ("change", "references", "level")}
        return {"change": "schema", "references": references, **kept}


class Known:
    """Subjects and schemas after some changes. `numbers` are by the digest of a schema, and outlive it."""

    def __init__(self) -> None:
        self.versions: dict[str, dict[int, Registered]] = {}
        self.last: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        self.schemas: dict[int, Registered] = {}
        self.levels: dict[str | None, Level] = {}
        self.modes: dict[str | None, Mode] = {}

    def offered(self, subject: str, deleted: bool = False) -> list[Registered]:
        """The versions of a subject, oldest first; those that are deleted only if they are asked for."""
        return in_order(self.versions.get(subject, {}).values(), deleted)

    def all(self) -> Iterable[Registered]:
        """Every version of every subject, deleted ones too."""
        return (one for versions in self.versions.values() for one in versions.values())

    def apply(self, record: Mapping[str, Any]) -> None:
        """Take in one change."""
        subject = record["subject"]
        match record["change"]:
            case "schema":
                self._add(record)
            case "level" if record["level"] is None:
                self.levels.pop(subject, None)
            case "level":
                self.levels[subject] = Level(record["level"])
            case "mode" if record["level"] is None:
                self.modes.pop(subject, None)
            case "mode":
                self.modes[subject] = Mode(record["level"])
            case "deleted":
                for one in self._chosen(record):
                    self.versions[subject][one.version] = replace(one, deleted=True)
            case "removed":
                for one in self._chosen(record):
                    self._remove(one)

    def _add(self, record: Mapping[str, Any]) -> None:
        references = tuple(Reference(**one) for one in json.loads(record["references"]))
        kept = {name: record[name] for name in COLUMNS if name not in ("change", "references", "level")}
        new = Registered(references=references, **kept)
        self.versions.setdefault(new.subject, {})[new.version] = new
        self.last[new.subject] = new.version
        self.numbers[new.digest] = new.number
        self.schemas[new.number] = new

    def _chosen(self, record: Mapping[str, Any]) -> list[Registered]:
        """The version that a change is about; all of the subject's if it names none."""
        versions = self.versions[record["subject"]]
        return list(versions.values()) if record["version"] is None else [versions[record["version"]]]

    def _remove(self, gone: Registered) -> None:
        versions = self.versions[gone.subject]
        del versions[gone.version]
        if not versions:
            del self.last[gone.subject]
        still = next((one for one in self.all() if one.number == gone.number), None)
        if still is None:
            del self.schemas[gone.number]
        else:
            self.schemas[gone.number] = still


def digest_of(language: str, canonical: str, references: tuple[Reference, ...]) -> str:
    """The digest that two schemas share if they are the same."""
    text = json.dumps([language, canonical, [vars(reference) for reference in references]])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def in_order(versions: Iterable[Registered], deleted: bool = False) -> list[Registered]:
    """Versions by subject and number; those that are deleted only if they are asked for."""
    return sorted((one for one in versions if deleted or not one.deleted), key=lambda one: (one.subject, one.version))
