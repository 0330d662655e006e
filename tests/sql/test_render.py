from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from headwater import errors, model
from headwater.sql import parse_declarations, render
from tests.sql.models import declarations


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(declarations())
def test_a_rendered_declaration_reads_back_as_itself(declaration: model.Declaration) -> None:
    text = render(declaration)
    parsed = parse_declarations(text, "rendered.sql")
    assert (parsed.findings, parsed.declarations) == ((), (declaration,)), text


def test_a_stream_is_rendered_with_what_differs_from_the_defaults() -> None:
    text = """create stream `orders` (
        id string not null comment 'of the shop', at timestamp, watermark for at as at - interval 5 seconds)
      with (unique = 'ID', max_ahead = 'none', idle = '90s')"""
    (stream,) = parse_declarations(text, "a.sql").declarations
    assert render(stream) == (
        "CREATE STREAM orders (\n"
        "  id STRING NOT NULL COMMENT 'of the shop',\n"
        "  at TIMESTAMP,\n"
        "  WATERMARK FOR at AS at - INTERVAL '5' SECOND\n"
        ")\n"
        "WITH (unique = 'id', idle = '1 minute 30 seconds', max_ahead = 'none')"
    )


def test_a_view_in_python_has_no_text() -> None:
    query = model.PythonQuery("m", "f", "def f(a): return a", ("a",), (), lambda a: a)
    with pytest.raises(errors.ArgumentRefused, match='view "v" is written in Python'):
        render(model.View(name="v", query=query))
