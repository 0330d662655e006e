"""From a URL in headwater.toml to a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import SettingsRefused, StoreUnavailable
from headwater.model import Store
from headwater.store import open_store
from headwater.store.sqlite import SqliteStore
from headwater.testing.conformance.targets import SPEND, batch


def test_a_relative_path_starts_at_the_projects_folder_and_an_absolute_one_does_not(tmp_path: Path) -> None:
    for url, file in (("sqlite:///views.db", "views.db"), (f"sqlite:///{tmp_path}/elsewhere.db", "elsewhere.db")):
        store = open_store(Store(name="main", url=url), tmp_path)
        store.open(SPEND, "plan")
        store.close()
        assert (tmp_path / file).exists()


def test_options_are_durations(tmp_path: Path) -> None:
    store = open_store(Store(name="main", url="sqlite:///views.db", options=(("busy_timeout", "20 ms"),)), tmp_path)
    epoch = store.open(SPEND, "plan")
    with closing(sqlite3.connect(tmp_path / "views.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="could not be written") as locked:
            store.apply(SPEND, epoch, batch(0))
    assert "for 0.02 s" in str(locked.value)
    store.close()


@pytest.mark.parametrize("url", ["mysql://here/db", "sqlite:///", "views.db"])
def test_a_url_that_no_store_takes_is_refused_by_the_stores_name(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match='store "main" has a URL that no kind of store takes'):
        open_store(Store(name="main", url=url), tmp_path)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("changes_retention", "long"), 'an option "changes_retention" that is not a duration'),
        (("retention", "1 day"), 'an unknown option "retention"'),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(option: tuple[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match=told):
        open_store(Store(name="main", url="sqlite:///views.db", options=(option,)), tmp_path)


def remember(declared: Store, folder: Path) -> SqliteStore:
    """What a package would register: a store of its own."""
    return SqliteStore(folder / declared.url.removeprefix("remembered://"))


def test_a_store_of_another_package_is_found_by_its_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "somebodys-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        f"[headwater.stores]\nremembered = {__name__}:remember\nbroken = {__name__}:nothing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    store = open_store(Store(name="main", url="remembered://views.db"), tmp_path)
    store.open(SPEND, "plan")
    store.close()
    assert (tmp_path / "views.db").exists()
    with pytest.raises(SettingsRefused, match='store "main" can\'t be opened'):
        open_store(Store(name="main", url="broken://views.db"), tmp_path)
