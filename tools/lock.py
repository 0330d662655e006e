"""Write the lock: every package that `make setup` installs, pinned to one version and to the hashes of its files.

    python tools/lock.py

The lock names versions and hashes, no addresses, so that it installs from whatever index a machine uses, and nothing
but what was locked. It is resolved by uv for every platform, from the oldest Python that pyproject.toml supports on,
with one version of a package wherever one will do.

    requirements.lock         the package, its extra `dev`, and what builds it
    requirements-java.lock    what the extra `java` adds, for machines without Java
    deploy/requirements.lock  the package as the image has it, in the same versions
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==.*?(?=^\S|\Z)", re.DOTALL | re.MULTILINE)


def resolve(uv: Path, oldest: str, extras: list[str], *options: str | Path) -> list[re.Match[str]]:
    """The pins of the package with some extras, each with its hashes, in the order of names."""
    chosen = [option for extra in extras for option in ("--extra", extra)]
    for_all = ["--universal", "--fork-strategy", "fewest", "--python-version", oldest]
    plain = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
    command = [uv, "pip", "compile", ROOT / "pyproject.toml", *chosen, *for_all, *plain, *options]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return list(PIN.finditer(text))


def write(path: Path, title: str, pins: list[re.Match[str]]) -> None:
    """Write one lock file."""
    path.write_text(f"# {title}. Written by `make lock`.\n{''.join(pin[0] for pin in pins)}", encoding="utf-8")
    print(f"{path.name}: {len(pins)} packages")


def main() -> None:
    """Resolve with a uv of its own and write the files."""
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        subprocess.run([Path(folder, "bin", "pip"), "install", "--quiet", "uv"], check=True)
        uv = Path(folder, "bin", "uv")
        pins = resolve(uv, oldest, ["dev"])
        known = {pin["name"] for pin in pins}
        added = [pin for pin in resolve(uv, oldest, ["dev", "java"]) if pin["name"] not in known]
        write(LOCK, "Headwater with its extra `dev`", pins)
        write(ROOT / "requirements-java.lock", "What the extra `java` adds", added)
        image = resolve(uv, oldest, ["postgres", "redis", "serve"], "--constraints", LOCK)
        write(ROOT / "deploy" / "requirements.lock", "Headwater with its extras `postgres`, `redis`, `serve`", image)


if __name__ == "__main__":
    main()
