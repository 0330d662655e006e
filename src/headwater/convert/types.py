"""Types of other systems in our spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headwater import model
from headwater.errors import HeadwaterError
from headwater.sql import parse_type, spell, sqlglot_type

SHARED: Mapping[str, str] = {
    r"CHARACTER VARYING|NVARCHAR|CLOB|TEXT|UUID|JSONB?|CITEXT|INET": "STRING",
    r"TIMESTAMPTZ|TIMESTAMP\s*(\(\d\))?\s*WITH(OUT)?\s+(LOCAL\s+)?TIME\s+ZONE|DATETIME": "TIMESTAMP",
    r"BYTEA|BLOB": "BINARY",
    r"DOUBLE PRECISION|FLOAT8": "DOUBLE",
    r"FLOAT4": "FLOAT",
    r"INT8|SERIAL8|BIGSERIAL|UINT4": "BIGINT",
    r"INT4|UINT2": "INT",
    r"INT2": "SMALLINT",
    r"BOOL": "BOOLEAN",
    r"(NUMERIC|DECIMAL|DEC)(?!\s*\()": "DECIMAL(38, 10)",
}
"""Names of types, as patterns, and ours. A number without sizes has as many digits as it wants with most of them."""


def read_type(text: str) -> tuple[str, list[str]]:
    """A type in our spelling, and notes about what it isn't any more. STRING for one that nothing is like.

    >>> read_type("character varying(20)[]"), read_type("timestamptz")
    (('ARRAY<STRING>', []), ('TIMESTAMP', []))
    """
    written = " ".join(text.split())
    arrays = 0
    while written.endswith("[]"):
        written, arrays = written[:-2].strip(), arrays + 1
    for pattern, ours in SHARED.items():
        written = re.sub(
            rf"\b({pattern})\b(?![\w'])(\s*\(\d+\)(?=[\s,>)]|$))?" if ours == "STRING" else rf"\b({pattern})(?!\w)",
            ours,
            written,
            flags=re.IGNORECASE,
        )
    written = re.sub(r"\bMAP\s*\((.*)\)$", r"MAP<\1>", written, flags=re.IGNORECASE)
    written = f"{'ARRAY<' * arrays}{written}{'>' * arrays}"
    notes = []
    if "DECIMAL(38, 10)" in written and "DECIMAL(38, 10)" not in text:
        notes.append(f"{text} without sizes is DECIMAL(38, 10) here: write the digits that it needs.")
    try:
        kind = parse_type(written)
        if model.can_be_logged(kind):
            return spell(sqlglot_type(kind)), notes
        reason = "the log can't keep it"
    except (HeadwaterError, ValueError):
        reason = "there is no such type here"
    return "STRING", [f"{text} is a STRING here, since {reason}: convert it in a view."]
