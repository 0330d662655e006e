"""What a registry says for good, and what may pass."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from headwater.errors import HeadwaterError, SourceRefused, SourceUnavailable, TargetDenied
from headwater.kafka.registry import RemoteRegistry
from tests.servers.process import free_port


class _Registry(BaseHTTPRequestHandler):
    """Answers with the status that a subject is called."""

    def do_GET(self) -> None:
        body = b'{"error_code": 1, "message": "as asked"}'
        self.send_response(int(self.path.split("/")[2]))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Registry) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def registry(url: str) -> RemoteRegistry:
    return RemoteRegistry({"url": url, "max.retries": 0}, SourceRefused, SourceUnavailable)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, SourceRefused), (403, SourceRefused), (422, SourceRefused), (409, TargetDenied),
        (408, SourceUnavailable), (429, SourceUnavailable), (500, SourceUnavailable), (503, SourceUnavailable),
    ],
)  # fmt: skip
def test_an_answer_is_for_good_or_may_pass(url: str, status: int, error: type[HeadwaterError]) -> None:
    with pytest.raises(error, match="as asked"):
        registry(url).ask(lambda client: client.get_versions(str(status)), conflict=TargetDenied)


def test_what_a_registry_doesnt_have_is_none(url: str) -> None:
    assert registry(url).ask(lambda client: client.get_versions("404")) is None


def test_a_registry_that_isnt_there_may_come() -> None:
    with pytest.raises(SourceUnavailable):
        registry(f"http://127.0.0.1:{free_port()}").ask(lambda client: client.get_subjects())


def test_options_that_the_client_doesnt_know_are_refused_before_it_is_asked() -> None:
    with pytest.raises(SourceRefused, match=r"no\.such"):
        RemoteRegistry({"url": "http://127.0.0.1:1", "no.such": "1"}, SourceRefused, SourceUnavailable)
