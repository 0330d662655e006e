"""The refusals of stores: the same words for every kind of store."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from headwater.errors import (
    ArgumentRefused,
    BatchRefused,
    Fenced,
    HeadwaterError,
    PositionRefused,
    StatementRefused,
    StoreDamaged,
    UnknownVersion,
    VersionRefused,
)
from headwater.store.protocol import Batch, Position, Target

WHOLE_OR_NOTHING = "A batch is in the store whole or not at all, and repeating one that was applied changes nothing."


def this_process() -> str:
    """Who holds an epoch, for the one who is fenced."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def batch_refused(target: Target, batch: Batch, reason: str) -> BatchRefused:
    """A batch that can't be applied."""
    return BatchRefused(
        f'view "{target.view}" version {target.version} can\'t take batch {batch.position.batch}',
        detail=f"{reason} Nothing of it was written.",
        hint="Run `headwater replay` to build a version from the log, beside this one.",
        view=target.view,
        version=target.version,
        batch=batch.position.batch,
    )


def only_added(target: Target, batch: Batch) -> BatchRefused:
    """A batch that deletes where nothing may be deleted."""
    return batch_refused(target, batch, "It deletes rows, and rows of this view are only added.")


def check_added(target: Target, batch: Batch, inserted: int) -> None:
    """Refuse a batch of which fewer rows were inserted than it adds: the others would take the place of rows."""
    if batch.added is not None and inserted < batch.added:
        count = batch.added - inserted
        raise batch_refused(target, batch, f"{count} of its rows are new, and have keys of rows that are there.")


def other_commits(target: Target, batch: Batch, known: Position) -> BatchRefused:
    """A batch whose number was applied before, with other commits."""
    reason = (
        f"It was applied with the commits {_spell(known)}, and comes again with {_spell(batch.position)}: "
        "it is from another checkpoint."
    )
    return batch_refused(target, batch, reason)


def _spell(position: Position) -> str:
    return ", ".join(f"{topic} {commit}" for topic, commit in position.commits) or "none"


def fenced(target: Target, epoch: int, newest: int, holder: str, since: object) -> Fenced:
    """A run whose epoch is not the newest."""
    return Fenced(
        f'view "{target.view}" version {target.version} was taken over by another run',
        detail=f"{holder or 'Nobody'} has epoch {newest} since {since} UTC; this run has epoch {epoch}. "
        "Nothing was written.",
        hint="Let the other run go on, or stop it and start this one again.",
        view=target.view,
        version=target.version,
        holder=holder,
        epoch=newest,
    )


def was_dropped(target: Target) -> UnknownVersion:
    """A run whose version is gone."""
    return UnknownVersion(
        f'view "{target.view}" version {target.version} was dropped', view=target.view, version=target.version
    )


def no_version(view: str, version: int, there: list[int]) -> UnknownVersion:
    """A version that the store doesn't have; `there` are those that it has."""
    return UnknownVersion(
        f'view "{view}" has no version {version} in the store',
        detail=f"It has {', '.join(map(str, there)) or 'none'}.",
        view=view,
        version=version,
    )


def none_promoted(view: str) -> UnknownVersion:
    """A view of which no version is promoted."""
    return UnknownVersion(
        f'view "{view}" has no promoted version in the store',
        hint="Run `headwater catch-up` to build it.",
        view=view,
    )


def is_promoted(view: str, version: int) -> ArgumentRefused:
    """A version that can't be dropped, because it is served."""
    return ArgumentRefused(
        f'view "{view}" version {version} is the promoted one',
        detail="Dropping it would leave the view's name without rows. Nothing was changed.",
        hint="Promote another version first.",
        view=view,
        version=version,
    )


def other_plan(place: str, target: Target, fingerprint: str, before: str, same: bool) -> VersionRefused:
    """A version that another plan made: of the fingerprint `before`, or, unless `same`, with other columns."""
    difference = f"plan {before}, and this one is {fingerprint}" if same else "a plan with other columns or key"
    return VersionRefused(
        f'view "{target.view}" version {target.version} was made by another plan',
        detail=f'The store "{place}" has it from {difference}. Nothing was changed.',
        hint="Run `headwater replay` to build the changed view as a new version.",
        view=target.view,
        version=target.version,
    )


def altered(place: str, view: str, version: int, damage: HeadwaterError | None = None) -> StoreDamaged:
    """A version that someone else has written to, altered or dropped; or whose files are damaged, as it is told.

    Version 0 stands for the view's own name.
    """
    told = f'Someone dropped or altered its table in "{place}".'
    if damage is not None:
        told = f"{damage.summary[:1].upper()}{damage.summary[1:]}. {damage.detail or ''}".strip()
    which = f'view "{view}" version {version}' if version else f'view "{view}"'
    return StoreDamaged(
        f"the rows of {which} are not as Headwater left them",
        detail=f"{told} Nothing was written.",
        hint=f"Run `headwater replay {view}` to rebuild it from the log as a new version.",
        path=place if damage is None else str(damage.fields.get("path", place)),
        view=view,
        version=version,
    )


def name_taken(place: str, kind: str, name: str) -> ArgumentRefused:
    """A name that something else in the store has."""
    return ArgumentRefused(
        f'the store "{place}" already has a {kind} "{name}"',
        detail="It isn't the view's own. Nothing was written.",
        hint="Give one of the two another name.",
        path=place,
    )


def no_longer_kept(view: str, since: int, trimmed: int) -> PositionRefused:
    """Changes that are past their retention."""
    return PositionRefused(
        f'view "{view}" no longer has its changes since batch {since}',
        detail=f"The changes up to batch {trimmed} are past their retention.",
        hint="Read the whole view and go on from its position.",
        view=view,
        batch=since,
    )


def too_long(longest: timedelta, sql: str = "") -> StatementRefused:
    """A query that took longer than it may."""
    return StatementRefused(
        "the query can't be answered",
        detail=f"It took longer than {longest.total_seconds():g} s.",
        hint="Ask for less: by key, by a span of time, for fewer rows.",
        sql=sql,
    )


def no_sql(place: str, what: str, reader: str, sql: str) -> StatementRefused:
    """A statement to a store that has no SQL of its own, because of what it is; `reader` is what can read it."""
    return StatementRefused(
        "the query can't be answered",
        detail=f'The store "{place}" is {what}, which has no SQL of its own.',
        hint=f"Read the view with {reader}, or keep it in a store that answers SQL.",
        sql=sql,
    )
