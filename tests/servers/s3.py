"""An S3 server: versitygw over a folder, with conditional puts as Amazon's S3 has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from obstore.store import ObjectStore, from_url

from tests.servers.process import ask, free_port, running, server_folder

ACCESS_KEY = "headwater"
SECRET_KEY = "headwater-secret"  # of a server that lives as long as the test run
REGION = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """A running server with one empty bucket."""

    endpoint: str
    bucket: str

    @property
    def url(self) -> str:
        """The bucket's address, to which a test adds a prefix of its own."""
        return f"s3://{self.bucket}"

    @property
    def storage_options(self) -> dict[str, str]:
        """What `deltalake` needs to reach the bucket; it puts entries of its log with If-None-Match."""
        return {
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
            "aws_endpoint_url": self.endpoint,
            "aws_region": REGION,
            "aws_allow_http": "true",
            "aws_conditional_put": "etag",
        }

    def object_store(self, prefix: str) -> ObjectStore:
        """The bucket below a prefix for `obstore`, which takes `allow_http` as an option of the client."""
        config = {name: value for name, value in self.storage_options.items() if name != "aws_allow_http"}
        return from_url(f"{self.url}/{prefix}", config=config, client_options={"allow_http": True})


@contextlib.contextmanager
def start_s3(program: Path, bucket: str = "headwater") -> Iterator[S3Server]:
    """Run versitygw; the metadata of objects is kept beside them, so any file system will do."""
    port = free_port()
    with server_folder() as folder:
        (folder / "buckets" / bucket).mkdir(parents=True)
        (folder / "metadata").mkdir()
        command = [program, "--port", f"127.0.0.1:{port}", "--region", REGION, "--quiet", "--keep-alive"]
        command += ["posix", "--sidecar", folder / "metadata", folder / "buckets"]
        keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        with running(command, folder=folder, settings=keys, answers=lambda: _answers(port)):
            yield S3Server(f"http://127.0.0.1:{port}", bucket)


def _answers(port: int) -> bool:
    return ask(port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1")
