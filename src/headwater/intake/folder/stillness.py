"""Half-written files: a file is read once it is *still*, that is, has not changed for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from headwater.intake.folder.shelf import Listed


class Stillness:
    """Watches files until they have not changed for so long."""

    def __init__(
        self,
        after: timedelta,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._after = after
        self._clock = clock
        self._now = now
        self._seen: dict[str, tuple[str, float]] = {}

    def unchanged(self, files: Iterable[Listed]) -> list[Listed]:
        """Those that are still: seen unchanged for so long, or last written so long ago by their own time."""
        seen, now = {}, self._clock()
        for file in files:
            version, since = self._seen.get(file.name, (file.version, now))
            seen[file.name] = (file.version, since if version == file.version else now), file
        self._seen = {name: state[0] for name, state in seen.items()}
        enough = self._after.total_seconds()
        return [file for (_, since), file in seen.values() if now - since >= enough or self._is_old(file)]

    def _is_old(self, file: Listed) -> bool:
        """A time that lies ahead says nothing."""
        return timedelta(0) <= self._after <= self._now() - file.modified_at
