"""The locks: one version of each package, told by hashes and without addresses."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import PIN, ROOT

LOCKS = ("requirements.lock", "requirements-java.lock", "deploy/requirements.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_a_hash_for_every_package_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = list(PIN.finditer(text))
    assert pins
    assert [pin["name"] for pin in pins if "--hash=sha256:" not in pin[0]] == []
    assert "".join(pin[0] for pin in pins) == text.partition("\n")[2], "nothing but pins"
    assert "://" not in text


def versions(name: str) -> dict[str, str]:
    """The version of each package in a lock."""
    pins = PIN.finditer((ROOT / name).read_text())
    return {canonicalize_name(pin["name"]): pin[0].split()[0].partition("==")[2] for pin in pins}


def unfit(required: list[str], pinned: dict[str, str]) -> list[str]:
    """The requirements that a lock doesn't meet."""
    wanted = map(Requirement, required)
    return [str(one) for one in wanted if pinned.get(canonicalize_name(one.name), "") not in one.specifier]


def test_the_lock_fits_what_the_package_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned = versions("requirements.lock") | versions("requirements-java.lock")
    assert not unfit([*project["dependencies"], *extras["dev"], *extras["java"]], pinned), "run `make lock`"


def test_the_image_has_what_it_needs_in_the_versions_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    served = [one for extra in ("postgres", "redis", "serve") for one in project["optional-dependencies"][extra]]
    tested, image = versions("requirements.lock"), versions("deploy/requirements.lock")
    assert not unfit([*project["dependencies"], *served], image), "run `make lock`"
    assert {name: version for name, version in image.items() if tested.get(name) != version} == {}
