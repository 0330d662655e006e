"""From a URL in headwater.toml to a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import SettingsRefused, StoreUnavailable
from headwater.model import Store
from headwater.store import open_store
from tests.store.targets import SPEND, batch


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


@pytest.mark.parametrize("url", ["postgresql://here/db", "sqlite:///", "views.db"])
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
