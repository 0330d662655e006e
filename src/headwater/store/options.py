"""The options of a store in headwater.toml: texts, read as what they mean, or refused by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from headwater.errors import SettingsRefused
from headwater.model import Store as Declared
from headwater.model import parse_duration

CHANGES_RETENTION = timedelta(days=7)
"""The time that a store keeps changes, unless an option says otherwise."""


@dataclass(frozen=True)
class Options:
    """The options of one declared store; `kind` names its kind in messages, `known` are the options that it takes."""

    declared: Declared
    kind: str
    known: Sequence[str]

    def __post_init__(self) -> None:
        for name, _ in self.declared.options:
            if name not in self.known:
                *most, last = self.known
                raise SettingsRefused(
                    f'store "{self.declared.name}" has an unknown option "{name}"',
                    detail=f"{self.kind} takes {', '.join(most)}{' and ' if most else ''}{last}.",
                    store=self.declared.name,
                )

    def text(self, name: str, default: str) -> str:
        """The option as it is written."""
        return dict(self.declared.options).get(name, default)

    def duration(self, name: str, default: timedelta) -> timedelta:
        """The option as a duration: `30 seconds`."""
        text = self.text(name, "")
        try:
            return parse_duration(text) if text else default
        except ValueError as cause:
            raise SettingsRefused(
                f'store "{self.declared.name}" has an option "{name}" that is not a duration',
                detail=f"{cause}.",
                store=self.declared.name,
            ) from cause

    def given(self, names: Collection[str]) -> dict[str, str]:
        """Those of the named options that are given, as they are written."""
        return {name: text for name, text in self.declared.options if name in names}
