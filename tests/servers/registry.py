"""A schema registry for tests: as much of Confluent's REST API as serializers and readers of schemas use."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class RegistryServer:
    """A running registry. While it is `down` it answers everything with 503."""

    port: int
    schemas: list[dict[str, Any]] = field(default_factory=list)
    down: bool = False

    @property
    def url(self) -> str:
        """The address for `schema.registry.url`."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, method: str, path: list[str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of an answer."""
        if self.down:
            return 503, {"error_code": 50301, "message": "down"}
        if path[:2] == ["schemas", "ids"]:
            number = int(path[2])
            if not 1 <= number <= len(self.schemas):
                return 404, {"error_code": 40403, "message": "Schema not found"}
            return 200, self.schemas[number - 1]
        if path[0] == "subjects" and method == "POST":
            entry = {"subject": path[1], **body}
            if entry not in self.schemas:
                self.schemas.append(entry)
            number = self.schemas.index(entry) + 1
            return 200, {"id": number, "subject": path[1], "version": self._version(number), **body}
        if path[0] == "subjects" and path[2:3] == ["versions"]:
            mine = [at for at, entry in enumerate(self.schemas, 1) if entry["subject"] == path[1]]
            number = mine[int(path[3]) - 1]
            return 200, {"id": number, "version": int(path[3]), **self.schemas[number - 1]}
        return 404, {"error_code": 404, "message": "/".join(path)}

    def _version(self, number: int) -> int:
        subject = self.schemas[number - 1]["subject"]
        return sum(1 for entry in self.schemas[:number] if entry["subject"] == subject)


@contextmanager
def start_registry() -> Iterator[RegistryServer]:
    """A registry on a free port, for as long as the block lasts."""
    registry: RegistryServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", {})

        def do_POST(self) -> None:
            self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, method: str, body: dict[str, Any]) -> None:
            status, found = registry.answer(method, self.path.split("?")[0].strip("/").split("/"), body)
            sent = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry = RegistryServer(server.server_port)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
