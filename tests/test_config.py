"""headwater.toml: what it may say, and how it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.config import load_settings
from headwater.errors import NotAProject, SettingsRefused


def write(folder: Path, text: str) -> Path:
    (folder / "headwater.toml").write_text(text)
    return folder


def test_a_name_is_enough(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, 'name = "shop"'))
    assert (settings.name, settings.data) == ("shop", "data")
    assert [store.name for store in settings.declared_stores()] == ["main"]


def test_environment_variables_are_filled_in(tmp_path: Path) -> None:
    text = 'name = "shop"\ndata = "s3://bucket/shop"\n[storage]\naws_secret_access_key = "${KEY}"'
    settings = load_settings(write(tmp_path, text), {"KEY": "hush"})
    assert settings.storage == {"aws_secret_access_key": "hush"}


def test_a_folder_without_settings_is_not_a_project(tmp_path: Path) -> None:
    with pytest.raises(NotAProject, match="is not a project") as refused:
        load_settings(tmp_path)
    assert "headwater init" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("name = ", "is not valid TOML", 1),
        ("data = 'x'", 'setting "name" can\'t be used', 1),
        ("name = 'x'\ndate = 'y'", 'unknown setting "date"\n  Hint:   Did you mean "data"?', 2),
        ("name = 'x'\n[stores.main]\nurl = 'a'\nurll = 'b'", 'unknown setting "stores.main.urll"', 4),
        ("name = 'x'\nspark = 3", 'setting "spark" can\'t be used', 2),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(tmp_path: Path, text: str, words: str, line: int) -> None:
    with pytest.raises(SettingsRefused) as refused:
        load_settings(write(tmp_path, text))
    assert words in str(refused.value)
    assert refused.value.origin is not None
    assert refused.value.origin.line == line


@pytest.mark.parametrize(
    "text",
    ["[storage]\naws_secret_access_key = 'hush'", "[stores.main]\nurl = 'postgresql://me:hush@host/db'"],
)
def test_a_secret_in_the_file_is_refused_without_being_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsRefused, match="holds a secret") as refused:
        load_settings(write(tmp_path, f"name = 'x'\n{text}"))
    assert "hush" not in str(refused.value)


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    text = "name = 'x'\n[stores.main]\nurl = 'postgresql://me:${PG_PASSWORD}@host/db'"
    with pytest.raises(SettingsRefused, match="needs the environment variable PG_PASSWORD"):
        load_settings(write(tmp_path, text), {})
