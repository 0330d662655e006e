"""The servers that tests run against are real: what is built on them is shown here once."""

from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import obstore
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from obstore.exceptions import AlreadyExistsError

from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import running
from tests.servers.redis import RedisServer
from tests.servers.s3 import S3Server, start_s3
from tools import servers

PRODUCE, FETCH, METADATA = 0, 1, 3


def test_a_second_put_if_absent_is_refused_and_changes_nothing(s3_server: S3Server) -> None:
    store = s3_server.object_store("put-if-absent")
    obstore.put(store, "entry.json", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "entry.json", b"second", mode="create")
    assert bytes(obstore.get(store, "entry.json").bytes()) == b"first"


def test_of_many_concurrent_puts_if_absent_one_wins(s3_server: S3Server) -> None:
    store = s3_server.object_store("concurrent")

    def put(writer: int) -> int | None:
        try:
            obstore.put(store, "entry.json", str(writer).encode(), mode="create")
        except AlreadyExistsError:
            return None
        return writer

    with ThreadPoolExecutor(8) as pool:
        winners = [writer for writer in pool.map(put, range(8)) if writer is not None]
    assert [str(winner).encode() for winner in winners] == [bytes(obstore.get(store, "entry.json").bytes())]


def test_a_delta_table_is_written_and_read_through_s3(s3_server: S3Server) -> None:
    url, options = f"{s3_server.url}/table", s3_server.storage_options
    for amounts in ([1, 2], [3]):
        write_deltalake(url, pa.table({"amount": amounts}), mode="append", storage_options=options)
    table = DeltaTable(url, storage_options=options)
    assert table.version() == 1
    assert sorted(table.to_pyarrow_table()["amount"].to_pylist()) == [1, 2, 3]


def test_postgres_answers_and_can_decode_changes(postgres_server: PostgresServer) -> None:
    assert postgres_server.query("SELECT 6 * 7") == "42"
    assert postgres_server.query("SHOW wal_level") == "logical"


def test_mariadb_names_the_columns_of_the_rows_that_it_writes(mariadb_server: MariadbServer) -> None:
    with closing(mariadb_server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@log_bin, @@binlog_format, @@binlog_row_metadata")
        assert cursor.fetchone() == (1, "ROW", "FULL")


def test_redis_keeps_a_value(redis_server: RedisServer) -> None:
    assert redis_server.command("SET headwater 1") == "+OK"
    assert redis_server.command("GET headwater") == "$1\r\n1"


def test_kafka_takes_the_calls_that_producers_and_consumers_make(kafka_server: KafkaServer) -> None:
    assert kafka_server.calls() >= {PRODUCE, FETCH, METADATA}


def test_a_server_is_gone_when_its_block_ends(s3_server: S3Server) -> None:
    program = servers.find("s3")
    assert program is not None
    with start_s3(program) as server:
        port = int(server.endpoint.rpartition(":")[2])
        assert server.endpoint != s3_server.endpoint
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_server_that_ends_at_once_is_named_with_what_it_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('the port is taken'); raise SystemExit(3)"]
    failure = pytest.raises(RuntimeError, match=r"ended with 3; it printed:\nthe port is taken")
    with failure, running(command, folder=tmp_path, answers=lambda: False):
        pass


def test_the_table_names_each_server_once() -> None:
    names = [server.name for server in servers.TABLE]
    assert len(names) == len(set(names))
