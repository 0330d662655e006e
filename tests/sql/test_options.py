from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headwater.model import CONTENT, Emit
from headwater.sql import OPTIONS
from headwater.sql.intake_options import INTAKE


def read(kind: str, name: str, text: str) -> object:
    return next(option for option in OPTIONS[kind] if option.name == name).read(text)


@pytest.mark.parametrize(
    ("kind", "name", "text", "value"),
    [
        ("stream", "key", "card_id", ("card_id",)),
        ("stream", "key", " a , `b, c` ,`x``y`", ("a", "b, c", "x`y")),
        ("stream", "unique", "*", CONTENT),
        ("stream", "unique", "a,b", ("a", "b")),
        ("stream", "idle", "90s", timedelta(seconds=90)),
        ("stream", "max_ahead", "none", None),
        ("table", "max_ahead", "1 hour 30 minutes", timedelta(minutes=90)),
        ("stream", "start", "Latest", "latest"),
        ("table", "start", "2026-01-31T12:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("materialized view", "late", "DROP", "drop"),
        ("materialized view", "emit", "changes", Emit.CHANGES),
        ("materialized view", "store", "main", "main"),
    ],
)
def test_an_option_is_read(kind: str, name: str, text: str, value: object) -> None:
    assert read(kind, name, text) == value


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("stream", "key", ""),
        ("stream", "key", "a,"),
        ("stream", "key", "a,,b"),
        ("stream", "key", "`a"),
        ("stream", "idle", "soon"),
        ("stream", "idle", ""),
        ("stream", "connector", "carrier pigeon"),
        ("stream", "topic", " "),
        ("stream", "start", "tomorrow"),
        ("materialized view", "grace", "none"),
        ("materialized view", "late", "maybe"),
        ("materialized view", "emit", "now"),
        ("materialized view", "layout", "list"),
        ("materialized view", "index", "a;; b,"),
        ("materialized view", "store", " "),
    ],
)
def test_a_value_that_an_option_cant_take_is_refused(kind: str, name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(kind, name, text)


def test_the_options_of_each_kind_are_those_of_the_language() -> None:
    assert {kind: [option.name for option in options] for kind, options in OPTIONS.items()} == {
        "stream": [
            "key",
            "unique",
            "within",
            "idle",
            "max_ahead",
            "version",
            "unknown_fields",
            *(option.name for option in INTAKE),
        ],
        "table": ["idle", "max_ahead", "version", "unknown_fields", *(option.name for option in INTAKE)],
        "materialized view": [
            *("grace", "late", "emit", "every", "store", "key", "horizon", "retention", "execution"),
            *("layout", "score", "group", "ttl", "index"),
        ],
        "view": [],
        "outlet": [
            "envelope",
            "format",
            "registry",
            "accumulation",
            "start",
            "key",
            "brokers",
            "cluster",
            "per_request",
            "attempts",
            "timeout",
            "headers",
        ],
    }
