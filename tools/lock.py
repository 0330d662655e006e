"""Write the lock: every package that `make setup` installs, pinned to one version, as pip's resolver chose it.

    python3.11 tools/lock.py

The lock names versions only: no addresses, no hashes, so that it installs from whatever index a machine uses. It is
resolved on the oldest Python that pyproject.toml supports, whose choices are good for the newer ones too.

    requirements.lock         the package, its extra `dev`, and what builds it
    requirements-java.lock    what the extra `java` adds, for machines without Java
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def resolve(python: Path, extras: str) -> dict[str, str]:
    """What pip would install into an empty environment: name → version."""
    command = f"{python} -m pip install --quiet --dry-run --ignore-installed --report -".split()
    report = subprocess.run([*command, f"{ROOT}[{extras}]"], stdout=subprocess.PIPE, check=True).stdout
    found = {package["metadata"]["name"]: package["metadata"]["version"] for package in json.loads(report)["install"]}
    del found["headwater"]
    return found


def write(path: Path, title: str, packages: dict[str, str]) -> None:
    """Write one lock file, in the order of names."""
    pins = sorted((f"{name}=={version}" for name, version in packages.items()), key=str.lower)
    path.write_text("\n".join([f"# {title}. Written by `make lock`.", *pins, ""]), encoding="utf-8")
    print(f"{path.name}: {len(pins)} packages")


def main() -> None:
    """Resolve in an empty environment and write both files."""
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    if "{}.{}".format(*sys.version_info) != oldest:
        sys.exit(f"the lock is resolved with Python {oldest}, the oldest one supported: python{oldest} tools/lock.py")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        packages = resolve(python, "dev")
        added = {name: version for name, version in resolve(python, "dev,java").items() if name not in packages}
    write(ROOT / "requirements.lock", "Headwater with its extra `dev`", packages)
    write(ROOT / "requirements-java.lock", "What the extra `java` adds", added)


if __name__ == "__main__":
    main()
