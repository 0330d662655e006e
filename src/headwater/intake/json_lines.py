"""JSON lines: one object per line, read by Arrow's reader a block at a time.

Arrow's reader doesn't know lines: it reads values until the text ends. A block is given to it only if every line in it
starts with `{` and ends with `}`; since no JSON value has `}` before `{` inside it, a value can't reach over the end of
such a line, so a block that gives as many rows as it has lines gives exactly one row for each. Kept away from it is
what it reads otherwise than JSON says: a NUL (it stops there), `null` after an object (it crashes), spellings of NaN
and infinity that only it knows.

A block that it refuses is read again in pieces. The few lines that are left over are read one by one, exactly, by the
*careful* reader, which also takes what Arrow's can't: maps, and integers written as `1.0`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import MissingValue, UnreadableEvent
from headwater.intake.convert import convert
from headwater.intake.converted import Converted
from headwater.intake.dead import Letter
from headwater.intake.layout import Layout
from headwater.intake.learned import Block, LearningReader, count_strange
from headwater.intake.lines import LineOriginals, Lines, examine, read_in_pieces, split
from headwater.intake.messages import Messages
from headwater.intake.parsed import Parsed, Part, merge
from headwater.intake.rows import read_mappings
from headwater.intake.unknown import Unknown
from headwater.intake.values import TWICE
from headwater.json_text import Number, depth_of
from headwater.model import INSTANT
from headwater.model.decimals import MOST_DIGITS

DEEPEST = 100
"""The most levels of objects and arrays that an event may have."""

_FEW = 32
"""For so few lines setting up Arrow's reader costs more than reading them one by one."""

_ODDITIES: tuple[tuple[Callable[[bytes], object], str], ...] = (
    (re.compile(rb"\}[ \t\r\n]*n").search, r"\}[ \t\r\n]*n"),
    (lambda block: b"Inf" in block or b"-NaN" in block, "Inf|-NaN"),
    (lambda block: b"\0" in block, r"\x00"),
)
"""Oddities that Arrow's reader reads otherwise than JSON says: a quick look at a block, and the lines meant by it."""

_ODD_NUMBER = "|".join([
    r'[:\[,\s]-?[0-9.]+(?:[0-9.]{27}|[eE])',
    r'[:\[,\s]"[+-]?[0-9.]+(?:[0-9.]{27,}|[eE][+-]?[0-9]+)"',
    r"\\u00(?:2[bBdDeE]|3[0-9]|[46]5)",
])  # fmt: skip
"""A number, or a string that is one, with an exponent or of more than 28 characters; or a part of one that is escaped.
Where there are decimals, Arrow's reader can't be trusted with it: exponents may crash it, and many digits wrap around.
"""
_NARROW_SCALE = 10
"""Up to this scale 28 digits before the point have room in 38; a decimal of a higher one is read as a wider one."""
_NAMES = {list: "an array", str: "a string", Number: "a number", bool: "a boolean", type(None): "null"}


def examine_messages(messages: Messages, where: str, trim: Callable[[Lines], Lines]) -> tuple[Lines, list[Letter]]:
    """The messages as texts, trimmed, and a letter for each that is poison, too large, not UTF-8, or then empty."""
    examined, letters = examine(messages.values, where, messages.offsets, "message", messages.originals)
    lines = trim(examined)
    absent = pc.or_(messages.values.is_null(), pc.equal(lines.texts, "").fill_null(False))
    letters += [lines.letter(index, why.error, why.reason) for index, why in messages.poison.items()]
    missing = [index for index in pc.indices_nonzero(absent).to_pylist() if index not in messages.poison]
    return lines, letters + [lines.refuse(index, MissingValue, "has no value") for index in missing]


@dataclass(frozen=True)
class JsonOriginals(LineOriginals):
    """The lines of JSON that rows were read from."""

    def value(self, row: int, name: str) -> Any:
        """The value under that name, as the careful reader sees it."""
        return parse(self.lines.texts[self.index(row)].as_py()).get(name)


class JsonLines:
    """Reads blocks of JSON lines for one topic."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        kept = None if layout.kept_in is None else layout.names[layout.kept_in]
        wires = {name: wire_type(kind) for name, kind in self._pairs() if name != kept}
        self._reader = None if None in wires.values() else LearningReader(pa.schema(list(wires.items())))
        self._has_decimals = any(map(_has_decimals, layout.kinds))
        self._names = frozenset(layout.names)

    def read(self, block: bytes, where: str, first: int) -> Parsed:
        """The rows of a block, and letters for the lines that aren't rows."""
        examined, letters = examine(split(block), where, first)
        lines = examined.trimmed()
        whole, refused = self._read(lines, block)
        return Parsed(whole.columns, JsonOriginals(lines, whole.lines), letters + refused, unknown=whole.unknown)

    def read_messages(self, messages: Messages, where: str) -> Parsed:
        """The rows of messages, each one text that may hold newlines, and letters for all others, empty ones too."""
        lines, letters = examine_messages(messages, where, Lines.trimmed)
        whole, refused = self._read(lines, messages.content)
        columns = list(whole.columns)
        for name, values in messages.beside.items():
            columns[self._layout.names.index(name)] = Converted(values.take(whole.lines))
        return Parsed(columns, JsonOriginals(lines, whole.lines), letters + refused, unknown=whole.unknown)

    def _read(self, lines: Lines, block: bytes) -> tuple[Part, list[Letter]]:
        """The rows of lines that stand in a block, and letters for those that aren't rows; blank ones are neither."""
        sound = self._sound(block, lines)
        trusted = pc.indices_nonzero(sound)
        parts, doubtful = self._fast(lines, trusted)
        odd = pc.indices_nonzero(pc.and_not(lines.present(), sound)).to_pylist()
        careful, refused = self._careful(lines, sorted([*odd, *doubtful]))
        return merge([*parts, careful] if len(careful.lines) or not parts else parts), refused

    def _sound(self, block: bytes, lines: Lines) -> pa.Array:
        """A mask of the lines that Arrow's reader can be trusted with."""
        texts = lines.texts
        if self._reader is None or len(texts) <= _FEW:
            return pa.repeat(False, len(texts))
        sound = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
        for occurs_in, pattern in _ODDITIES:
            if occurs_in(block):
                sound = pc.and_not(sound, pc.match_substring_regex(texts, pattern))
        if self._has_decimals and _has_odd_numbers(block):
            sound = pc.and_not(sound, pc.match_substring_regex(texts, _ODD_NUMBER))
        return pc.and_not(sound, _may_be_deep(texts)).fill_null(False)

    def _fast(self, lines: Lines, trusted: pa.Array) -> tuple[list[Part], list[int]]:
        """The sound lines as Arrow's reader reads them, and the indices of those that it refused."""
        reader = self._reader
        if reader is None or not len(trusted):
            return [], []
        texts = lines.texts if len(trusted) == len(lines.texts) else lines.texts.take(trusted)
        parts, doubtful = [], []
        for start, stop, block in read_in_pieces(len(trusted), lambda a, b: reader.read(texts.slice(a, b - a))):
            indices = trusted.slice(start, stop - start)
            if block is None or (block.strange is None and self._minds_unknown):
                doubtful += indices.to_pylist()
            else:
                plain = self._plain(block) if self._minds_unknown and block.strange else None
                doubtful += [] if plain is None else indices.filter(pc.invert(plain)).to_pylist()
                parts.append(self._part(block, indices, texts.slice(start, stop - start), plain))
        return parts, doubtful

    @property
    def _minds_unknown(self) -> bool:
        """Tells whether lines with unknown fields are looked at one by one."""
        return self._layout.refuses_unknown or self._layout.kept_in is not None

    def _plain(self, block: Block) -> pa.Array:
        """A mask of the lines that have no unknown field."""
        plain = pa.repeat(True, block.table.num_rows)
        for mask in (block.strange or {}).values():
            plain = pc.and_not(plain, mask)
        return plain

    def _part(self, block: Block, indices: pa.Array, texts: pa.Array, plain: pa.Array | None) -> Part:
        table = block.table if plain is None else block.table.filter(plain)
        columns = [
            convert(table[name], kind) if name in table.column_names else Converted(pa.nulls(table.num_rows, kind))
            for name, kind in self._pairs()
        ]
        if plain is not None:
            return Part(columns, indices.filter(plain))
        return Part(columns, indices, Unknown(count_strange(block, texts, self._layout.known)))

    def _careful(self, lines: Lines, indices: Iterable[int]) -> tuple[Part, list[Letter]]:
        rows, kept, letters = [], [], []
        for index in indices:
            row = self._row(lines, index)
            if isinstance(row, Letter):
                letters.append(row)
            else:
                rows.append(row)
                kept.append(index)
        columns, unknown = read_mappings(self._layout, rows, kept)
        return Part(columns, pa.array(kept, pa.uint64()), unknown), letters

    def _row(self, lines: Lines, index: int) -> dict[str, Any] | Letter:
        try:
            row = parse(lines.texts[index].as_py())
        except ValueError as error:
            return lines.refuse(index, UnreadableEvent, str(error))
        twice = sorted(self._names.intersection(row.get(TWICE, ())))
        if twice:
            return lines.refuse(index, UnreadableEvent, f'names column "{twice[0]}" twice')
        return row

    def _pairs(self) -> Iterable[tuple[str, pa.DataType]]:
        return zip(self._layout.names, self._layout.kinds, strict=True)


def _has_decimals(kind: pa.DataType) -> bool:
    inner = [kind.field(at).type for at in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return bool(pa.types.is_decimal(kind)) or any(map(_has_decimals, inner))


def _has_odd_numbers(block: bytes) -> bool:
    has_one: bool = pc.match_substring_regex(pa.array([block], pa.large_binary()), _ODD_NUMBER)[0].as_py()
    return has_one


def _may_be_deep(texts: pa.Array) -> pa.Array:
    """Lines with so many brackets that they could be nested too deeply; a short line can't."""
    long = pc.greater(pc.binary_length(texts), 2 * DEEPEST).fill_null(False)
    if not long.true_count:
        return long
    opened = pc.count_substring_regex(pc.if_else(long, texts, ""), r"[\[{]")
    return pc.greater(opened, DEEPEST).fill_null(False)


@lru_cache(maxsize=1024)
def wire_type(kind: pa.DataType) -> pa.DataType | None:
    """The type that Arrow's JSON reader is asked for, from which `convert` goes on; None if it can't read the type."""
    if pa.types.is_list(kind):
        item = wire_type(kind.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        wires = [(field.name, wire_type(field.type)) for field in kind]
        return None if any(wire is None for _, wire in wires) else pa.struct(wires)
    if pa.types.is_map(kind):
        return None
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_decimal(kind) and kind.scale > _NARROW_SCALE:
        return pa.decimal256(2 * MOST_DIGITS, kind.scale)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or kind == INSTANT:
        return kind
    return pa.string()


def parse(text: str) -> dict[str, Any]:
    """The object that a line spells, its numbers as they were written; ValueError says what is wrong with it.

    >>> parse('{"amount": 12.50}')
    {'amount': '12.50'}
    """
    if len(text) > 2 * DEEPEST and depth_of(text) > DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} levels deep")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise ValueError(f"is not JSON: {reason} at character {error.pos + 1}") from None
    if not isinstance(value, dict):
        raise ValueError(f"is {_NAMES[type(value)]}, not an object")
    return value


def parse_value(text: str) -> Any:
    """Any JSON value; a text that isn't JSON stands for itself, and fits no nested type."""
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return text


def _object(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    fields: dict[Any, Any] = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        fields[TWICE] = {name for name in fields if names.count(name) > 1}
    return fields


_DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_object)
