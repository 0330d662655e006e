"""Positions as callers hold them: where an append has put its rows, to wait for in a view.

A token is opaque to callers. It names the log too: one from another project, or from a log that was deleted and made
anew, is refused instead of meaning something else.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from headwater.errors import ArgumentRefused
from headwater.project import Project

_LONGEST = 2_000
"""A token has so many characters at most."""


@dataclass(frozen=True)
class LogPosition:
    """A position in the log: a topic and a commit of it."""

    topic: str
    commit: int


def spell(project: Project, position: LogPosition) -> str:
    """The token of a position."""
    text = json.dumps([position.topic, position.commit, project.log.identity(position.topic)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read(project: Project, token: str) -> LogPosition:
    """The position that a token names."""
    try:
        padded = token + "=" * (-len(token) % 4)
        text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True) if len(token) < _LONGEST else b""
        topic, commit, identity = json.loads(text)
        if not (isinstance(topic, str) and type(commit) is int and isinstance(identity, str | None) and commit < 2**63):
            raise TypeError(text)
        position = LogPosition(topic, commit)
    except (ValueError, TypeError, binascii.Error, UnicodeEncodeError, RecursionError):
        raise ArgumentRefused(
            "the position is no token", hint="Give what an append answered as `token`, as it was."
        ) from None
    declared = {declaration.name for declaration in project.declared.topics}
    if position.topic not in declared or project.log.identity(position.topic) != identity:
        raise ArgumentRefused(
            "the position is from another project",
            detail="The log that it names is not here, or was made anew since.",
            hint="Give a token that an append to this project has answered.",
        )
    return position
