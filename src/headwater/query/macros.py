"""Macros for what Spark's SQL has and DuckDB's hasn't: texts of queries call them, and no statement can name one."""

from __future__ import annotations

LONGEST_TEXT = 262_144
"""The length that a text of a query may come to: DuckDB doesn't count texts as memory while it makes them.

What would make a longer one is refused by the argument of the function: DuckDB computes constants before it looks
whether they are wanted.
"""
_SIMPLE_UPPER = "".join(
    chr(code) for code in range(128, 0x11000) if not 0xD800 <= code < 0xE000 and len(chr(code).upper()) > 1
)
"""Letters whose capital is more than one letter: Java writes SS for ß, DuckDB leaves it."""
_SIMPLE_LOWER = "İΣ"
"""Letters whose small form depends on what is around them, or is more than one letter."""

MACROS = f"""
CREATE MACRO hw_refuse(told) AS error('headwater: ' || told);
CREATE MACRO hw_divisor(x) AS CASE WHEN x = 0 THEN hw_refuse('a division by zero') ELSE x END;
CREATE MACRO hw_nearest(upper, lower) AS
  CASE WHEN (upper < 0) = (lower < 0) THEN 1 ELSE -1 END * ((abs(upper) + abs(lower) // 2) // abs(lower));
CREATE MACRO hw_floor_div(x, y) AS (x - ((x % y) + y) % y) // y;
CREATE MACRO hw_read(x, pattern, told) AS
  CASE WHEN x IS NULL OR regexp_matches(x, pattern) THEN trim(x) ELSE hw_refuse(told || x) END;
CREATE MACRO hw_try_read(x, pattern, told) AS CASE WHEN regexp_matches(x, pattern) THEN trim(x) END;
CREATE MACRO hw_try_boolean(x) AS CASE
  WHEN lower(trim(x)) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE
  WHEN lower(trim(x)) IN ('f', 'false', 'n', 'no', '0') THEN FALSE END;
CREATE MACRO hw_boolean(x) AS CASE
  WHEN x IS NULL THEN NULL
  WHEN lower(trim(x)) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE
  WHEN lower(trim(x)) IN ('f', 'false', 'n', 'no', '0') THEN FALSE
  ELSE CAST(hw_refuse('a text is neither true nor false: ' || x) AS BOOLEAN) END;
CREATE MACRO hw_float_text(x) AS CASE
  WHEN x IS NULL THEN NULL WHEN isnan(x) THEN 'NaN'
  WHEN isinf(x) THEN CASE WHEN x > 0 THEN 'Infinity' ELSE '-Infinity' END
  WHEN x = 0 OR (abs(x) >= 0.001 AND abs(x) < 10000000) THEN CAST(x AS VARCHAR)
  ELSE hw_refuse('a number below 0.001 or from 10,000,000 on that is no DECIMAL has no text in a query') END;
CREATE MACRO hw_text(x) AS
  CASE WHEN strlen(x) > {LONGEST_TEXT} THEN hw_refuse('a text of more than {LONGEST_TEXT:,} bytes') ELSE x END;
CREATE MACRO hw_repeat(x, n) AS repeat(x, CASE
  WHEN n <= 0 THEN 0
  WHEN strlen(x) * CAST(n AS BIGINT) > {LONGEST_TEXT}
  THEN CAST(hw_refuse('a text of more than {LONGEST_TEXT:,} bytes') AS INTEGER)
  ELSE n END);
CREATE MACRO hw_replace(x, part, other) AS hw_text(replace(
  CASE WHEN strlen(x) * greatest(strlen(other), 1) > {2**26} THEN hw_refuse('a text that is too long') ELSE x END,
  part, other));
CREATE MACRO hw_upper(x) AS
  CASE WHEN regexp_matches(x, '[{_SIMPLE_UPPER}]')
  THEN hw_refuse('a letter that has no capital of one letter: ' || x) ELSE upper(x) END;
CREATE MACRO hw_lower(x) AS
  CASE WHEN regexp_matches(x, '[{_SIMPLE_LOWER}]')
  THEN hw_refuse('a capital whose small letter depends on its place: ' || x) ELSE lower(x) END;
CREATE MACRO hw_item(items, place) AS CASE
  WHEN place < 0 OR place >= len(items) THEN hw_refuse('an array has no item ' || place)
  ELSE items[place + 1] END;
CREATE MACRO hw_element(items, place) AS CASE
  WHEN place = 0 OR abs(place) > len(items) THEN hw_refuse('an array has no element ' || place)
  ELSE items[place] END;
CREATE MACRO hw_substring(x, start, count) AS CASE
  WHEN count <= 0 THEN CASE WHEN x IS NULL OR start IS NULL THEN NULL ELSE '' END
  WHEN start > 0 THEN substring(x, start, count)
  WHEN start = 0 THEN substring(x, 1, count)
  WHEN length(x) + start >= 0 THEN substring(x, length(x) + start + 1, count)
  ELSE substring(x, 1, greatest(length(x) + start + count, 0)) END;
CREATE MACRO hw_contains(items, x) AS
  CASE WHEN items IS NULL OR x IS NULL THEN NULL WHEN list_contains(items, x) THEN TRUE
  WHEN list_count(items) < len(items) THEN NULL ELSE FALSE END;
"""
