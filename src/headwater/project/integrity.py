"""The integrity of a project's logs: scrubbed, backed up, restored and repaired."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from headwater import model
from headwater.config import Settings
from headwater.errors import ArgumentRefused
from headwater.log import folder_of, open_storage
from headwater.log.backup import BackedUp, back_up, read_record, restore
from headwater.log.backup import Progress as Copying
from headwater.log.journal import Now
from headwater.log.loss import Lost, declare_lost
from headwater.log.producer import Move
from headwater.log.remake import remake
from headwater.log.repair import Repaired, parse_commits, repair
from headwater.log.scrub import WHOLE, Hurt, Scrubbed, find_logs, scrub
from headwater.operate.audit import Audit
from headwater.operate.integrity import IntegrityRecord
from headwater.project.declarations import Declarations
from headwater.project.logs import Logs

SHARES = 24
"""A scrub has so many shares while a project runs; one is due every hour, so that all is read within a day."""
ReadAgain = Callable[[model.Topic, Sequence[Move], datetime], tuple[pa.Table, pa.Array]]
"""Reads the rows of a topic again that its intake has moved over."""
Scrubbing = Callable[[str, int, int], object]
"""Told which log is read, and how many of its files of how many were looked at."""
_logger = logging.getLogger("headwater.run")


def _silent(*_: object) -> None:
    """Tell nobody."""


class Integrities:
    """Checks the logs of a project, copies them, and puts them right: `project.integrity`."""

    def __init__(
        self, declarations: Declarations, logs: Logs, folder: Path, settings: Settings, audit: Audit, now: Now,
        again: ReadAgain,
    ) -> None:  # fmt: skip
        self._declarations = declarations
        self._logs = logs
        self._options = settings.storage
        self._audit = audit
        self._now = now
        self._again = again
        self._share = 0
        self._hurt_by_share: dict[int, list[Hurt]] = {}
        self.record = IntegrityRecord(folder / ".headwater")

    def scrub(self, topic: str | None = None, *, progress: Scrubbing = _silent) -> list[Scrubbed]:
        """Read all of every log, or of those of a topic, and check it; what is hurt is told by its commits."""
        return self._scrub(None if topic is None else self._declarations.topic(topic), progress, WHOLE)

    def _scrub(self, topic: model.Topic | None, progress: Scrubbing, share: tuple[int, int]) -> list[Scrubbed]:
        root = self._logs.root
        scrubbed = [
            scrub(root.below(log), log, share, lambda done, total, log=log: progress(log, done, total))  # type: ignore[misc]
            for log in self._of(topic)
        ]
        if topic is None:
            self._note([each for log in scrubbed for each in log.hurt], share)
        return scrubbed

    def _note(self, hurt: list[Hurt], share: tuple[int, int]) -> None:
        """Write down what is hurt: what the last scrub of each share has found."""
        self._hurt_by_share = {share[0]: hurt} if share == WHOLE else self._hurt_by_share | {share[0]: hurt}
        every = list(dict.fromkeys(each for share_hurt in self._hurt_by_share.values() for each in share_hurt))
        told = {"at": self._now().isoformat(), "share": f"1/{share[1]}", "hurt": [asdict(each) for each in every]}
        self.record.note(scrub=told)

    def scrub_share(self) -> None:
        """Read and check the next share, and log what is hurt: for a run, every hour."""
        scrubbed = self._scrub(None, _silent, (self._share, SHARES))
        self._share = (self._share + 1) % SHARES
        for hurt in (each for log in scrubbed for each in log.hurt):
            _logger.error("%s is damaged in commits %s: %s (%s)", hurt.log, hurt.commits, hurt.reason, hurt.path)

    def backup(self, url: str, *, progress: Copying = _silent) -> BackedUp:
        """Copy what is new of the logs to a folder or URL, consistent while the project runs, and check the copy."""
        done = back_up(self._logs.root, open_storage(url, self._options), self._now(), progress)
        if done.good:
            self.record.note(backup={"at": done.at, "url": url, "heads": done.heads})
        return done

    def restore(self, url: str, to: str | None = None, *, progress: Copying = _silent) -> BackedUp:
        """Copy a backup to the project's data, or to another place, where there must be no log, and check it."""
        self._audit.note("restore", url, to=to)
        target = self._logs.root if to is None else open_storage(to, self._options)
        return restore(open_storage(url, self._options), target, progress)

    def repair(self, topic: str, url: str | None = None) -> list[Repaired]:
        """Put back what is hurt in the logs of a topic: from a backup or a replica, or what follows from the log."""
        declared = self._declarations.topic(topic)
        self._audit.note("repair", declared.name, source=url)
        copy = open_storage(url, self._options) if url is not None else None
        if copy is not None and copy.read("headwater-backup.json") is not None:
            read_record(copy)
        root = self._logs.root
        return [repair(root.below(log), log, copy.below(log) if copy else None) for log in self._of(declared)]

    def remake(self, topic: str) -> Repaired:
        """Make the data files of a topic that are hurt anew, to the bit, from the offsets that Kafka still has."""
        declared = self._declarations.topic(topic)
        self._audit.note("repair", declared.name, source="its own")
        log = f"log/{folder_of(declared.name)}"
        return remake(declared, self._logs.storage(log), log, partial(self._again, declared))

    def declare_lost(self, topic: str, commits: str, reason: str) -> Lost:
        """Declare hurt commits (such as "3,7-9") of a topic lost, by name; returns what went with them."""
        declared = self._declarations.topic(topic)
        if not reason.strip():
            raise ArgumentRefused("what is declared lost needs a reason", hint="Say why: --reason TEXT.")
        self._audit.note("declare lost", declared.name, commits=commits, reason=reason)
        storage = self._logs.storage(f"log/{folder_of(declared.name)}")
        return declare_lost(declared, storage, parse_commits(commits), reason, self._now)

    def _of(self, topic: model.Topic | None) -> list[str]:
        logs = find_logs(self._logs.root)
        return [log for log in logs if topic is None or folder_of(topic.name) in log.split("/")[1:]]
