"""Bodies and heads of requests have limits of bytes and of time, and nobody's is read before its sender is known."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from headwater.errors import LogUnavailable
from headwater.serve import connection
from headwater.serve.problem import problem_of
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE, eventually, until
from tests.serve.conftest import Bank, event, serve
from tests.serve.test_access import bearer

HURRY = {"body_timeout": "1 second"}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    for found in serve(tmp_path_factory.mktemp("bodies") / "bank", body_bytes=2**20, connections=60, **HURRY):
        found.write([("c1", "1.00", 1)])
        yield found


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    for found in serve(tmp_path_factory.mktemp("exposed") / "bank", host="0.0.0.0", **HURRY):
        found.write([("c1", "1.00", 1)])
        yield found


def dial(bank: Bank) -> socket.socket:
    url = bank.client.base_url
    return socket.create_connection((url.host.replace("0.0.0.0", "127.0.0.1"), url.port), timeout=PATIENCE)


def head(path: str, length: int, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *more]
    return "\r\n".join([*lines, "", ""]).encode()


def answer_to(bank: Bank, sent: bytes) -> bytes:
    """What is answered to what is sent, with nothing behind it."""
    with dial(bank) as found:
        found.sendall(sent)
        return found.recv(65536)


@pytest.mark.parametrize("path", ["/query", "/streams/payments/events", "/registry/subjects/s/versions", "/promote"])
def test_a_body_of_who_is_not_known_is_not_read(exposed: Bank, path: str) -> None:
    began = time.monotonic()
    answered = answer_to(exposed, head(path, 600_000_000, "Content-Type: application/json") + b'{"sql": "')
    assert answered.startswith(b"HTTP/1.1 401"), answered
    assert b"www-authenticate" in answered
    assert time.monotonic() - began < PATIENCE / 2, "the rest was not waited for"


@pytest.mark.parametrize(
    ("path", "most"), [("/query", 2**20), ("/registry/subjects/s/versions", 2**20), ("/streams/payments/events", 2**20)]
)
def test_every_route_has_a_limit_of_bytes(bank: Bank, path: str, most: int) -> None:
    announced = answer_to(bank, head(path, most + 1, "Content-Type: application/json"))
    assert announced.startswith(b"HTTP/1.1 413"), announced

    def parts() -> Iterator[bytes]:
        for _ in range(most // 2**16 + 1):
            yield b" " * 2**16

    came = bank.client.post(path, content=parts(), headers={"content-type": "application/json"})
    assert came.status_code == 413, came.text
    told = came.json()
    assert "more than" in str(told.get("title", told.get("message")))


def test_bodies_that_never_end_hold_up_nobody(bank: Bank) -> None:
    with ExitStack() as held:
        for _ in range(40):  # more than there are places
            found = held.enter_context(dial(bank))
            found.sendall(head("/streams/payments/events", 1000, "Content-Type: application/json") + b"[")
        assert bank.client.post("/streams/payments/events", json=event(1)).status_code == 201
        assert found.recv(65536).startswith(b"HTTP/1.1 408")


def test_a_body_that_trickles_is_not_waited_for(bank: Bank) -> None:
    with dial(bank) as found:
        found.sendall(head("/streams/payments/events", 1000, "Content-Type: application/json"))
        began = time.monotonic()
        found.settimeout(0.3)
        answered = b""
        while not answered and time.monotonic() - began < PATIENCE:
            found.sendall(b" ")
            try:
                answered = found.recv(65536)
            except TimeoutError:
                continue
    assert answered.startswith(b"HTTP/1.1 408"), answered


def test_heads_that_never_end_are_closed(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    with ExitStack() as held:
        sockets = [held.enter_context(dial(bank)) for _ in range(30)]
        for number, found in enumerate(sockets):
            found.sendall([b"", b"GET /healthz HTTP/1.1\r\nHost: loc", b"G"][number % 3])
        assert bank.client.get("/healthz").status_code == 200
        assert {found.recv(100) for found in sockets} == {b""}
        kept = held.enter_context(dial(bank))
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal")
        answered = b"".join(
            iter(lambda: kept.recv(65536), b"")
        )  # until it is closed, for half a head behind a whole one
        assert answered.startswith(b"HTTP/1.1 200") and answered.count(b"HTTP/1.1") == 1, answered


def test_a_head_that_is_too_large_is_refused(bank: Bank) -> None:
    with dial(bank) as found:
        found.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        answered = b""
        for number in range(200):
            try:
                found.sendall(f"X-{number}: {'x' * 1000}\r\n".encode())
            except OSError:
                break
        try:
            answered = found.recv(100)
        except ConnectionError:
            return
    assert answered.startswith(b"HTTP/1.1 431") or not answered


def test_there_are_only_so_many_connections(bank: Bank) -> None:
    with ExitStack() as held:
        sockets = [held.enter_context(dial(bank)) for _ in range(70)]
        until(lambda: sum(map(_is_closed, sockets)) >= 10)


def chunked(bank: Bank, *parts: bytes) -> bytes:
    """The answer to an append of which these parts come behind its head."""
    with dial(bank) as found:
        begin = head("/streams/payments/events", 0, "Content-Type: application/json", "Connection: close")
        found.sendall(begin.replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        try:
            for part in parts:
                found.sendall(part)
            return found.recv(65536)
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    ("begin", "endless"),
    [
        (b"2\r\n{}\r\n0\r\n", b"X-Some: thing that nobody asked for\r\n" * 2_000),
        (b"2\r\n{}\r\n0\r\nX: ", b"y" * 65_536),
        (b"2;", b"y" * 65_536),
    ],
    ids=["headers behind it", "one header behind it", "a note at a part"],
)
@pytest.mark.parametrize("served", ["bank", "exposed"])
def test_what_is_beside_a_body_has_an_end(
    served: str, begin: bytes, endless: bytes, request: pytest.FixtureRequest
) -> None:
    bank = request.getfixturevalue(served)
    with dial(bank) as found:
        sent = head("/streams/payments/events", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        began, count = time.monotonic(), 0
        with pytest.raises(ConnectionError):
            found.sendall(sent + begin)
            while count < 1_000:
                found.sendall(endless)
                count += 1
        assert time.monotonic() - began < PATIENCE / 2
    assert bank.client.get("/healthz").status_code == 200


def test_headers_behind_a_body_say_nothing(exposed: Bank) -> None:
    body = json.dumps(event(1)).encode()
    token = Tokens(exposed.project.folder).create("late", "write")
    parts = [b"%x\r\n%s\r\n" % (len(body), body), b"0\r\n", f"Authorization: Bearer {token}\r\n\r\n".encode()]
    assert chunked(exposed, b"".join(parts)).startswith(b"HTTP/1.1 401")


def test_parts_of_a_body_of_a_byte_each_are_taken(bank: Bank) -> None:
    body = json.dumps([event(number) for number in range(300)]).encode()
    parts = [b"1\r\n%c\r\n" % byte for byte in body]
    assert chunked(bank, *[b"".join(parts), b"0\r\nX-Sum: 7\r\n\r\n"]).startswith(b"HTTP/1.1 201")


def test_odd_requests_leave_no_line_in_the_log(bank: Bank, caplog: pytest.LogCaptureFixture) -> None:
    """Or whoever asks could fill the disk, and write there what he likes."""
    for path in ("/streams/payments/events", "/query", "/promote"):
        with dial(bank) as found:
            found.sendall(head(path, 1000, "Content-Type: application/json") + b"[")
    for odd in (
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0\0\0\0",
        b"GET /%1b%5B31m HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n\r\n",
    ):
        answer_to(bank, odd)
    assert bank.client.get("/healthz").status_code == 200
    eventually(lambda: len(bank.server._server.server_state.tasks) if bank.server else 0, 0)
    assert not caplog.messages


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A bank whose view is an answer of 16 MB, more than a system takes on the way."""
    for found in serve(tmp_path_factory.mktemp("wordy") / "bank", answer_timeout="1 second", queries=1, connections=5):
        found.write([(f"{number:02000}", "1.00", 1) for number in range(8_000)])
        yield found


ASK = b"GET /views/spend?limit=8000 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_who_reads_a_byte_at_a_time_is_not_waited_for(wordy: Bank) -> None:
    """They hold no place of a query, and their connections, of which there are five, end too."""
    with ExitStack() as held:
        slow = [held.enter_context(dial(wordy)) for _ in range(4)]
        for found in slow:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            found.sendall(ASK)
            assert found.recv(1) == b"H"
        assert wordy.client.get("/views/spend?limit=1").status_code == 200
        eventually(lambda: [_is_gone(found) for found in slow], [True] * 4)
        assert len(fetched(wordy)) > 16_000_000, "who reads at once gets all of it"


def _is_gone(found: socket.socket) -> bool:
    """Whether a connection has been reset; if not, a byte is read of it."""
    time.sleep(0.05)
    looked = select.poll()
    looked.register(found, select.POLLERR | select.POLLHUP)
    return bool(looked.poll(0)) or not found.recv(1)


def test_an_answer_that_takes_longer_is_read_to_its_end_if_it_is_read_fast_enough(
    wordy: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SLOWEST", 1_000_000)
    began = time.monotonic()
    assert len(fetched(wordy, pause=0.01)) > 16_000_000
    assert time.monotonic() - began > 1.5


def fetched(bank: Bank, pause: float = 0) -> bytes:
    with dial(bank) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        found.sendall(ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        parts = []
        while part := found.recv(65536):
            parts.append(part)
            time.sleep(pause)
        return b"".join(parts)


def _is_closed(found: socket.socket) -> bool:
    found.setblocking(False)
    try:
        return found.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/views/spend?spent.gt=1e1000000000", {}, 400),
        ("GET", "/views/spend?spent.gt=" + "9" * 5_000, {}, 400),
        ("GET", "/views/spend?n.gt=" + "9" * 5_000, {}, 400),
        ("GET", "/views/spend?limit=" + "9" * 5_000, {}, 400),
        ("GET", "/views/spend?page=" + "9" * 5_000, {}, 400),
        ("GET", "/views/spend?timeout=99999999999999999999&after=x", {}, 400),
        ("GET", "/read?views=spend&timeout=99999999999999999999", {}, 400),
        ("GET", "/read?views=spend&spent=1e-999999999", {}, 400),
        ("GET", "/read?views=spend&limit=" + "9" * 5_000, {}, 422),
        ("GET", "/streams/payments/dead?limit=" + "9" * 5_000, {}, 422),
        ("GET", "/streams/payments/log?last=" + "9" * 4_000, {}, 200),
        ("GET", "/views/spend?after=WyJwYXltZW50cyIsIDFlNDAwLCAieCJd", {}, 400),
        ("GET", "/views/spend?after=" + "W1tb" * 1_000, {}, 400),
        ("GET", "/views/spend/changes?since=" + "9" * 5_000 + ".1", {}, 400),
        ("GET", "/status", {"headers": {"Origin": "http://["}}, 403),
        ("GET", "/status", {"headers": {"Origin": "http://localhost:1"}}, 403),
        ("GET", "/status", {"headers": {"Origin": "null"}}, 403),
        ("POST", "/query", {"content": b'{"sql":' + b"[" * 1_000 + b"]" * 1_000 + b"}"}, 400),
        ("POST", "/query", {"content": b"[" * 500_000}, 400),
        ("POST", "/query", {"content": b'{"sql": "SELECT 1", "limit": ' + b"9" * 5_000 + b"}"}, 400),
        ("POST", "/query", {"content": b'{"sql": "\xff"}'}, 400),
        ("POST", "/registry/subjects/s/versions", {"content": b'{"schema":' + b"[" * 5_000 + b"]" * 5_000 + b"}"}, 400),
        ("GET", "/registry/subjects/s/versions/" + "9" * 5_000, {}, 422),
        ("GET", "/registry/schemas/ids/" + "9" * 4_000, {}, 404),
        ("GET", "/registry/schemas/ids/" + "9" * 5_000, {}, 422),
    ],
    ids=lambda value: str(value)[:60],
)
def test_odd_values_are_refused_with_a_reason(
    bank: Bank, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    headers = {"content-type": "application/json"} | options.pop("headers", {})
    began = time.monotonic()
    answered = bank.client.request(method, path, headers=headers, **options)
    assert answered.status_code == status, answered.text[:500]
    assert time.monotonic() - began < PATIENCE / 2
    if status >= 400:
        assert {"title", "message"} & set(answered.json()), answered.text


def nested_avro(levels: int) -> str:
    kind: Any = "int"
    for _ in range(levels):
        kind = {"type": "array", "items": kind}
    return json.dumps(kind)


def deep_schema(levels: int) -> str:
    return '{"type":"object","properties":{"a":' * levels + '{"type":"string"}' + "}}" * levels


NESTED_PROTOBUF = 'syntax = "proto3";' + "".join(f"message M{n} {{" for n in range(200)) + "int32 a = 1;" + "}" * 200
SELF = '{"$ref": "#"}'
ODD_SCHEMAS: list[dict[str, Any]] = [
    {"schemaType": "JSON", "schema": deep_schema(2_000)},
    {"schemaType": "JSON", "schema": deep_schema(200)},
    {"schemaType": "JSON", "schema": SELF},
    {"schemaType": "JSON", "schema": '{"$ref": "http://[/x"}'},
    {"schemaType": "JSON", "schema": '{"$ref": 7}'},
    {"schemaType": "JSON", "schema": '{"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}'},  # noqa: E501
    {"schemaType": "JSON", "schema": '{"properties": 7, "required": {"a": 1}, "type": ["x", 7]}'},
    {"schemaType": "JSON", "schema": "9" * 5_000},
    {"schemaType": "PROTOBUF", "schema": NESTED_PROTOBUF},
    {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; import "nowhere.proto"; message M { N n = 1; }'},
    {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; message M { int32 a = ' + "9" * 5_000 + "; }"},
    {"schemaType": "PROTOBUF", "schema": "{" * 100_000},
    {"schemaType": "AVRO", "schema": nested_avro(900)},
    {"schemaType": "AVRO", "schema": "[" * 5_000 + "]" * 5_000},
    {"schemaType": "AVRO", "schema": '{"type": "fixed", "name": "f", "size": ' + "9" * 5_000 + "}"},
    {"schemaType": "AVRO", "schema": '{"type": "bytes", "logicalType": "decimal", "precision": -1, "scale": "x"}'},
    {"schemaType": ["AVRO"], "schema": '"int"'},
    *(
        {"schema": '"int"', "references": references}
        for references in (
            7, "x", {"a": 1}, [None], [[]], [{"name": 7, "subject": [], "version": 1}], [{"name": "a", "subject": "s"}],
            [{"name": "a", "subject": "s", "version": "9" * 5_000}], [{"name": "a", "subject": "s", "version": 1e400}],
            [{"name": "a", "subject": "s", "version": 10**100}], [{"name": None, "subject": None, "version": -1}],
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("draft", ODD_SCHEMAS, ids=lambda draft: json.dumps(draft)[:70])
def test_odd_schemas_are_refused_with_a_reason(bank: Bank, draft: dict[str, Any]) -> None:
    """Whether it registers or not, none is a mistake of ours, and neither is what is compared with it."""
    subject = f"s{abs(hash(json.dumps(draft, allow_nan=True)))}"
    body = json.dumps(draft).encode()
    headers = {"content-type": "application/json"}
    paths = [
        f"/registry/subjects/{subject}/versions",
        f"/registry/subjects/{subject}/versions",
        f"/registry/subjects/{subject}",
        f"/registry/compatibility/subjects/{subject}/versions/latest?verbose=true",
        f"/registry/compatibility/subjects/{subject}/versions",
    ]
    for path in paths:
        answered = bank.client.post(path, content=body, headers=headers)
        assert answered.status_code < 500, (path, answered.text[:500])
    other = {"schemaType": draft.get("schemaType", "AVRO"), "schema": '{"type": "object", "required": ["a"]}'}
    answered = bank.client.post(paths[-1], json=other)
    assert answered.status_code < 500, answered.text[:500]


def test_damaged_tokens_let_nobody_in_and_say_so(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "damaged", host="0.0.0.0"):
        secret = Tokens(bank.project.folder).create("a", "operate")
        file = bank.project.folder / ".headwater" / "tokens.json"
        for text in ("", "{", "7", "[7]", '[{"name": "a"}]', "[" * 5_000, "\udcff"):
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
            answered = bank.client.get("/status", headers=bearer(secret))
            assert answered.status_code == 401, text
            assert "can't be read" in answered.json()["title"]
        assert bank.client.get("/healthz").status_code == 200


def test_a_revoked_token_ends_its_streams(exposed: Bank) -> None:
    tokens = Tokens(exposed.project.folder)
    stream, frames = tokens.create("stream", "read"), tokens.create("frames", "read")
    address = str(exposed.client.base_url).rstrip("/")
    with (
        httpx.stream("GET", address + "/views/spend/changes", headers=bearer(stream), timeout=PATIENCE) as events,
        connect(address.replace("http", "ws") + "/views/spend/changes", additional_headers=bearer(frames)) as sent,
    ):
        lines = events.iter_lines()
        assert next(lines) == "event: snapshot"
        assert json.loads(sent.recv(timeout=PATIENCE))["event"] == "snapshot"
        tokens.revoke("stream")
        tokens.revoke("frames")
        began = time.monotonic()
        rest = list(lines)
        assert "event: problem" in rest
        assert time.monotonic() - began < 10
        assert json.loads(sent.recv(timeout=PATIENCE))["type"] == "urn:headwater:error:token-refused"
        with pytest.raises(ConnectionClosed):
            sent.recv(timeout=PATIENCE)


def test_folders_of_the_machine_are_told_to_nobody() -> None:
    detail = "'/srv/shop/data/log/orders/_delta_log/07.json' is gone; s3://bucket/data/x and GET /status tell more"
    told = problem_of(LogUnavailable("the log did not answer", detail=detail, file="/srv/shop/data/x.parquet"))
    assert told["detail"] == "'…/07.json' is gone; s3://bucket/data/x and GET /status tell more"
    assert told["file"] == "…/x.parquet"
