"""Promotions: what changed declarations mean for a project that runs, before anything of it happens."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import CheckFailed, PromotionRefused
from headwater.operate.promotion import Promotion

STREAM = "CREATE STREAM sales (id STRING, shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);\n"
SHOPS = """CREATE MATERIALIZED VIEW shops WITH (emit = 'final') AS SELECT shop, window_end, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY shop, window_end;\n"""
OUTLET = "CREATE OUTLET hook FROM shops TO 'https://host/hook';\n"
READER = """CREATE MATERIALIZED VIEW best AS SELECT window_end AS until, max(n) AS most
FROM TUMBLE(TABLE shops, DESCRIPTOR(window_end), INTERVAL '1' MINUTE) GROUP BY window_end;\n"""
IDS = "CREATE MATERIALIZED VIEW ids AS SELECT id FROM sales;\n"


def promote(folder: Path, before: str, after: str) -> Promotion:
    """What a project that was opened with some declarations says of others."""
    (folder / "headwater.toml").write_text(
        'name = "shop"\n[stores.other]\nurl = "sqlite:///o.db"\n[stores.main]\nurl = "sqlite:///m.db"\n'
    )
    (folder / "shop.sql").write_text(before)
    with hw.open(folder) as project:
        project.plan()
        (folder / "shop.sql").write_text(after)
        told = project.admin.promote(only_tell=True)
        assert [view.name for view in project.declared.views] == [view.name for view in project.plan().project.views]
        assert project.admin.promote() == told
        assert set(project.plan().views) >= {*told.added, *told.changed, *told.unchanged}
        nothing = project.admin.promote()
        assert (nothing.added, nothing.changed, nothing.removed, nothing.topics) == ((), (), (), ())
        return told


CASES = {
    "nothing": (STREAM + SHOPS, STREAM + SHOPS, Promotion(unchanged=("shops",))),
    "another spelling": (
        STREAM + SHOPS,
        STREAM + "-- why\n" + SHOPS.replace(" AS n", "   as n"),
        Promotion(unchanged=("shops",)),
    ),
    "another query": (STREAM + SHOPS, STREAM + SHOPS.replace("count(*)", "count(id)"), Promotion(changed=("shops",))),
    "another store": (
        STREAM + SHOPS,
        STREAM + SHOPS.replace("'final'", "'final', store = 'other'"),
        Promotion(changed=("shops",)),
    ),
    "one more and one less": (STREAM + SHOPS, STREAM + IDS, Promotion(added=("ids",), removed=("shops",))),
    "a view that is read from now on": (
        STREAM + SHOPS,
        STREAM + SHOPS + READER,
        Promotion(added=("best",), changed=("shops",)),
    ),
    "a reader of a view that changes": (
        STREAM + SHOPS + READER,
        STREAM + SHOPS.replace("count(*)", "count(id)") + READER,
        Promotion(changed=("shops", "best")),
    ),
    "a new outlet": (STREAM + SHOPS, STREAM + SHOPS + OUTLET, Promotion(unchanged=("shops",), outlets=("hook",))),
    "an outlet that stays": (STREAM + SHOPS + OUTLET, STREAM + SHOPS + OUTLET, Promotion(unchanged=("shops",))),
    "an outlet that goes elsewhere": (
        STREAM + SHOPS + OUTLET,
        STREAM + SHOPS + OUTLET.replace("host", "other"),
        Promotion(unchanged=("shops",), outlets=("hook",)),
    ),
    "an outlet whose view changes": (
        STREAM + SHOPS + OUTLET,
        STREAM + SHOPS.replace("count(*)", "count(id)") + OUTLET,
        Promotion(changed=("shops",), outlets=("hook",)),
    ),
    "a new stream": (STREAM, STREAM + STREAM.replace("sales", "visits"), Promotion(topics=("visits",))),
}


@pytest.mark.parametrize("case", CASES)
def test_a_promotion_tells_which_views_are_concerned(tmp_path: Path, case: str) -> None:
    before, after, expected = CASES[case]
    assert promote(tmp_path, before, after) == expected


REFUSED = {
    "a stream that changes": (STREAM, STREAM.replace("id STRING,", "id STRING, more INT,"), "declared in another way"),
    "a stream that is gone": (STREAM, STREAM.replace("sales", "visits"), "no longer declared"),
    "a new intake": (
        STREAM,
        STREAM + STREAM.replace("sales", "orders").replace(";", " WITH (connector = 'kafka', topic = 'orders');"),
        "is new and has an intake",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_run_has_opened_for_good_is_not_changed_under_it(tmp_path: Path, case: str) -> None:
    before, after, words = REFUSED[case]
    with pytest.raises(PromotionRefused) as refused:
        promote(tmp_path, before, after)
    assert words in str(refused.value.detail)


def test_declarations_with_errors_change_nothing(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed):
        promote(tmp_path, STREAM + SHOPS, STREAM + SHOPS.replace("count(*)", "count(colour)"))


UPCAST = """
import headwater as hw

@hw.upcast("sales", from_version=1, columns={"id": "STRING", "till": "STRING", "at": "TIMESTAMP NOT NULL"})
def till_is_shop(old):
    return old.rename_columns(["id", "shop", "at"])
"""


def test_rows_of_an_earlier_version_are_upcast_after_a_promotion_as_before(tmp_path: Path) -> None:
    (tmp_path / "upcast.py").write_text(UPCAST)
    stream = STREAM.replace(";", " WITH (version = 2);")
    assert promote(tmp_path, stream + IDS, stream + SHOPS) == Promotion(added=("shops",), removed=("ids",))
    with hw.open(tmp_path) as project:
        project.admin.promote()
        project.append("sales", [{"id": "a", "till": "north", "at": "2026-01-01T12:00:00Z"}], version=1)
        assert project.read("sales", columns=["id", "shop"]).to_pylist() == [{"id": "a", "shop": "north"}]
