"""Outlets to a Delta table: rows and place in one commit, read back by whoever reads Delta."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from headwater.errors import Fenced, TargetDenied
from headwater.outlets.delta import DeltaTarget
from headwater.testing.crash import Crash, Fuse
from tests.outlets.shop import SPEND, Shop, row

UPSERT = "CREATE OUTLET o FROM spend TO 'delta://exports/spend' WITH (envelope = 'upsert')"
CHANGE = "CREATE OUTLET o FROM spend TO 'delta://exports/spend'"
ROWS = "CREATE OUTLET o FROM spend TO 'delta://exports/spend' WITH (envelope = 'row')"


def send(shop: Shop) -> str | None:
    """Send what there is; what went wrong."""
    with shop.project() as project:
        (sent,) = project.send()
    return sent.error and type(sent.error).__name__


def table(shop: Shop) -> DeltaTable:
    return DeltaTable(shop.folder / "exports" / "spend")


def spent(shop: Shop) -> list[tuple[Any, str]]:
    rows = table(shop).to_pyarrow_table().to_pylist()
    return sorted(((found["card"], str(found["spent"])) for found in rows), key=str)


def test_upserts_make_the_table_equal_to_the_view(tmp_path: Path) -> None:
    shop = Shop(tmp_path, UPSERT)
    shop.write(0, [row("a", "1.00"), row(None, "2.00"), row("c", "3.00")])
    assert send(shop) is None
    assert spent(shop) == [("a", "1.00"), ("c", "3.00"), (None, "2.00")]
    shop.write(1, [row("a", "1.50"), row(None, "2.50"), row("d", "4.00")], [row("c", "3.00")])
    assert send(shop) is None
    assert spent(shop) == [("a", "1.50"), ("d", "4.00"), (None, "2.50")]
    with shop.project() as project:
        assert project.rows("spend").num_rows == 3


def test_changes_are_appended_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CHANGE)
    shop.write(0, [row("a", "1.00")])
    shop.write(1, deletes=[row("a", "1.00")])
    assert send(shop) is None
    changes = table(shop).to_pyarrow_dataset()
    found = duckdb.sql(
        "SELECT id, op, before.spent, after.spent, timing, commit['payments'] FROM changes ORDER BY id"
    ).fetchall()
    assert changes.schema.names == [
        "id", "op", "before", "after", "timing", "version", "batch", "commit", "at", "watermark",
    ]  # fmt: skip
    assert found == [("1.0.0", "insert", None, 1, "early", 1), ("1.1.0", "delete", 1, None, "early", 2)]


def test_rows_of_a_final_view_are_appended_once(tmp_path: Path) -> None:
    shop = Shop(tmp_path, ROWS, options="WITH (emit = 'final')")
    for number in range(3):
        shop.write(number, [row(f"c{number}", "1.00")])
        assert send(shop) is None
        assert send(shop) is None
    assert [card for card, _ in spent(shop)] == ["c0", "c1", "c2"]


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    shop = Shop(tmp_path, UPSERT)
    shop.declare(UPSERT, view=SPEND.replace("AS spent", "AS `x``y Z'`"))
    for number in range(2):
        found = row("a", f"{number}.00")
        shop.write(number, [found | {"x`y Z'": found["spent"]}])
        assert send(shop) is None
    assert [str(one["x`y Z'"]) for one in table(shop).to_pyarrow_table().to_pylist()] == ["1.00"]


@pytest.mark.parametrize("outlet", [UPSERT, CHANGE], ids=["upsert", "change"])
@pytest.mark.parametrize("point", ["before _write", "after _write"])
def test_each_change_is_there_once_wherever_a_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outlet: str, point: str
) -> None:
    shop, fuse, write = Shop(tmp_path, outlet), Fuse(), DeltaTarget._write
    for number in range(3):
        shop.write(number, [row("a", f"{number}.00"), row(f"b{number}", "1.00")])

    class Point(Crash):
        def __post_init__(self) -> None:
            """Every point is allowed."""

    def dying(self: DeltaTarget, *given: Any) -> None:
        fuse.passes("before _write")
        write(self, *given)
        fuse.passes("after _write")

    fuse.arm(Point(point, 2))
    with monkeypatch.context() as patched:
        patched.setattr(DeltaTarget, "_write", dying)
        assert send(shop) == "Crashed"
    assert send(shop) is None
    if outlet == UPSERT:
        assert spent(shop) == [("a", "2.00"), ("b0", "1.00"), ("b1", "1.00"), ("b2", "1.00")]
    else:
        ids = table(shop).to_pyarrow_table()["id"].to_pylist()
        assert sorted(ids) == ["1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.2.0", "1.2.1"]


def test_a_zombie_is_fenced_and_told_by_whom(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CHANGE)
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        planned = project.plan().outlet("o")
        zombie, feed = project.outlets.run(planned).target(), project.views.opened().ask.feed(planned)
        (first,) = feed.after(zombie.open())
        assert send(shop) is None  # another run comes, and sends
        with pytest.raises(Fenced, match="taken over by another run") as fenced:
            zombie.deliver(first, lambda refused: None)
    assert "process" in fenced.value.fields["holder"]
    assert table(shop).to_pyarrow_table()["id"].to_pylist() == ["1.0.0"]


def test_another_writer_of_the_table_only_makes_the_outlet_look_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path, UPSERT)
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    with shop.project() as project:
        planned = project.plan().outlet("o")
        target, feed = project.outlets.run(planned).target(), project.views.opened().ask.feed(planned)
        (first,) = feed.after(target.open())
        table(shop).delete("card = 'nobody'")
        table(shop).alter.add_constraint({"positive": "spent > 0"})
        target.deliver(first, lambda refused: None)
    assert spent(shop) == [("a", "1.00"), ("b", "1.00")]


def test_a_column_that_a_later_version_has_is_added(tmp_path: Path) -> None:
    shop = Shop(tmp_path, UPSERT)
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    assert send(shop) is None
    shop.declare(UPSERT, view=SPEND.replace("AS spent", "AS spent, count(*) AS n"))
    shop.write(0, [row("a", "1.00") | {"n": 7}], version=2)
    assert send(shop) is None
    (found,) = table(shop).to_pyarrow_table().to_pylist()
    assert (found["card"], found["n"]) == ("a", 7)


def test_changes_from_a_version_with_other_columns_are_appended(tmp_path: Path) -> None:
    shop = Shop(tmp_path, CHANGE)
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    assert send(shop) is None
    shop.declare(CHANGE, view=SPEND.replace("AS spent", "AS spent, count(*) AS n"))
    shop.write(0, [row("a", "1.00") | {"n": 7}], version=2)
    assert send(shop) is None
    found = table(shop).to_pyarrow_table().sort_by("id").to_pylist()
    assert [(one["id"], one["op"], one["after"] and one["after"]["n"]) for one in found] == [
        ("1.0.0", "insert", None),
        ("1.0.1", "insert", None),
        ("2.0.0", "delete", None),
        ("2.0.1", "update", 7),
    ]


def test_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    shop = Shop(tmp_path, UPSERT)
    shop.write(0, [row("a", "1.00")])
    assert send(shop) is None
    shop.declare(UPSERT.replace("OUTLET o", "OUTLET p"), view=SPEND.replace("sum(amount)", "count(*)"))
    with shop.project() as project:
        (sent,) = project.send("p")
    assert isinstance(sent.error, TargetDenied)
    assert '"spent" of another type' in sent.error.summary


def test_rows_that_a_rebuilt_view_no_longer_has_are_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path, ROWS, options="WITH (emit = 'final')")
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    assert send(shop) is None
    shop.write(0, [row("b", "1.00"), row("c", "1.00")], version=2)
    assert send(shop) is None
    assert [card for card, _ in spent(shop)] == ["a", "b", "c"]
    with shop.project() as project:
        (letter,) = project.dead("o").to_pylist()
    assert (letter["error"], b'"card":"a"' in letter["bytes"]) == ("row-withdrawn", True)
