"""The servers that tests talk to: find each one, or install it where this machine allows it.

A server is *present* when its program is on the PATH, in its usual folder, or in `.servers/`. One that is missing is
installed in one of three ways: a Debian package (as root), a Go module that is built, or Maven artifacts that are
copied. Where none is possible, one line says which server was left out and why; with `CI=true` that is a failure.

    python tools/servers.py          the servers that today's tests need
    python tools/servers.py --all    every server of the table
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / ".servers"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>servers</groupId><artifactId>servers</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class LeftOut(Exception):
    """The server can't be installed here; the text is the reason."""


@dataclass(frozen=True)
class DebianPackage:
    """A program from a Debian package; `folders` are the places beside the PATH where the package puts it."""

    program: str
    package: str
    folders: tuple[str, ...] = ()

    def find(self) -> Path | None:
        """The program, if it is there."""
        beside = (str(found) for pattern in self.folders for found in sorted(Path("/").glob(pattern), reverse=True))
        found = shutil.which(self.program) or shutil.which(self.program, path=os.pathsep.join(beside))
        return Path(found) if found else None

    def install(self) -> None:
        """Install the package."""
        install_package(self.package)


@dataclass(frozen=True)
class GoModule:
    """A program that is built from a Go module."""

    program: str
    module: str
    version: str

    @property
    def folder(self) -> Path:
        """Where the program is built into."""
        return SERVERS / f"{self.program}-{self.version}"

    def find(self) -> Path | None:
        """The program, if it was built before or is on the PATH."""
        found = shutil.which(self.program, path=str(self.folder)) or shutil.which(self.program)
        return Path(found) if found else None

    def install(self) -> None:
        """Build the program."""
        if not shutil.which("go"):
            raise LeftOut("it is built with Go, and there is no go on the PATH")
        run(["go", "install", f"{self.module}@{self.version}"], {"GOBIN": str(self.folder)})


@dataclass(frozen=True)
class MavenArtifacts:
    """A folder of jars: the artifacts and all that they depend on."""

    folder: str
    artifacts: tuple[str, ...]

    def find(self) -> Path | None:
        """The folder, if all its jars are there."""
        folder = SERVERS / self.folder
        return folder if folder.is_dir() else None

    def install(self) -> None:
        """Copy the jars beside the folder, then put it in place at once: it is there whole or not at all."""
        if not shutil.which("mvn"):
            install_package("maven")
        part = SERVERS / f"{self.folder}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        wanted = "".join(DEPENDENCY.format(*artifact.split(":")) for artifact in self.artifacts)
        (part / "pom.xml").write_text(POM.format(wanted))
        run(["mvn", "-q", "-B", "-f", str(part), "dependency:copy-dependencies", f"-DoutputDirectory={part}"])
        part.rename(SERVERS / self.folder)


@dataclass(frozen=True)
class Server:
    """One line of the table; `needed` if today's tests need it, so that `make test` installs it."""

    name: str
    needed: bool
    way: DebianPackage | GoModule | MavenArtifacts


TABLE = (
    Server("s3", True, GoModule("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0")),
    Server("postgres", True, DebianPackage("initdb", "postgresql", ("usr/lib/postgresql/*/bin",))),
    Server("mariadb", True, DebianPackage("mariadbd", "mariadb-server", ("usr/sbin",))),
    Server("redis", True, DebianPackage("redis-server", "redis-server")),
    Server(
        "kafka",
        True,
        MavenArtifacts(
            "kafka-4.3.0",
            ("org.apache.kafka:kafka_2.13:4.3.0", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
        ),
    ),
    Server("chromium", True, DebianPackage("chromium", "chromium")),
)


def find(name: str) -> Path | None:
    """The program (for Kafka: the folder of jars) of the server of that name, or None if it isn't present."""
    return next(server.way.find() for server in TABLE if server.name == name)


def install_package(package: str) -> None:
    """Install a Debian package; the lists of packages are fetched only if they don't name it."""
    if not shutil.which("apt-get"):
        raise LeftOut(f"it comes from the Debian package {package}, and there is no apt-get here")
    if os.geteuid() != 0:
        raise LeftOut(f"installing the Debian package {package} needs root")
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # runlevel 1: the package starts no service
    try:
        run(install, quiet)
    except LeftOut:
        run(["apt-get", "update", "-qq"], quiet)
        run(install, quiet)


def run(command: Sequence[str], settings: dict[str, str] | None = None) -> None:
    """Run a command quietly; LeftOut with the last line that it said if it fails."""
    done = subprocess.run(command, env=os.environ | (settings or {}), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise LeftOut(f"{' '.join(command[:2])} failed: {said[-1]}")


def ensure(server: Server) -> bool:
    """Find or install one server; False, after saying why in one line, if it stays missing."""
    if server.way.find():
        return True
    print(f"servers: installing {server.name}", flush=True)
    try:
        server.way.install()
    except LeftOut as reason:
        print(f"servers: {server.name} is left out: {reason}", flush=True)
        return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if a server is missing where none may be."""
    wanted = [server for server in TABLE if server.needed or "--all" in arguments]
    missing = [server.name for server in wanted if not ensure(server)]
    if missing and os.environ.get("CI") == "true":
        print(f"servers: with CI=true none may be missing: {', '.join(missing)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
