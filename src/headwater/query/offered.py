"""The words and functions that an editor of statements offers."""

from __future__ import annotations

from headwater.query.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from headwater.query.functions import FUNCTIONS as SCALARS

WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT",
    "IN", "IS NULL", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "AS", "DISTINCT", "DESC", "WITH",
    "UNION ALL",
)  # fmt: skip
FUNCTIONS = tuple(sorted({*AGGREGATES, *SCALARS, *WINDOW_FUNCTIONS}))
"""Functions that a query may call."""
