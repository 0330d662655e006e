"""A folder as an inlet: each file is taken in once, by its name and its content, and in commits of its events.

The folder is one source. Its position is the number of a file in the register and that of an event in the file, so
that a process which is killed in the middle of a file goes on behind the last event that is in the log.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import timedelta

from headwater.errors import EventsLost, FileReplaced, SourceReplaced
from headwater.intake.folder.piece import FileLetter, FilePiece, pieces_of
from headwater.intake.folder.register import File, Register, State, file_and_event, position_of
from headwater.intake.folder.shelf import Fetched, Listed, Shelf, hash_of
from headwater.intake.folder.stillness import Stillness
from headwater.intake.positions import SourcePositions
from headwater.intake.protocol import Again, Inlet, Piece, Wait
from headwater.log import TopicLog
from headwater.model import Folder, Topic

_logger = logging.getLogger("headwater.folder")

MOST_EVENTS = 50_000
"""The most events that share a commit."""
FILES_AT_ONCE = 64
BYTES_AT_ONCE = 256 * 1024 * 1024
"""The most that is admitted at once, before any of it is read."""
_STEP = timedelta(milliseconds=100)


class FolderInlet(Inlet):
    """The files of one stream or table. `files` is the log of its register."""

    def __init__(self, topic: Topic, shelf: Shelf, files: TopicLog) -> None:
        assert isinstance(topic.intake, Folder)
        self._topic = topic
        self._declared = topic.intake
        self._source = topic.intake.path
        self._shelf = shelf
        self._files = files
        self._stillness = Stillness(timedelta(0) if shelf.shows_whole_files else topic.intake.settle)
        self._known: dict[str, tuple[str, str]] = {}
        """The version and the hash of each file that is there and was admitted."""
        self._queue: deque[File] = deque()
        self._event = 0
        """The last event that was read of the first file in the queue."""
        self._reading: Iterator[FilePiece | FileLetter] | None = None
        self._open: dict[str, str] = {}
        """The versions of the files that were read since the last commit."""
        self._wanted: dict[str, str] | None = None
        """The versions of the files that were there at the beginning, if it is read alone, and aren't admitted yet."""
        self._looked_at = float("-inf")

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Go on with the file that the log is in, and with those behind it."""
        position = positions.position(self._source) or 0
        positions.take_up({self._source: position})
        number, self._event = file_and_event(position)
        self._register = Register(self._files)
        self._queue.extend(self._register.since(number))
        if alone:
            self._wanted = {entry.name: entry.version for entry in self._fresh(self._shelf.list())}

    def close(self) -> None:
        """Let go of copies of files."""
        self._shelf.close()

    @property
    def is_drained(self) -> bool:
        """Tells whether each file that was there at the beginning was read, is gone, or is still being written."""
        return not self._queue and self._wanted == {}

    def spell(self, source: str, position: int) -> str:  # noqa: ARG002
        """`file 3`, or `file 3, line or row 17` in the middle of one."""
        number, event = file_and_event(position)
        return f"file {number + 1:,}" + (f", line or row {event + 1:,}" if event else "")

    @property
    def behind(self) -> Sequence[str]:
        """The folder, while there are files to be read."""
        return [self._source] if self._queue else []

    def check(self) -> None:
        """Begin anew if a file has changed while it was read."""
        for name, version in self._open.items():
            if self._shelf.version(name) != version:
                raise Again

    # Reading

    def read(self, wait: Wait) -> Sequence[Piece]:
        """Events of the next files; at once, if there are any."""
        begun = self._queue[0].name if self._reading is not None else None
        self._open = {name: version for name, version in self._open.items() if name == begun}
        pieces: list[FilePiece | FileLetter] = []
        while sum(piece.size for piece in pieces) < MOST_EVENTS:
            if self._queue:
                pieces.append(self._next())
            elif self._is_due():
                self._look()
            elif pieces or wait.is_over or self.is_drained:
                break
            else:
                wait.pause(min(_STEP, self._declared.poll))
            if pieces and wait.is_over:
                break
        return pieces

    def _next(self) -> FilePiece | FileLetter:
        """The next piece of the first file in the queue, which goes with its last one."""
        file = self._queue[0]
        if self._reading is None:
            self._reading = self._begin(file)
        piece = next(self._reading)
        if piece.after == position_of(file.number + 1):
            self._queue.popleft()
            self._reading, self._event = None, 0
        return piece

    def _begin(self, file: File) -> Iterator[FilePiece | FileLetter]:
        end = position_of(file.number + 1)
        if file.state == "replaced":
            reason = (
                f"the file was replaced with other content ({file.size:,} bytes) after it was admitted: not taken in"
            )
            return iter([FileLetter(self._source, f"{file.name} (replaced)", end, file.number, reason, FileReplaced)])
        fetched = self._shelf.fetch(file.name)
        if fetched is None or self._changed(file, fetched):
            return iter([self._lost(file, end)])
        self._open[file.name] = fetched.version
        return pieces_of(self._source, file, fetched.path, self._declared.format, self._event)

    def _changed(self, file: File, fetched: Fetched) -> bool:
        """Tells whether a file isn't the one that was admitted; its version alone may have changed since."""
        return fetched.version != file.version and hash_of(fetched.path) != file.hash

    def _lost(self, file: File, end: int) -> FileLetter:
        """The letter of what can't be read of a file any more, from the event on at which it was left."""
        if self._declared.gaps == "stop":
            raise SourceReplaced(
                f'the file "{file.name}" of "{self._topic.name}" is gone or was replaced before all of it was read',
                detail=f"{self._event:,} lines or rows of it were read; it had {file.size:,} bytes. "
                "What the log has stays, and the files behind it wait.",
                hint="Put the file back as it was; or say gaps = 'skip' in the WITH of the stream: the rest of it is "
                "recorded as a dead letter, and the intake goes on behind it.",
                topic=self._topic.name,
                file=file.name,
            )
        reason = f"the file was gone or replaced before it was read: what it held from line or row {self._event + 1} on"
        return FileLetter(self._source, file.name, end, self._event + 1, reason, EventsLost)

    # Finding

    def _is_due(self) -> bool:
        return time.monotonic() - self._looked_at >= self._declared.poll.total_seconds()

    def _look(self) -> None:
        """Look for files that are new, or were replaced, and admit the first of those that are ready."""
        self._looked_at = time.monotonic()
        listed = self._shelf.list()
        fresh = self._fresh(listed)
        if self._wanted is not None:
            now = {entry.name: entry.version for entry in fresh}
            self._wanted = {name: version for name, version in self._wanted.items() if now.get(name) == version}
        ready = {entry.name for entry in self._stillness.unchanged(listed)}
        in_order = sorted((entry for entry in fresh if entry.name in ready), key=self._order)
        self._admit(in_order)

    def _order(self, entry: Listed) -> tuple[object, str]:
        return ("" if self._declared.order == "name" else entry.modified_at), entry.name

    def _fresh(self, listed: Sequence[Listed]) -> list[Listed]:
        """The files that aren't admitted as they are now."""
        names = {entry.name for entry in listed}
        unknown = names - self._known.keys()
        self._known = {name: known for name, known in self._known.items() if name in names}
        latest = self._register.latest(unknown)
        self._known |= {name: (file.version, file.hash) for name, file in latest.items()}
        return [entry for entry in listed if self._known.get(entry.name, ("", ""))[0] != entry.version]

    def _admit(self, fresh: Sequence[Listed]) -> None:
        chosen: list[tuple[str, str, int, str, State]] = []
        size = 0
        for entry in fresh:
            if len(chosen) == FILES_AT_ONCE or (chosen and size + entry.size > BYTES_AT_ONCE):
                self._looked_at = float("-inf")  # there is more
                break
            size += entry.size
            fetched = self._shelf.fetch(entry.name)
            if fetched is None:
                continue
            content = hash_of(fetched.path)
            if fetched.version != entry.version or self._shelf.version(entry.name) != entry.version:
                continue  # it is written to while we look
            before = self._known.get(entry.name)
            self._known[entry.name] = entry.version, content
            if before is not None and before[1] == content:
                continue
            if before is not None:
                _logger.warning('%s: the file "%s" was replaced with other content', self._topic.name, entry.name)
            chosen.append((entry.name, content, entry.size, entry.version, "new" if before is None else "replaced"))
        self._queue.extend(self._register.admit(chosen))
        if self._wanted:
            known = {name: version for name, (version, _) in self._known.items()}
            self._wanted = {name: version for name, version in self._wanted.items() if known.get(name) != version}
