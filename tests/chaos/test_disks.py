"""A disk that is full: the batch is in the store whole or not at all, and goes on when there is room again."""

from __future__ import annotations

import os
import pwd
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from headwater.errors import StoreUnavailable
from headwater.model import Store as Declared
from headwater.store import Store, open_store
from headwater.testing.conformance.targets import SPEND, batch, rows_of
from tests.patience import until
from tests.servers.postgres import PostgresServer

ROWS = 4_000


@dataclass(frozen=True)
class Disk:
    """A small file system in memory."""

    folder: Path

    def resize(self, megabytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", self.folder], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True)
    if os.geteuid() or mounted.returncode:
        pytest.skip("only root can make a small disk")
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(params=["sqlite", "delta", "postgres"])
def store(request: pytest.FixtureRequest, disk: Disk) -> Iterator[Store]:
    url = {"sqlite": f"sqlite:///{disk.folder}/views.db", "delta": f"delta://{disk.folder}/lake"}
    if request.param in url:
        with closing(open_store(Declared(name="main", url=url[request.param]), disk.folder)) as found:
            yield found
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name, account = f"small_{uuid.uuid4().hex}", pwd.getpwnam("postgres")
    for folder in (disk.folder, *disk.folder.parents[: len(disk.folder.parents) - 2]):
        folder.chmod(0o755)
    os.chown(disk.folder, account.pw_uid, account.pw_gid)
    disk.resize(24)  # an empty database has nine megabytes
    server.query(f"CREATE TABLESPACE {name} LOCATION '{disk.folder}'")
    server.query(f"CREATE DATABASE {name} TABLESPACE {name}")
    declared = Declared(name="main", url=server.url.removesuffix("postgres") + name)
    with closing(open_store(declared, disk.folder)) as found:
        yield found
    server.query(f"DROP DATABASE {name} WITH (FORCE)")
    until(lambda: is_gone(server, name))  # it is in use until the processes of the database have ended


def is_gone(server: PostgresServer, tablespace: str) -> bool:
    """Tells whether a tablespace could be dropped."""
    with suppress(subprocess.CalledProcessError):
        server.query(f"DROP TABLESPACE {tablespace}")
        return True
    return False


def test_a_disk_that_is_full_holds_a_view_up_and_loses_nothing(store: Store, disk: Disk) -> None:
    epoch, number = store.open(SPEND, "plan"), 0

    def rewritten(number: int) -> list[tuple[str, int, int]]:
        return [(uuid.uuid5(uuid.NAMESPACE_OID, f"{number % 40} {place}").hex, place, number) for place in range(ROWS)]

    with pytest.raises(StoreUnavailable) as full:
        while number < 200:
            store.apply(SPEND, epoch, batch(number, rewritten(number), rows_in=ROWS))
            number += 1
    told = str(full.value).lower()
    assert "full" in told or "no space" in told
    position = store.position("spend", 1)
    assert position is not None and position.batch == number - 1, "its position is that of the last whole batch"
    disk.resize(400)
    assert store.apply(SPEND, epoch, batch(number, rewritten(number), rows_in=ROWS))
    assert store.ledger("spend", 1) == {"rows_in": ROWS * (number + 1)}
    assert len(rows_of(store)) == ROWS * (number + 1)
