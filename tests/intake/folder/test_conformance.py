"""Files of a disk and of an object store as an inlet, held against the suite."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import obstore
import pytest

from headwater.intake import Inlet
from headwater.intake.folder import FolderInlet, LocalShelf, ObjectShelf, files_topic
from headwater.intake.folder.shelf import Shelf
from headwater.log import TopicLog, open_storage
from headwater.model import Folder
from headwater.testing import IntakeConformance, payments
from tests.servers.s3 import S3Server


class FolderFeed:
    """Each time that something is sent there is one more file."""

    def __init__(self, path: str, shelf: Callable[[], Shelf], put: Callable[[str, bytes], object]) -> None:
        soon = timedelta(milliseconds=10)
        self.topic = payments(Folder(path=path, settle=timedelta(0), poll=soon, commit_every=soon))
        self._shelf, self._put = shelf, put
        self._files = open_storage(f"memory://{uuid4().hex}")
        self._count = 0

    def send(self, *values: bytes) -> None:
        self._count += 1
        self._put(f"{self._count:04}.jsonl", b"\n".join(values))

    def inlet(self) -> Inlet:
        return FolderInlet(self.topic, self._shelf(), TopicLog(files_topic(self.topic), self._files))


class TestFolder(IntakeConformance):
    @pytest.fixture
    def feed(self, tmp_path: Path) -> FolderFeed:
        def put(name: str, content: bytes) -> None:
            (tmp_path / f".{name}").write_bytes(content)
            (tmp_path / f".{name}").rename(tmp_path / name)

        return FolderFeed(str(tmp_path), lambda: LocalShelf(tmp_path, "*.jsonl"), put)


class TestObjectStore(IntakeConformance):
    @pytest.fixture
    def feed(self, s3_server: S3Server) -> FolderFeed:
        prefix = uuid4().hex
        url, store = f"{s3_server.url}/{prefix}", s3_server.object_store(prefix)
        return FolderFeed(
            url, lambda: ObjectShelf(store, url, "*.jsonl"), lambda name, content: obstore.put(store, name, content)
        )
