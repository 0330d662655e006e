"""What a client of Redis sees, and what may go wrong with the server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import (
    ArgumentRefused,
    ExtraMissing,
    SettingsRefused,
    StatementRefused,
    StoreDamaged,
    StoreDenied,
    StoreUnavailable,
    VersionRefused,
)
from headwater.model import Column, Emit, Serving, Store
from headwater.store import Batch, Target, open_store
from headwater.store.redis import RedisStore
from headwater.store.redis.rows import Layout
from headwater.testing.conformance.expect import meanwhile
from headwater.testing.conformance.targets import SPEND, batch, position, rows_of
from tests.patience import until
from tests.servers.process import free_port, running, server_folder
from tests.servers.redis import RedisServer, start_redis
from tests.store.strategies import arrays, identical, types
from tests.store.test_processes import patiently
from tools import servers

Open = Callable[..., RedisStore]


@pytest.fixture
def prefix() -> str:
    return f"{uuid.uuid4().hex}:"


@pytest.fixture
def open_redis(redis_server: RedisServer, prefix: str) -> Iterator[Open]:
    """Opens a store below the test's prefix, with options."""
    opened: list[RedisStore] = []

    def open_again(**options: Any) -> RedisStore:
        opened.append(RedisStore(redis_server.url, prefix=prefix, **options))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    """Somebody else's client."""
    with closing(redis.Redis.from_url(redis_server.url, decode_responses=True)) as found:
        yield found


def test_a_row_is_found_by_its_key(open_redis: Open, client: Any, prefix: str) -> None:
    store = open_redis()
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, "1.50"), (None, 1, None)]))
    store.promote("spend", 1)
    promoted = client.get(f"{{{prefix}spend}}:promoted")
    rows = f"{{{prefix}spend}}:v{promoted}:rows"
    assert json.loads(client.hget(rows, '["a",1]')) == {"card": "a", "minute": 1, "spent": "1.50"}
    assert json.loads(client.hget(rows, "[null,1]")) == {"card": None, "minute": 1, "spent": None}


def test_the_layout_hash_shows_each_row_as_a_hash(open_redis: Open, client: Any, prefix: str) -> None:
    store = open_redis(layout=Layout("hash"), ttl=timedelta(hours=1))
    epoch, row = store.open(SPEND, "plan"), f'{{{prefix}spend}}:v1:row:["a",1]'
    store.apply(SPEND, epoch, batch(0, [("a", 1, "1.50"), ("b", 1, 1)]))
    assert client.hgetall(row) == {"card": "a", "minute": "1", "spent": "1.50"}
    assert 3_500_000 < client.pttl(row) <= 3_600_000
    store.apply(SPEND, epoch, batch(1, [("a", 1, None)]))
    assert client.hgetall(row) == {"card": "a", "minute": "1"}, "a NULL has no field"
    store.apply(SPEND, epoch, batch(2, deletes=[("a", 1)]))
    assert not client.exists(row)
    store.drop("spend", 1)
    assert client.keys(f"{{{prefix}spend}}:v1:*") == []


def test_the_layout_sorted_set_is_a_leaderboard(open_redis: Open, client: Any, prefix: str) -> None:
    store = open_redis(layout=Layout("sorted set", score="spent", group=("minute",)))
    epoch, top = store.open(SPEND, "plan"), f"{{{prefix}spend}}:v1:top:[1]"
    store.apply(SPEND, epoch, batch(0, [("a", 1, "1.50"), ("b", 1, 7), ("c", 1, None), ("a", 2, 100)]))
    assert client.zrange(top, 0, -1, desc=True, withscores=True) == [("b", 7.0), ("a", 1.5)]
    store.apply(SPEND, epoch, batch(1, [("a", 1, 9), ("c", 1, 8)], deletes=[("b", 1)]))
    assert client.zrange(top, 0, -1, desc=True) == ["a", "c"]
    store.apply(SPEND, epoch, batch(2, [("a", 1, None)]))
    assert client.zrange(top, 0, -1, desc=True) == ["c"], "a row without a score is in no place"
    assert client.zrange(f"{{{prefix}spend}}:v1:top:[2]", 0, -1) == ["a"]
    store.drop("spend", 1)
    assert client.keys(f"{{{prefix}spend}}:v1:*") == []


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        (Layout("sorted set"), "a column of numbers"),
        (Layout("sorted set", score="card"), "a column of numbers"),
        (Layout("sorted set", score="spent", group=("spent",)), "part of the key"),
        (Layout("sorted set", score="spent", group=("card", "minute")), "leave a member"),
    ],
)
def test_a_sorted_set_that_cannot_be_is_refused(open_redis: Open, layout: Layout, told: str) -> None:
    with pytest.raises(ArgumentRefused, match="can't be kept in this layout") as refused:
        open_redis(layout=layout).open(SPEND, "plan")
    assert told in str(refused.value).lower()


def test_the_layout_stream_has_each_change_once(open_redis: Open, client: Any, prefix: str) -> None:
    store = open_redis(layout=Layout("stream"))
    epoch = store.open(SPEND, "plan")
    first = batch(0, [("a", 1, 1)])
    assert store.apply(SPEND, epoch, first) and not store.apply(SPEND, epoch, first)
    store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    store.apply(SPEND, epoch, batch(2, deletes=[("a", 1)]))
    entries = [entry for _, entry in client.xrange(f"{{{prefix}spend}}:v1:stream")]
    assert [(entry["op"], entry["key"], entry["batch"]) for entry in entries] == [
        ("insert", '["a",1]', "0"),
        ("update", '["a",1]', "1"),
        ("delete", '["a",1]', "2"),
    ]
    assert json.loads(entries[1]["before"])["spent"] == "1.00" and json.loads(entries[1]["after"])["spent"] == "2.00"


def test_another_layout_is_another_version(open_redis: Open) -> None:
    open_redis().open(SPEND, "plan")
    with pytest.raises(VersionRefused):
        open_redis(layout=Layout("hash")).open(SPEND, "plan")


def test_redis_answers_no_sql(open_redis: Open) -> None:
    with pytest.raises(StatementRefused, match="the query can't be answered") as refused:
        open_redis().query("SELECT 1")
    assert "which has no SQL" in str(refused.value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kinds=st.lists(types(), min_size=1, max_size=4), size=st.integers(1, 6))
def test_every_value_of_every_type_comes_back_to_the_bit(
    open_redis: Open, data: st.DataObject, kinds: list[Any], size: int
) -> None:
    columns = [data.draw(arrays(kind, size)) for kind in kinds]
    names = tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds))
    target = Target(f"v{uuid.uuid4().hex}", 1, names, (), Emit.CHANGES)
    rows = pa.Table.from_arrays(columns, schema=target.schema)
    store = open_redis(layout=Layout("hash"))
    store.apply(target, store.open(target, "plan"), Batch(rows, rows.slice(0, 0).select([]), position(0)))
    read = store.read(target.view, 1)
    changed = [found["after"].combine_chunks().flatten() for found in store.changes(target.view, 1)]
    assert read.schema == target.schema
    for place, column in enumerate(columns):
        assert identical(read.column(place).combine_chunks(), column)
        assert identical(changed[0][place], column)


def test_a_large_batch_is_seen_whole_or_not_at_all(open_redis: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.store.redis.DIRECT", 2)
    store, reader = open_redis(), open_redis()
    epoch, cards = store.open(SPEND, "plan"), [f"card-{place}" for place in range(12_000)]
    store.apply(SPEND, epoch, batch(0, [(card, 1, 0) for card in cards]))
    store.promote("spend", 1)
    for _ in meanwhile(lambda: store.apply(SPEND, epoch, batch(1, [(card, 1, 1) for card in cards])) and None):
        found = reader.read("spend")
        assert found.num_rows == 12_000 and len(set(found["spent"].to_pylist())) == 1
    assert set(reader.read("spend")["spent"].to_pylist()) == {1}


def test_rows_that_somebody_removed_are_missed(open_redis: Open, client: Any, prefix: str) -> None:
    store = open_redis()
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1)]))
    client.hdel(f"{{{prefix}spend}}:v1:rows", '["a",1]')
    with pytest.raises(StoreDamaged, match="not as Headwater left them"):
        store.apply(SPEND, epoch, batch(1, [("c", 1, 1)]))
    with pytest.raises(StoreDamaged, match="not as Headwater left them"):
        store.open(SPEND, "plan")
    client.set(f"{{{prefix}other}}:versions", "mine")
    with pytest.raises(StoreDamaged, match="something else where Headwater keeps its data"):
        store.open(replace(SPEND, view="other"), "plan")


def test_a_server_that_is_not_there() -> None:
    store = RedisStore(f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(StoreUnavailable, match="could not be read") as missing:
        store.read("spend")
    assert missing.value.transient


def program() -> Path:
    found = servers.find("redis")
    assert found is not None
    return found


def test_a_wrong_password_is_told_without_telling_it(redis_server: RedisServer, client: Any, prefix: str) -> None:
    client.acl_setuser("locked", enabled=True, passwords=["+right"], keys=["*"], commands=["+@all"])
    for password, opens in (("wrong-one", False), ("right", True)):
        url = f"redis://locked:{password}@127.0.0.1:{redis_server.port}/0"
        with closing(RedisStore(url, prefix=prefix)) as store:
            if opens:
                assert store.open(SPEND, "plan") == 1
                continue
            with pytest.raises(StoreDenied, match="refuses to be used") as denied:
                store.open(SPEND, "plan")
            assert password not in str(denied.value) and password not in repr(denied.value.as_dict())


def test_without_memory_nothing_of_a_batch_is_written(redis_server: RedisServer) -> None:
    with start_redis(program(), "--maxmemory", "3mb") as server, closing(RedisStore(server.url)) as store:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
        many = [(f"{place}-{'x' * 200}", 1, 1) for place in range(20_000)]
        with pytest.raises(StoreUnavailable) as full:
            store.apply(SPEND, epoch, batch(1, many))
        assert "no memory left" in str(full.value) and "xxx" not in str(full.value)
        assert (rows_of(store), store.position("spend", 1)) == ({("a", 1, "1.00")}, position(0))


def test_a_cluster_keeps_a_view_in_one_place(redis_server: RedisServer) -> None:
    with start_redis(program(), "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
        server.command("CLUSTER ADDSLOTSRANGE 0 16383")
        until(lambda: "cluster_state:ok" in server.command("CLUSTER INFO"))
        with closing(RedisStore(server.url, cluster=True, layout=Layout("hash"))) as store:
            for view in ("spend", "odd} {name"):
                target = replace(SPEND, view=view)
                epoch = store.open(target, "plan")
                assert store.apply(target, epoch, batch(0, [("a", 1, 1)]))
                assert not store.apply(target, epoch, batch(0, [("a", 1, 1)]))
                store.promote(view, 1)
                assert store.read(view).num_rows == 1
                assert len(list(store.changes(view, 1))) == 1


@contextmanager
def durable(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has everything on disk before it answers; what it had is there again."""
    command = [program(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    command += ["--appendonly", "yes", "--appendfsync", "always"]
    server = RedisServer(port)
    with running(command, folder=folder, answers=lambda: server.command("PING") == "+PONG") as process:
        yield process


def test_a_server_that_is_killed_has_whole_batches_when_it_is_back(redis_server: RedisServer) -> None:
    port, number, chance = free_port(), 0, (0.0, 0.002, 0.01)
    with server_folder() as folder:
        for wait in chance:
            with durable(folder, port) as process, closing(RedisStore(f"redis://127.0.0.1:{port}/0")) as store:
                epoch = store.open(SPEND, "plan")
                known = store.position("spend", 1)
                assert (known.batch if known else 0) >= number - 1, "what was acknowledged is there"
                if known is not None:
                    found = store.read("spend", 1)["spent"].to_pylist()
                    assert len(found) == 3_000 and set(found) == {known.batch}, "and all of it"
                number = known.batch + 1 if known else 1
                killer = f"import os, time; time.sleep({wait}); os.kill({process.pid}, {int(signal.SIGKILL)})"
                with subprocess.Popen([sys.executable, "-c", killer]), pytest.raises(StoreUnavailable):
                    for number in range(number, 10_000):  # noqa: B020  # as far as it comes
                        store.apply(SPEND, epoch, batch(number, [(f"c{n}", 1, number) for n in range(3_000)]))


def test_a_store_is_declared_by_its_url_and_its_options(redis_server: RedisServer, tmp_path: Path, prefix: str) -> None:
    options = (("group", "minute"), ("layout", "sorted set"), ("prefix", prefix), ("score", "spent"), ("ttl", "1 day"))
    with closing(open_store(Store(name="live", url=redis_server.url, options=options), tmp_path)) as store:
        assert store.open(SPEND, "plan") == 1
    for (name, text), told in (
        (("layout", "table"), 'an option "layout" that can\'t be used'),
        (("cluster", "maybe"), 'an option "cluster" that can\'t be used'),
        (("ttl", "long"), "not a duration"),
        (("layouts", "hash"), 'unknown option "layouts"'),
    ):
        with pytest.raises(SettingsRefused, match=told):
            open_store(Store(name="live", url=redis_server.url, options=((name, text),)), tmp_path)


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("headwater.store.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ExtraMissing, match='store "live" needs the package redis') as missing:
        open_store(Store(name="live", url="redis://here"), tmp_path)
    assert "headwater[redis]" in str(missing.value)


def test_a_view_has_the_layout_that_it_states_and_expires_as_it_states(
    open_redis: Open, client: Any, prefix: str
) -> None:
    store = open_redis(layout=Layout("stream"))
    stated = Serving("sorted set", "spent", ("minute",), timedelta(minutes=5))
    top, plain = replace(SPEND, view="top", serving=stated), replace(SPEND, view="plain")
    for target in (top, plain):
        store.apply(target, store.open(target, "plan"), batch(0, [("a", 1, 5), ("b", 1, 9), ("c", 2, 1)]))
    assert client.zrange(f"{{{prefix}top}}:v1:top:[1]", 0, -1, desc=True) == ["b", "a"]
    assert 0 < client.pttl(f"{{{prefix}top}}:v1:top:[2]") <= 300_000
    assert client.xlen(f"{{{prefix}plain}}:v1:stream") == 3
    with pytest.raises(VersionRefused):
        store.open(replace(top, serving=Serving("hash")), "plan")
    store.drop("top", 1)
    store.drop("plain", 1)
    left = [key for key in client.keys(f"{{{prefix}*") if ":v1:" in key]
    assert left == []


def test_a_server_that_does_not_answer_is_given_up_and_found_again(redis_server: RedisServer) -> None:
    port, brief = free_port(), timedelta(milliseconds=200)
    address = f"redis://127.0.0.1:{port}/0"
    with (
        server_folder() as folder,
        durable(folder, port) as process,
        closing(RedisStore(address, timeout=brief)) as store,
    ):
        epoch = patiently(lambda: store.open(SPEND, "plan"))
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreUnavailable, match="could not be written"):
            store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1))
        process.send_signal(signal.SIGCONT)
        patiently(lambda: store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1)))
        found = patiently(lambda: (rows_of(store), store.ledger("spend", 1), len(list(store.changes("spend", 1)))))
        assert found == ({("a", 1, "1.00")}, {"rows_in": 1}, 1)
