"""An ARRAY of plain values as an array of PostgreSQL's: written and read as its literals, `{1,NULL,"two words"}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.unfit import Unfit

_ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
Texts = Callable[[pa.Array], pa.Array]


def can_be_array(kind: pa.DataType) -> bool:
    """Tells whether a type is an ARRAY of values that PostgreSQL has arrays of, as one has them."""
    if not pa.types.is_list(kind):
        return False
    inner = kind.value_type
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_string)
    timed = (pa.types.is_binary, pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return any(is_kind(inner) for is_kind in (*plain, *timed))


def encode(spell: Texts) -> Texts:
    """Makes literals of arrays whose elements are spelled so."""

    def encoded(array: pa.ListArray) -> pa.Array:
        texts = spell(array.values).cast(pa.string())
        escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
        quoted = pc.binary_join_element_wise('"', escaped, '"', "").fill_null("NULL")
        lists = pa.ListArray.from_arrays(array.offsets, quoted)
        joined = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
        return pc.if_else(array.is_valid(), joined, pa.scalar(None, pa.string()))

    return encoded


def decode(kind: pa.DataType, read: Texts) -> Texts:
    """Makes arrays of literals whose elements are read so."""

    def decoded(texts: pa.Array) -> pa.Array:
        lists = [None if text is None else list(_elements(text, kind)) for text in texts.to_pylist()]
        values = read(pa.array([element for elements in lists for element in elements or ()], pa.string()))
        ends = accumulate((len(elements or ()) for elements in lists), initial=0)
        missing = pa.array([elements is None for elements in lists], pa.bool_())
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, type=kind, mask=missing)

    return decoded


def _elements(text: str, kind: pa.DataType) -> Iterator[str | None]:
    if not (text.startswith("{") and text.endswith("}")):
        raise Unfit(kind)
    for match in _ELEMENT.finditer(text[1:-1]):
        quoted, plain = match.groups()
        if quoted is not None:
            yield _ESCAPED.sub(r"\1", quoted)
        else:
            yield None if plain == "NULL" else plain
