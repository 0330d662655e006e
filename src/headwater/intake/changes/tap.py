"""A tap: where the intake of one table gets its changes from, out of the one stream of its slot. Thread-safe."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

from headwater.intake.changes.change import Change, Cut, Share, Transaction

MOST_CHANGES = 100_000
"""So many changes wait for the intake of a table; then all of the slot waits."""


class Tap:
    """The changes of one table behind the position that its log has; None before its snapshot.

    `newest` is the newest time of a commit up to there; `ahead` is how far one may be ahead of our clock. If `again`,
    it may begin with another snapshot when the slot no longer has what comes behind the position. `query` tells the
    rows of a snapshot, if they aren't told by the table as it is. `stands` has what the log's last commit tells of
    the positions of other tables. A tap whose position is at no cut with those of others has a `level`: from there on
    it can be, if it notes so.
    """

    def __init__(
        self,
        topic: str,
        table: str,
        position: int | None,
        newest: int,
        ahead: timedelta | None,
        *,
        again: bool,
        query: str | None = None,
        stands: Mapping[str, int] | None = None,
    ) -> None:
        self.topic = topic
        self.table = table
        self.query = query
        self.again = again
        self.start = position
        self.newest = newest
        self.ahead = ahead
        self.stands = stands
        self.level: int | None = None
        self.durable = position
        self.reached = position or 0
        self.leave: Callable[[], None] = lambda: None
        self._open: list[Transaction] = []
        self._shares: deque[Share] = deque()
        self._count = 0
        self._rows: deque[Sequence[Change]] = deque()
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._is_closed = False
        self._begins_with_rows: bool | None = None

    # By who reads the slot

    def decide(self, *, again: bool) -> None:
        """Say that it begins: behind its position, or, if `again` or if it has none, with the rows of a snapshot."""
        with self._changed:
            if again:
                self.start = self.durable = None
            self._begins_with_rows = self.start is None
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Wait until there is room for a transaction."""
        with self._changed:
            self._changed.wait_for(lambda: self._count < MOST_CHANGES or self._is_over)

    def put(self, transaction: Transaction) -> None:
        """Add a transaction."""
        with self._changed:
            self._open.append(transaction)
            self._count += len(transaction.changes)

    def end(self, cut: Cut) -> None:
        """Let what was added since the last cut end with this one."""
        with self._changed:
            self._shares.append(Share(self._open, cut))
            self._open = []
            if self.level is not None and cut.position >= self.level:
                self.level = None
            self._changed.notify_all()

    def put_rows(self, changes: Sequence[Change]) -> None:
        """Add rows of the snapshot, when there is room for them."""
        with self._changed:
            self._changed.wait_for(lambda: self._count < MOST_CHANGES or self._is_over)
            self._rows.append(changes)
            self._count += len(changes)
            self._changed.notify_all()

    def reach(self, position: int) -> None:
        """Say that everything up to there was put."""
        with self._changed:
            self.reached = position

    def begin(self, cut: Cut) -> None:
        """Say that the snapshot is complete, and shows what was there at a cut."""
        with self._changed:
            self.start = self.reached = cut.position
            self.newest = cut.newest
            self.stands = cut.stands
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """End it: whoever reads gets this error."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    # By the intake

    @property
    def begins_with_rows(self) -> bool:
        """Tells whether the rows of a snapshot come first; waits until that is decided."""
        with self._changed:
            self._changed.wait_for(lambda: self._begins_with_rows is not None or self._error)
            self._raise()
            return bool(self._begins_with_rows)

    def snapshot(self) -> Iterator[Sequence[Change]]:
        """The rows of the snapshot, as they come; when it is complete, `start` is its position."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._rows or self._error or self.start is not None)
                self._raise()
                if not self._rows:
                    return
                rows = self._rows.popleft()
                self._count -= len(rows)
                self._changed.notify_all()
            yield rows

    def take(self, seconds: float) -> Share | None:
        """The next share; waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._shares or self._error, seconds)
            self._raise()
            if not self._shares:
                return None
            share = self._shares.popleft()
            self._count -= sum(len(transaction.changes) for transaction in share.transactions)
            self._changed.notify_all()
            return share

    def passed(self) -> int | None:
        """The position up to which everything was taken; None if some waits."""
        with self._changed:
            return None if self._open or self._shares else self.reached

    @property
    def has_open(self) -> bool:
        """Tells whether there are transactions behind the last cut."""
        return bool(self._open)

    @property
    def has_share(self) -> bool:
        """Tells whether a share was not taken yet."""
        return bool(self._shares)

    @property
    def is_full(self) -> bool:
        """Tells whether there are more changes behind the last cut than should wait for others."""
        return bool(self._open) and self._count >= MOST_CHANGES // 2

    @property
    def is_empty(self) -> bool:
        """Tells whether nothing waits."""
        return not (self._open or self._shares)

    def close(self) -> None:
        """Want nothing more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.leave()

    @property
    def _is_over(self) -> bool:
        return self._is_closed or self._error is not None

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
