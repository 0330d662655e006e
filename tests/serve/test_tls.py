"""TLS: the server shows a certificate, and nothing is served without it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner
from websockets.sync.client import connect

import headwater as hw
from headwater.cli import app
from headwater.config import ServeSettings, load_settings
from headwater.errors import SettingsRefused
from headwater.serve import open_server
from headwater.serve.tls import refuse_in_the_clear
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE
from tests.serve.conftest import Bank, event, serve
from tests.serve.test_access import bearer

PASSWORD = "the key's own"


def make_certificate(folder: Path, name: str = "tls", password: str | None = None) -> tuple[Path, Path]:
    """A certificate for this machine that it has signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    cert_file, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    cert_file.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    encryption = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption))
    return cert_file, key_file


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secured(tmp_path: Path, files: tuple[Path, Path]) -> Iterator[Bank]:
    """A bank that others can reach, over TLS."""
    cert, key = files
    yield from serve(tmp_path / "secured", host="0.0.0.0", tls_cert=str(cert), tls_key=str(key))


def test_requests_subscriptions_and_tokens_go_over_tls(secured: Bank, files: tuple[Path, Path]) -> None:
    secured.write([("c1", "1.00", 1)])
    token = Tokens(secured.project.folder).create("till", "write")
    port = secured.client.base_url.port
    trusted = ssl.create_default_context(cafile=str(files[0]))
    with httpx.Client(
        base_url=f"https://localhost:{port}", verify=trusted, headers=bearer(token), timeout=PATIENCE
    ) as client:
        assert client.post("/streams/payments/events", json=event(1)).status_code == 201
        found = client.get("/views/spend")
        assert found.json()["rows"][0]["card"] == "c1"
        assert found.headers["strict-transport-security"] == "max-age=31536000"
    with connect(
        f"wss://localhost:{port}/views/spend/changes",
        ssl=trusted,
        additional_headers=bearer(token),
        open_timeout=PATIENCE,
    ) as socket:
        assert json.loads(socket.recv(timeout=PATIENCE))["event"] == "snapshot"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"https://localhost:{port}/healthz", timeout=PATIENCE)  # nobody here vouches for it
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"http://localhost:{port}/healthz", timeout=PATIENCE)


def test_files_that_do_not_make_a_certificate_are_refused_before_anything_starts(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    cert, key = (str(file) for file in files)
    _, other = make_certificate(tmp_path, "other")
    locked_cert, locked = make_certificate(tmp_path, "locked", PASSWORD)
    refused = [
        {"tls_cert": cert},
        {"tls_key": key},
        {"tls_cert": "nothing.pem", "tls_key": key},
        {"tls_cert": cert, "tls_key": str(other)},
        {"tls_cert": cert, "tls_key": cert},
        {"tls_cert": str(locked_cert), "tls_key": str(locked)},
        {"tls_cert": str(locked_cert), "tls_key": str(locked), "tls_key_password": "another"},
    ]
    with hw.open(tmp_path) as project:
        for given in refused:
            with pytest.raises(SettingsRefused) as told:
                open_server(project, ServeSettings.model_validate({"port": 0, **given}))
            assert "another" not in str(told.value)
        fitting = {"tls_cert": "locked.pem", "tls_key": "locked.key", "tls_key_password": PASSWORD, "dashboard": False}
        with open_server(project, ServeSettings.model_validate({"port": 0, **fitting})) as server:
            assert server.url.startswith("https://127.0.0.1:")
            assert not server.is_in_the_clear


def test_the_password_of_a_key_comes_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n[serve]\ntls_key_password = "spelled out"\n')
    with pytest.raises(SettingsRefused, match="holds a secret"):
        load_settings(tmp_path)


def test_others_are_not_served_without_tls_unless_a_proxy_ends_it(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = bank.project.folder
    refused = CliRunner().invoke(app, ["run", "--host", "0.0.0.0", "--port", "0", "--project", str(folder)])
    assert refused.exit_code != 0
    assert "--behind-proxy" in refused.output
    for settings in (ServeSettings(), ServeSettings(host="0.0.0.0", behind_proxy=True)):
        refuse_in_the_clear(settings)
    monkeypatch.setattr("headwater.serve.status.LEAST_FREE", 2**62)
    full = bank.client.get("/readyz")
    assert (full.status_code, full.json()["reason"]) == (503, "disk-full")
