"""What tests share: a Spark session, real servers, and how thoroughly Hypothesis looks.

A test asks for a server by its fixture: `s3_server`, `postgres_server`, `mariadb_server`, `redis_server`,
`kafka_server`, and for the browser by `chromium_server`. Where that server is not present (`make servers` says so), its
tests are left out; with CI=true those of a needed server fail.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.servers.kafka import KafkaServer, start_kafka
from tests.servers.mariadb import MariadbServer, start_mariadb
from tests.servers.postgres import PostgresServer, start_postgres
from tests.servers.redis import RedisServer, start_redis
from tests.servers.s3 import S3Server, start_s3
from tools import servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

collect_ignore_glob = ["flows/*/*"]  # projects, not modules of tests
IN_CI = os.environ.get("CI") == "true"
SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    # with the first compiler alone Java has room for the code of some thousand queries, and breaks when that is full
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}
"""Java's second compiler would be busy for minutes with code that tests run a few times. Spark compiles queries as it
does for users: to interpret them would spare 2 to 6 % of the time, and look at code that nobody runs.
"""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in its background
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("chaos", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev"))


def may_be_absent(server: servers.Server) -> bool:
    """In CI, a server that is needed may not: its tests run, and fail."""
    return not (IN_CI and server.needed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use a server or Spark, and leave out those whose server isn't present."""
    absent = {f"{server.name}_server" for server in servers.TABLE if may_be_absent(server) and not server.way.find()}
    left_out = []
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if any(name.endswith("_server") for name in fixtures):
            item.add_marker("server")
        if "spark" in fixtures:
            item.add_marker("jvm")
        if fixtures & absent:
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the whole run, as Headwater opens it, on two cores."""
    from headwater.engine.session import open_session

    session = open_session("tests", SPARK, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def _program(name: str) -> Path:
    program = servers.find(name)
    if program is None:
        end = pytest.fail if IN_CI else pytest.skip  # asked for while a test runs: too late to leave it out
        end(f"the server {name} isn't present: run `make servers ALL=1`")
    return program


def _start(name: str, start: Callable[[Path], AbstractContextManager[Any]]) -> Iterator[Any]:
    with start(_program(name)) as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server for the whole run: take a prefix of your own below its `url`."""
    yield from _start("s3", start_s3)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole run: take a schema or a database of your own."""
    yield from _start("postgres", start_postgres)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariadbServer]:
    """A MariaDB server for the whole run: take a database of your own."""
    yield from _start("mariadb", start_mariadb)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server for the whole run: take a key prefix of your own."""
    yield from _start("redis", start_redis)


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer]:
    """A Kafka broker for the whole run: take topics of your own."""
    yield from _start("kafka", start_kafka)


@pytest.fixture(scope="session")
def chromium_server() -> Path:
    """The browser: Playwright starts it."""
    return _program("chromium")
