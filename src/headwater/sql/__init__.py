"""The language: text to model and back, and the trees of queries for the planner."""

from headwater.sql.declarations import Parsed, parse_declarations, undescribed
from headwater.sql.dialect import Headwater
from headwater.sql.intake_options import OptionKind
from headwater.sql.interval import interval, months, spell_interval
from headwater.sql.options import OPTIONS
from headwater.sql.query import (
    canonical,
    origin_at,
    origin_of,
    parse_column,
    parse_expression,
    parse_query,
    parse_type,
    read_query,
)
from headwater.sql.render import render
from headwater.sql.shapes import WINDOW_COLUMNS, WindowCall, as_of, known_at, late_view, pattern_of, window_of
from headwater.sql.spelling import spell, spell_name, spell_text
from headwater.sql.translation import ROWTIME, translations, with_times
from headwater.sql.types import arrow_type, cast, sqlglot_type

__all__ = [
    "OPTIONS", "ROWTIME", "WINDOW_COLUMNS", "Headwater", "OptionKind", "Parsed", "WindowCall", "arrow_type", "as_of",
    "canonical", "cast", "interval", "known_at", "late_view", "months", "origin_at", "origin_of", "parse_column",
    "parse_declarations", "parse_expression", "parse_query", "parse_type", "pattern_of", "read_query", "render",
    "spell", "spell_interval", "spell_name", "spell_text", "sqlglot_type", "translations", "undescribed",
    "window_of", "with_times",
]  # fmt: skip
