"""Rows as JSON, keys as JSON, and what each layout shows beside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ArgumentRefused
from headwater.model import Column, Emit, is_number
from headwater.store import instants, nested
from headwater.store.fit import fitted, whole, without_nulls
from headwater.store.protocol import Batch, Target
from headwater.store.refusals import only_added

Triple = tuple[str, str, str]
"""A key, its row, or nothing to delete it, and what the layout needs beside."""


@dataclass(frozen=True)
class Layout:
    """The way rows are shown. A sorted set needs the column of its `score`; `group` are those columns of the key that
    say which set a row is in, the others are its member. None of the group: one set for all rows.
    """

    kind: str = "json"
    score: str = ""
    group: tuple[str, ...] = ()

    @property
    def needs_more(self) -> bool:
        """Tells whether it needs more than keys and rows."""
        return self.kind in ("hash", "sorted set")

    def check(self, target: Target) -> None:
        """Refuse a target that this layout can't show."""
        if self.kind != "sorted set":
            return
        named = {column.name: column for column in target.columns}
        score = named.get(self.score)
        if score is None or not is_number(score.type):
            raise _refusal(target, f'a sorted set needs a column of numbers for its score, and "{self.score}" is none.')
        if not set(self.group) <= set(target.key) or set(self.group) >= set(target.key):
            listed = ", ".join(target.key) or "no column"
            raise _refusal(target, f"its groups must be a part of the key, which is {listed}, and leave a member.")


def _refusal(target: Target, reason: str) -> ArgumentRefused:
    return ArgumentRefused(
        f'view "{target.view}" can\'t be kept in this layout',
        detail=f"{reason[:1].upper()}{reason[1:]}",
        hint="Correct score and group, of the view or of the store, or choose another layout.",
        view=target.view,
    )


def mode_of(target: Target) -> str:
    """`added` without a key, `final` if a row is written once, else `changes`."""
    return "added" if not target.key else "final" if target.emit is Emit.FINAL else "changes"


def triples_of(layout: Layout, target: Target, batch: Batch) -> list[Triple]:
    """The effect of a batch: deletes first, then upserts."""
    upserts = without_nulls(target, batch, fitted(target, batch.upserts, target.columns))
    keys = keys_of(upserts, target.key_columns, upserts.num_rows)
    written = list(zip(keys, _rows(target, upserts), _beside(layout, target, upserts), strict=True))
    if mode_of(target) == "changes":
        written = list({triple[0]: triple for triple in written}.values())
    if not batch.deletes.num_rows:
        return written
    if mode_of(target) != "changes":
        raise only_added(target, batch)
    deletes, kept = fitted(target, batch.deletes, target.key_columns), set(keys)
    gone = zip(keys_of(deletes, target.key_columns, deletes.num_rows), _beside(layout, target, deletes), strict=True)
    return [*((key, "", beside) for key, beside in gone if key not in kept), *written]


def keys_of(table: pa.Table, columns: Sequence[Column], count: int) -> list[str]:
    """Each row's key as a JSON array; nothing if there is no key.

    >>> keys_of(pa.table({"card": ["a", None], "n": [1, 2]}), (Column("card", pa.string()), Column("n", pa.int64())), 2)
    ['["a",1]', '[null,2]']
    """
    if not columns:
        return [""] * count
    pieces: list[Any] = ["["]
    for column in columns:
        array = whole(table[column.name])
        if pa.types.is_floating(column.type):  # 0.0 and −0.0 are one key
            array = pc.add(array, pa.scalar(0.0, column.type))
        pieces += [_json(array, column.type), ","]
    return _joined(pieces[:-1], "]")


def _rows(target: Target, table: pa.Table) -> list[str]:
    """Each row as a JSON object."""
    pieces, before = list[Any](), "{"
    for column in target.columns:
        pieces += [f"{before}{json.dumps(column.name, ensure_ascii=False)}:"]
        pieces += [_json(whole(table[column.name]), column.type)]
        before = ","
    return _joined(pieces, "}")


def _joined(pieces: list[Any], end: str) -> list[str]:
    texts: list[str] = pc.binary_join_element_wise(*pieces, end, "").to_pylist()
    return texts


def _json(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Each value as JSON, as `nested` spells it; plain values without a look at each."""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return array.cast(pa.string()).fill_null("null")
    quoted = array if pa.types.is_string(kind) and not _has_escapes(array) else None
    if pa.types.is_decimal(kind):
        quoted = array.cast(pa.string())
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        quoted = pa.array(instants.encode(array), pa.string())
    if quoted is not None:
        return pc.binary_join_element_wise('"', quoted, '"', "").fill_null("null")
    return pa.array(nested.encode(array, kind), pa.string()).fill_null("null")


def _has_escapes(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py())


def read_rows(target: Target, rows: list[str | None]) -> pa.Array:
    """The rows that JSON was made of, as structs."""
    return nested.decode(rows, pa.struct(list(target.schema)))


def _beside(layout: Layout, target: Target, table: pa.Table) -> Iterator[str]:
    if layout.kind == "hash":
        return _fields(target, table)
    if layout.kind == "sorted set":
        return _scores(layout, target, table)
    return iter([""] * table.num_rows)


def _fields(target: Target, table: pa.Table) -> Iterator[str]:
    """Names and values, as a JSON array of texts; a NULL has no field, and a row always has one."""
    names = table.column_names
    kinds = {column.name: column.type for column in target.columns}
    columns = [nested.encode(whole(table[name]), kinds[name]) for name in names]
    for row in zip(*columns, strict=True):
        pairs = [
            part for name, text in zip(names, row, strict=True) if text is not None for part in (name, _bare(text))
        ]
        yield json.dumps(pairs or ["", ""])


def _bare(text: str) -> str:
    """A value without the quotes that JSON gives to a text."""
    return str(json.loads(text)) if text.startswith('"') else text


def _scores(layout: Layout, target: Target, table: pa.Table) -> Iterator[str]:
    """The group, the member and the score of each row."""
    named = {column.name: column for column in target.columns}
    groups = keys_of(table, [named[name] for name in layout.group], table.num_rows)
    rest = [named[name] for name in target.key if name not in layout.group]
    members = keys_of(table, rest, table.num_rows)
    shown = [_bare(text[1:-1]) for text in members] if len(rest) == 1 else members
    known: list[Any] = table[layout.score].to_pylist() if layout.score in table.column_names else [None] * len(groups)
    for group, member, score in zip(groups, shown, known, strict=True):
        yield json.dumps([group or "[]", member, "" if score is None or score != score else f"{float(score)!r}"])
