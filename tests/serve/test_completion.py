"""The names that the editor offers."""

from __future__ import annotations

from headwater.serve.dashboard.completion import options_of


def test_tables_come_first_and_columns_with_their_types() -> None:
    found = options_of({"Spend": [("card", "string"), ("n", "int64")], "top": [("card", "string")]})
    assert found["tables"]["spend"] == [
        {"label": "card", "type": "property", "detail": "string"},
        {"label": "n", "type": "property", "detail": "int64"},
    ]
    labels = [option["label"] for option in found["all"]]
    assert labels[:4] == ["Spend", "top", "card", "n"]
    assert {"sum", "GROUP BY"} <= set(labels)
