"""The description of a version in Redis, beside its rows: who made it and of what columns, as JSON."""

from __future__ import annotations

import base64
import json

from headwater.model import Emit
from headwater.store.columns import read_columns, spell_columns
from headwater.store.protocol import Target
from headwater.store.redis.rows import Layout


def describe(target: Target, fingerprint: str, layout: Layout) -> str:
    """A version as text; the same target, plan and layout give the same."""
    told = {
        "fingerprint": fingerprint,
        "columns": base64.b64encode(spell_columns(target.columns)).decode(),
        "key": target.key,
        "emit": target.emit.value,
        "layout": [layout.kind, layout.score, *layout.group],
    }
    return json.dumps(told, sort_keys=True)


def read_description(view: str, version: int, text: str) -> tuple[Target, str]:
    """The target that a text describes, and the fingerprint of its plan."""
    told = json.loads(text)
    columns = read_columns(base64.b64decode(told["columns"]))
    return Target(view, version, columns, tuple(told["key"]), Emit(told["emit"])), told["fingerprint"]
