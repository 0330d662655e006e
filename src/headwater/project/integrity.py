"""The integrity of a project's logs: scrubbed, backed up, restored and repaired."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from headwater import model
from headwater.config import Settings
from headwater.errors import ArgumentRefused
from headwater.log import folder_of, open_storage
from headwater.log.backup import BackedUp, back_up, read_record, restore
from headwater.log.backup import Progress as Copying
from headwater.log.journal import Now
from headwater.log.loss import Lost, declare_lost
from headwater.log.repair import Repaired, parse_commits, repair
from headwater.log.scrub import WHOLE, Hurt, Scrubbed, find_logs, scrub
from headwater.operate.audit import Audit
from headwater.operate.integrity import IntegrityRecord
from headwater.project.logs import Logs

SHARES = 24
"""How many shares a scrub has while a project runs; one is due every hour, so that all is read within a day."""
Scrubbing = Callable[[str, int, int], object]
"""Told which log is read, and how many of its files of how many were looked at."""
_logger = logging.getLogger("headwater.run")


class Integrities:
    """Checks the logs of a project, copies them, and puts them right."""

    def __init__(self, logs: Logs, folder: Path, settings: Settings, audit: Audit, now: Now) -> None:
        self._logs = logs
        self._options = settings.storage
        self._audit = audit
        self._now = now
        self._share = 0
        self._found: dict[int, list[Hurt]] = {}
        self.record = IntegrityRecord(folder / ".headwater")

    def scrub(self, topic: model.Topic | None, progress: Scrubbing, share: tuple[int, int] = WHOLE) -> list[Scrubbed]:
        """Read and check every log, or those of a topic."""
        root = self._logs.root
        found = [
            scrub(root.below(log), log, share, lambda done, total, log=log: progress(log, done, total))  # type: ignore[misc]
            for log in self._of(topic)
        ]
        if topic is None:
            self._note([each for log in found for each in log.hurt], share)
        return found

    def _note(self, hurt: list[Hurt], share: tuple[int, int]) -> None:
        """Write down what is hurt: what the last scrub of each share has found."""
        self._found = {share[0]: hurt} if share == WHOLE else self._found | {share[0]: hurt}
        every = list(dict.fromkeys(each for found in self._found.values() for each in found))
        told = {"at": self._now().isoformat(), "share": f"1/{share[1]}", "hurt": [asdict(each) for each in every]}
        self.record.note(scrub=told)

    def scrub_share(self) -> None:
        """Read and check the next share, and log what is hurt: for a run, every hour."""
        found = self.scrub(None, lambda *_: None, (self._share, SHARES))
        self._share = (self._share + 1) % SHARES
        for hurt in (each for log in found for each in log.hurt):
            _logger.error("%s is damaged in commits %s: %s (%s)", hurt.log, hurt.commits, hurt.reason, hurt.path)

    def back_up(self, url: str, progress: Copying) -> BackedUp:
        """Copy what is new to a place."""
        done = back_up(self._logs.root, open_storage(url, self._options), self._now(), progress)
        if done.good:
            self.record.note(backup={"at": done.at, "url": url, "heads": done.heads})
        return done

    def restore(self, url: str, to: str | None, progress: Copying) -> BackedUp:
        """Copy a backup to the project's data, or elsewhere."""
        self._audit.note("restore", url, to=to)
        target = self._logs.root if to is None else open_storage(to, self._options)
        return restore(open_storage(url, self._options), target, progress)

    def repair(self, topic: model.Topic, url: str | None) -> list[Repaired]:
        """Put back what is hurt in the logs of a topic."""
        self._audit.note("repair", topic.name, source=url)
        copy = open_storage(url, self._options) if url is not None else None
        if copy is not None and copy.read("headwater-backup.json") is not None:
            read_record(copy)
        root = self._logs.root
        return [repair(root.below(log), log, copy.below(log) if copy else None) for log in self._of(topic)]

    def declare_lost(self, topic: model.Topic, commits: str, reason: str) -> Lost:
        """Declare hurt commits of a topic's log lost."""
        if not reason.strip():
            raise ArgumentRefused("what is declared lost needs a reason", hint="Say why: --reason TEXT.")
        self._audit.note("declare lost", topic.name, commits=commits, reason=reason)
        storage = self._logs.storage(f"log/{folder_of(topic.name)}")
        return declare_lost(topic, storage, parse_commits(commits), reason, self._now)

    def _of(self, topic: model.Topic | None) -> list[str]:
        logs = find_logs(self._logs.root)
        return [log for log in logs if topic is None or folder_of(topic.name) in log.split("/")[1:]]
