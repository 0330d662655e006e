"""A schema as it was written: its language, its text, and the schemas that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Language = Literal["AVRO", "JSON", "PROTOBUF"]


@dataclass(frozen=True)
class Written:
    """One schema. `references` are those that it needs, under the names by which it calls them."""

    language: str
    text: str
    references: tuple[tuple[str, Written], ...] = ()


class Schemas(Protocol):
    """Where the schemas are that messages name by a number."""

    def schema(self, number: int, language: Language) -> Written | None:
        """The schema with this number; None if there is none of the language. An error if it can't be asked for."""

    def version_of(self, number: int, subject: str) -> int | None:
        """The version of a subject that the schema with this number is; None if it is none."""
