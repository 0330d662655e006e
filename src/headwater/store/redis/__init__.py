"""Views in Redis: rows that are looked up by key in a fraction of a millisecond.

The rows of a version are a hash of JSON, in one key; a *layout* shows them in another way beside. A batch is handed to
one script, which checks the epoch and the position and writes everything: a reader sees all of it or nothing. One of
more than 100,000 rows is put on a stage first, in as many commands as it takes. While the script runs nobody else is
served: about half a second for 100,000 rows.

What a script has written is written to the append-only file at once. It survives the loss of power if the server has
`appendonly yes` and `appendfsync always`; otherwise the last second may be lost, the position with it, and the view is
built anew from the log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from headwater.log.topic import wall_clock
from headwater.store.changes import changes_table
from headwater.store.fit import within
from headwater.store.options import CHANGES_RETENTION
from headwater.store.protocol import Batch, Position, Snapshot, Span, Target, Version
from headwater.store.redis import scripts
from headwater.store.redis.description import describe, read_description
from headwater.store.redis.failures import meaning
from headwater.store.redis.keys import Keys
from headwater.store.redis.rows import Layout, Triple, mode_of, read_rows, triples_of
from headwater.store.refusals import (
    altered,
    batch_refused,
    check_added,
    fenced,
    is_promoted,
    no_longer_kept,
    no_sql,
    no_version,
    none_promoted,
    other_commits,
    other_plan,
    this_process,
    was_dropped,
)
from headwater.store.unfit import Unfit
from headwater.store.whole import Remote, WholeRows

NO_TTL = timedelta(0)
TIMEOUT = timedelta(seconds=60)
PARCEL = 1_000
"""Rows that are one text."""
DIRECT = 100
"""Parcels that are handed to the script; a batch of more is put on a stage first."""
STAGE_SECONDS = 3_600
"""The time that a stage is kept that nobody came back to."""
_logger = logging.getLogger("headwater.store")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisStore(Remote):
    """A `Store` in Redis 7 or newer. `prefix` comes before the view's name in every key.

    `layout` and `ttl` are for views that state none. `ttl` is for the rows of the layout hash and the sets of the
    layout sorted set: how long after their last change they are shown. `cluster`: the URL names a node of a cluster.
    `timeout` is how long an answer is waited for.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "",
        layout: Layout = Layout(),  # noqa: B008  # it is frozen
        ttl: timedelta = NO_TTL,
        cluster: bool = False,
        timeout: timedelta = TIMEOUT,
        changes_retention: timedelta = CHANGES_RETENTION,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        kind = redis.RedisCluster if cluster else redis.Redis
        retry = Retry(ExponentialBackoff(cap=1, base=0.05), 3)
        self._client: Any = kind.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=min(10, timeout.total_seconds()),
            socket_timeout=timeout.total_seconds(),
            socket_keepalive=True,
            retry=retry,
        )
        where = urlsplit(url)
        self.place = f"{where.scheme}://{where.hostname or ''}{f':{where.port}' if where.port else ''}{where.path}"
        self._prefix = prefix
        self._layout = layout
        self._ttl = ttl
        self._retention = changes_retention
        self._now = now
        self._has_warned = False

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing."""
        self._layout_of(target).check(target)
        self._warn_of_loss()
        described = describe(target, fingerprint, self._layout_of(target))
        at = str(self._now().astimezone(UTC).replace(tzinfo=None))
        said = self._script("written", scripts.OPEN, target.view, target.version, described, this_process(), at)
        if said[0] == "other":
            known, before = read_description(target.view, target.version, said[1])
            same = known == target and json.loads(said[1])["layout"] == json.loads(described)["layout"]
            raise other_plan(self.place, target, fingerprint, before, same)
        if said[0] == "altered":
            raise altered(self.place, target.view, target.version)
        return int(said[1])

    def _warn_of_loss(self) -> None:
        """Say once that a restart of the server loses rows, where the server tells."""
        if self._has_warned:
            return
        self._has_warned = True
        with suppress(redis.RedisError):  # a server may keep its configuration to itself
            kept = {**self._client.config_get("appendonly"), **self._client.config_get("appendfsync")}
            if kept.get("appendonly") == "no":
                _logger.warning("the store %s forgets its rows when it restarts: appendonly is no", self.place)
            elif kept.get("appendfsync") != "always":
                told = kept.get("appendfsync")
                _logger.info(
                    "the store %s may lose its last second with the power: appendfsync is %s", self.place, told
                )

    def _layout_of(self, target: Target) -> Layout:
        """The layout that a view states, or that of the store."""
        stated = target.serving
        return self._layout if stated.layout is None else Layout(stated.layout, stated.score or "", stated.group)

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing."""
        triples = triples_of(self._layout_of(target), target, batch)
        said = self._staged_and_applied(target, epoch, batch, triples)
        match said[0]:
            case "applied" | "repeated":
                return bool(said[0] == "applied")
            case "fenced":
                raise fenced(target, epoch, int(said[1]), said[2], said[3])
            case "dropped":
                raise was_dropped(target)
            case "commits":
                commits = tuple(json.loads(said[1]).items())
                raise other_commits(target, batch, Position(batch.position.batch, commits, _EPOCH))
            case "twice":
                raise batch_refused(target, batch, f"A settled row comes a second time (key {said[1]}).")
            case "taken":
                check_added(target, batch, int(said[1]))
            case "lost":
                cause = redis.ConnectionError("a part of the batch didn't arrive")
                raise meaning(self.place, cause, "written") from cause
        raise altered(self.place, target.view, target.version)

    def _staged_and_applied(self, target: Target, epoch: int, batch: Batch, triples: list[Triple]) -> list[Any]:
        keys, position = Keys(self._prefix, target.view), batch.position
        ttl = self._ttl if target.serving.ttl is None else target.serving.ttl
        texts = triples if self._layout_of(target).needs_more else [triple[:2] for triple in triples]
        parts = (texts[at : at + PARCEL] for at in range(0, len(texts), PARCEL))
        parcels = [scripts.SEPARATOR.join(chain.from_iterable(part)) for part in parts]
        staged = len(parcels) > DIRECT
        arguments = (
            target.version,
            epoch,
            position.batch,
            json.dumps(dict(position.commits), sort_keys=True),
            _microseconds(position.watermark),
            _microseconds(self._now()),
            _microseconds(self._now() - self._retention),
            mode_of(target),
            self._layout_of(target).kind,
            int(ttl.total_seconds() * 1000),
            len(parcels) if staged else 0,
            2 * len(batch.ledger),
            -1 if batch.added is None else batch.added,
            *(part for pair in batch.ledger.items() for part in pair),
            *([] if staged else parcels),
        )
        with self._named("written"):
            if staged:
                self._stage(keys.of(target.version, f"stage:{epoch}"), parcels)
            said: list[Any] = self._client.eval(scripts.APPLY, 1, keys.tag, *arguments)
        return said

    def _stage(self, stage: str, parcels: list[str]) -> None:
        with self._client.pipeline(transaction=False) as pipeline:
            pipeline.unlink(stage)
            for parcel in parcels:
                pipeline.rpush(stage, parcel)
            pipeline.expire(stage, STAGE_SECONDS)
            pipeline.execute()

    def position(self, view: str, version: int) -> Position | None:
        """The position of a version."""
        keys = Keys(self._prefix, view)
        with self._named("read"):
            newest = self._client.hget(keys.of(version, "state"), "newest")
            told = None if newest is None else self._client.hget(keys.of(version, "batches"), newest)
        if told is None:  # between the two the next batch may have come, and this one gone
            return None if newest is None else self.position(view, version)
        commits, watermark, *_ = json.loads(told)
        return Position(int(newest), tuple(json.loads(commits).items()), _instant(watermark))

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        with self._named("read"):
            sums = self._client.hgetall(Keys(self._prefix, view).of(version, "ledger"))
        return {name: int(sums[name]) for name in sorted(sums)}

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step."""
        if self._script("written", scripts.PROMOTE, view, version)[0] == "unknown":
            raise self._unknown(view, version)

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""
        with self._named("read"):
            number = self._client.get(Keys(self._prefix, view).promoted)
        return None if number is None else int(number)

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""
        keys = Keys(self._prefix, view)
        with self._named("read"):
            known: Mapping[str, str] = self._client.hgetall(keys.versions)
            epochs: Mapping[str, str] = self._client.hgetall(keys.epochs)
        promoted, versions = self.promoted(view), []
        for number in sorted(map(int, known)):
            target, fingerprint = read_description(view, number, known[str(number)])
            position, epoch = self.position(view, number), int(epochs[str(number)])
            versions.append(Version(target, fingerprint, epoch, position, number == promoted))
        return tuple(versions)

    def drop(self, view: str, version: int) -> None:
        """Remove a version and all that belongs to it."""
        if self._script("written", scripts.DROP, view, version)[0] == "promoted":
            raise is_promoted(view, version)

    def query(self, sql: str, limit: int | None = None) -> pa.Table:  # noqa: ARG002  # the protocol's signature
        """Redis answers no SQL: `StatementRefused`."""
        raise no_sql(self.place, "Redis", "a client of Redis", sql)

    @contextmanager
    def snapshot(self, longest: timedelta | None = None) -> Iterator[Snapshot]:  # noqa: ARG002  # no time is waited for
        """The store as it is now; what is read of one view is of one moment."""
        yield WholeRows(self)

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""
        number = self.promoted(view) if version is None else version
        if number is None:
            raise none_promoted(view)
        keys = Keys(self._prefix, view)
        with self._named("read"), self._client.pipeline(transaction=True) as pipeline:
            pipeline.hget(keys.versions, str(number))
            pipeline.hgetall(keys.of(number, "rows"))
            described, texts = pipeline.execute()
        if described is None:
            if version is None and self.promoted(view) != number:  # it was dropped after another one was promoted
                return self.read(view, None, span)
            raise self._unknown(view, number)
        target, _ = read_description(view, number, described)
        rows = self._decoded(target, [texts[key] for key in (texts if target.key else sorted(texts, key=int))])
        return rows if span is None else within(rows, span)

    def _decoded(self, target: Target, texts: list[str | None]) -> pa.Table:
        try:
            structs = read_rows(target, texts)
        except Unfit as cause:
            raise altered(self.place, target.view, target.version) from cause
        return pa.Table.from_arrays(
            [structs.field(position) for position in range(len(target.columns))], schema=target.schema
        )

    def index(self, view: str, version: int, column: str) -> None:  # noqa: ARG002  # the protocol's signature
        """Nothing to do: Redis reads all rows of a version at once, and a span is taken from them."""
        with self._named("read"):
            there = self._client.hexists(Keys(self._prefix, view).versions, str(version))
        if not there:
            raise self._unknown(view, version)

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`."""
        last = since.batch if isinstance(since, Position) else since
        while True:
            said = self._script("read", scripts.CHANGES, view, version, "" if last is None else last)
            match said[0]:
                case "unknown":
                    raise self._unknown(view, version)
                case "trimmed":
                    raise no_longer_kept(view, last or 0, int(said[1]))
                case "none":
                    return
            last = int(said[1])
            texts = scripts.SEPARATOR.join(said[3]).split(scripts.SEPARATOR)
            yield self._changed(self._target(view, version), last, json.loads(said[2]), texts)

    def _target(self, view: str, version: int) -> Target:
        with self._named("read"):
            described = self._client.hget(Keys(self._prefix, view).versions, str(version))
        if described is None:
            raise self._unknown(view, version)
        return read_description(view, version, described)[0]

    def _changed(self, target: Target, batch: int, told: list[Any], texts: list[str]) -> pa.Table:
        try:
            sides = tuple(read_rows(target, [text or None for text in texts[side::3]]) for side in (1, 2))
        except Unfit as cause:
            raise altered(self.place, target.view, target.version) from cause
        position = Position(batch, tuple(json.loads(told[0]).items()), _instant(told[1]))
        before = _instant(told[4]) if told[4] else None
        return changes_table(target, pa.array(texts[::3], pa.string()), sides, position, _instant(told[2]), before)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _script(self, what: str, script: str, view: str, *arguments: str | int) -> list[Any]:
        with self._named(what):
            said: list[Any] = self._client.eval(script, 1, Keys(self._prefix, view).tag, *arguments)
        return said

    def _unknown(self, view: str, version: int) -> Exception:
        with self._named("read"):
            known = self._client.hkeys(Keys(self._prefix, view).versions)
        return no_version(view, version, sorted(map(int, known)))

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        """Turn a failure of Redis into an operator's error that names the place."""
        try:
            yield
        except redis.RedisError as cause:
            raise meaning(self.place, cause, what) from cause


def _microseconds(at: datetime) -> str:
    """Since 1970, as text: a number of a script has no more than 15 digits."""
    return str((at - _EPOCH) // timedelta(microseconds=1))


def _instant(microseconds: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(microseconds))
