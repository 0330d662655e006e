"""Constants that a function takes only in a range, from a list of words, or as a pattern.

Spark looks at most of them when a query runs. Here they are looked at when it is checked, as far as they are written
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from headwater.plan.spark_type import SparkType
from headwater.plan.typing import patterns
from headwater.plan.typing.call import Call, Refused

Judge = Callable[[Call, int], None]
"""Raises `Refused` if the argument at a position is written out and can't be taken."""


@dataclass(frozen=True)
class Range:
    """The numbers that an argument may be; each of several, if it is an array."""

    least: float
    most: float | None = None
    but: float | None = None

    def __call__(self, call: Call, position: int) -> None:
        for number in _numbers(call.arguments[position]):
            if number is None or not self._takes(number):
                written = "NULL" if number is None else f"{number:g}"
                raise Refused(
                    f"Its argument {position + 1} is {written}, and must be {self}.", f"Write {self._example}."
                )

    def _takes(self, number: float) -> bool:
        return number >= self.least and (self.most is None or number <= self.most) and number != self.but

    def __str__(self) -> str:
        if self.but is not None:
            return f"another number than {self.but:g}"
        if self.most is None:
            return f"{self.least:g} or more"
        return f"from {self.least:g} to {self.most:.10g}"

    @property
    def _example(self) -> str:
        return "a position from 1 on, or from -1 back" if self.but is not None else f"a number that is {self}"


@dataclass(frozen=True)
class Words:
    """The words that an argument may be, in upper or lower case."""

    words: tuple[str, ...]

    def __call__(self, call: Call, position: int) -> None:
        text = call.text(position)
        if text is None or text.lower() in map(str.lower, self.words):
            return
        listed = ", ".join(f"'{word}'" for word in self.words)
        raise Refused(f"Its argument {position + 1} is '{text}', which it doesn't know.", f"Write one of {listed}.")


def _pattern(judge: Callable[[str], str | None], hint: str) -> Judge:
    def judged(call: Call, position: int) -> None:
        text = call.text(position)
        if text is not None and (why := judge(text)) is not None:
            raise Refused(f"Its argument {position + 1} is '{text}'. {why}", hint)

    return judged


def check_constants(call: Call) -> None:
    """Raise `Refused` for a constant that the function of a call doesn't take."""
    for position, judge in _JUDGES.get(call.name, {}).items():
        places = range(-position, len(call.arguments)) if position < 0 else (position,)
        for place in places:
            if place < len(call.arguments):
                judge(call, place)


def check_pattern(pattern: str) -> None:
    """Raise `Refused` for a text that is no regular expression."""
    if (why := patterns.of_regex(pattern)) is not None:
        raise Refused(why, _OF_JAVA)


def check_like(pattern: str, escape: str) -> None:
    """Raise `Refused` for a pattern of LIKE in which nothing that can be escaped stands behind the escape."""
    if len(escape) != 1:
        raise Refused("What escapes is one character.", "Write ESCAPE and one character.")
    if (why := patterns.of_like(pattern, escape)) is not None:
        raise Refused(why, f"Write {escape * 2} for the character itself.")


def check_collation(name: str) -> None:
    """Raise `Refused` for a collation that Spark doesn't have."""
    if not _COLLATION.fullmatch(name):
        known = "Write UTF8_BINARY, UTF8_LCASE, UNICODE, UNICODE_CI, or a language like de or en_CI."
        raise Refused(f"There is no collation {name}.", known)


_COLLATION = re.compile(
    r"(utf8_binary|utf8_lcase|unicode|[a-z]{2,3}(_[a-z]{4})?(_[a-z]{3})?)(_(ci|cs|ai|as|rtrim))*", re.IGNORECASE
)


def _numbers(node: exp.Expr) -> Iterator[float | None]:
    """The numbers that a node spells, None for NULL; nothing if it is computed."""
    if isinstance(node, exp.Null):
        yield None
    elif isinstance(node, exp.Neg):
        yield from (-number for number in _numbers(node.this) if number is not None)
    elif isinstance(node, exp.Paren | exp.Cast):
        yield from _numbers(node.this)
    elif isinstance(node, exp.Literal) and not node.is_string:
        yield float(node.this)
    elif isinstance(node, exp.Array) or (isinstance(node, exp.Anonymous) and node.name.lower() == "array"):
        for part in node.expressions:
            yield from _numbers(part)


def _of_character(call: Call, position: int) -> None:
    """An escape, or what masks a character, is one character."""
    text = call.text(position)
    if text is not None and len(text) != 1:
        raise Refused(f"Its argument {position + 1} is '{text}', and must be one character.", "Write one character.")


def _of_bits(call: Call, position: int) -> None:
    bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}.get(call.kinds[0].name)
    if bits is not None:
        Range(0, bits - 1)(call, position)


def _of_index(call: Call, position: int) -> None:
    if call.types[0].name == "array":
        _NOT_ZERO(call, position)


def _of_choice(call: Call, position: int) -> None:
    Range(1, len(call.arguments) - 1)(call, position)


def _of_charset(call: Call, position: int) -> None:
    if len(call.arguments) == 2:
        _CHARSETS(call, position)


def _of_group(call: Call, position: int) -> None:
    """The group that is asked for must be in the regular expression; without an argument it is the first."""
    pattern = call.text(1)
    asked = call.number(2) if len(call.arguments) > 2 else 1
    groups = patterns.groups_of(pattern) if pattern is not None else 0
    if pattern is None or asked is None or 0 <= asked <= groups:
        return
    del position
    has = "no group" if not groups else f"{groups} groups" if groups > 1 else "one group"
    hint = "Write ( ) around the part that is meant, or 0 for all that matches."
    raise Refused(f"It asks for group {asked}, and '{pattern}' has {has}.", hint)


def _of_replacement(call: Call, position: int) -> None:
    pattern, text = call.text(1), call.text(position)
    if pattern is None or text is None:
        return
    asked = [int(digit) for digit in re.findall(r"\$(\d)", re.sub(r"\\.", "", text))]
    if asked and max(asked) > patterns.groups_of(pattern):
        hint = "Write ( ) around the part that is meant, or \\\\$ for a dollar sign."
        raise Refused(f"It puts group {max(asked)} in, which '{pattern}' doesn't have.", hint)


def _of_char(call: Call, position: int) -> None:
    """The pattern that to_char prints a value by depends on what it is."""
    kind = call.types[0]
    if kind.is_numeric:
        _NUMBER(call, position)
    elif kind.name in ("date", "timestamp", "timestamp_ntz"):
        _PRINTED(call, position)
    elif kind.name == "binary":
        Words(("base64", "hex", "utf-8"))(call, position)


def _of_print(call: Call, position: int) -> None:
    pattern = call.text(position)
    kinds = [_printed_kind(kind) for kind in call.types[1:]]
    if pattern is not None and (why := patterns.of_print(pattern, kinds)) is not None:
        raise Refused(f"Its format is '{pattern}'. {why}", "Write %s for texts, %d for whole numbers, %f for doubles.")


def _printed_kind(kind: SparkType) -> str:
    if kind.is_integral:
        return "whole"
    known = {"double": "floating", "float": "floating", "string": "text", "decimal": "decimal"}
    return known.get(kind.name.partition("(")[0], "another")


def _of_zones(call: Call, _position: int) -> None:
    for place in range(len(call.arguments) - 1):
        _ZONE(call, place)


def _of_step(call: Call, position: int) -> None:
    if call.number(position) == 0:
        raise Refused("Its step is 0, so that it would never end.", "Write a step like 1 or -1.")


def _of_top(call: Call, position: int) -> None:
    tracked_at_most = len(call.arguments) > 2 or call.name != "approx_top_k"
    Range(1, _MOST_TRACKED if tracked_at_most else _TRACKED)(call, position)
    most, tracked = call.number(1), call.number(position)
    if position == 2 and most is not None and tracked is not None and tracked < most:
        raise Refused(f"It tracks {tracked} items, and shows {most}.", f"Track {most} or more.")


def _of_start(call: Call, position: int) -> None:
    """The place from which a pattern is looked for; PostgreSQL has flags there."""
    text = call.text(position)
    if text is not None and not text.strip().isdigit():
        raise Refused(
            f"Its argument {position + 1} is the position to begin at, and no flags.",
            "Leave it out: every match is replaced, and (?i) at the start of the pattern ignores case.",
        )
    _POSITIVE(call, position)


_TRACKED, _MOST_TRACKED = 10_000, 1_000_000
"""The number of items that approx_top_k tracks where nothing is said, and at most."""
_NOT_ZERO, _SHARE, _POSITIVE = Range(-float("inf"), but=0), Range(0, 1), Range(1)
_ENTRIES, _SIZE = Range(4, 26), Range(8, 65535)
_MODES = Words(("sum", "min", "max", "alwaysone"))
_CHARSETS = Words(("UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "ISO-8859-1", "US-ASCII"))
_TIME_UNITS = Words(("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS = Words((*_WEEKDAYS, *(day[:3] for day in _WEEKDAYS), *(day[:2] for day in _WEEKDAYS)))
_HASHES = Words(("MD5", *(f"SHA{dash}{size}" for dash in ("", "-") for size in (1, 224, 256, 384, 512))))
_ZONE = _pattern(patterns.of_zone, "Write a name like 'Europe/Berlin', or an offset like '+01:00'.")
_OF_JAVA = r"Write a regular expression of Java: a character that has a meaning in it stands behind \\."
_REGEX = _pattern(patterns.of_regex, _OF_JAVA)
_NUMBER = _pattern(patterns.of_number, "Write a format like '999,990.00'.")
_FORM = "Write a pattern like 'yyyy-MM-dd HH:mm:ss'; text stands in quotes: \"yyyy-MM-dd'T'HH:mm\"."
_PRINTED = _pattern(lambda text: patterns.of_times(text, printed=True), _FORM)
_READ = _pattern(lambda text: patterns.of_times(text, printed=False), _FORM)
_PATH = _pattern(patterns.of_path, "Write a path like '$.a[0]'.")

_TABLE: dict[str, dict[int, Judge]] = {
    "approx_count_distinct": {1: Range(0.001, 0.39)},
    "approx_percentile percentile_approx": {1: _SHARE, 2: Range(1, 2**31 - 1)},
    "percentile": {1: _SHARE, 2: Range(0)},
    "percentile_cont percentile_disc": {0: _SHARE},
    "kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float": {1: _SHARE},
    "kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float": {1: _SIZE},
    "kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float": {1: _SIZE},
    "hll_sketch_agg": {1: Range(4, 21)},
    "theta_sketch_agg theta_union_agg": {1: _ENTRIES},
    "theta_union": {2: _ENTRIES},
    "tuple_sketch_agg_double tuple_sketch_agg_integer": {2: _ENTRIES, 3: _MODES},
    "tuple_union_agg_double tuple_union_agg_integer": {1: _ENTRIES, 2: _MODES},
    "tuple_union_double tuple_union_integer tuple_union_theta_double tuple_union_theta_integer":
        {2: _ENTRIES, 3: _MODES},
    "tuple_intersection_agg_double tuple_intersection_agg_integer": {1: _MODES},
    "tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double": {2: _MODES},
    "tuple_intersection_theta_integer": {2: _MODES},
    "tuple_sketch_summary_double tuple_sketch_summary_integer": {1: _MODES},
    "histogram_numeric": {1: Range(2)},
    "max_by min_by": {2: Range(1, 100_000)},
    "approx_top_k": {1: _of_top, 2: _of_top},
    "approx_top_k_accumulate": {1: _of_top},
    "approx_top_k_estimate": {1: _POSITIVE},
    "nth_value": {1: _POSITIVE},
    "ntile": {0: _POSITIVE},
    "instr": {3: _POSITIVE},
    "split_part": {2: _NOT_ZERO},
    "element_at try_element_at": {1: _of_index},
    "array_insert": {1: _NOT_ZERO},
    "slice": {1: _NOT_ZERO, 2: Range(0)},
    "bit_get getbit": {1: _of_bits},
    "elt": {0: _of_choice},
    "mask": {-1: _of_character},
    "encode decode": {1: _of_charset},
    "to_binary": {1: Words(("hex", "utf-8", "utf8", "base64"))},
    "to_number try_to_number": {1: _NUMBER},
    "to_char to_varchar": {1: _of_char},
    "format_string printf": {0: _of_print},
    "aes_decrypt aes_encrypt":
        {2: Words(("ECB", "CBC", "GCM")), 3: Words(("DEFAULT", "NONE", "PKCS"))},
    "hmac": {2: _HASHES},
    "next_day": {1: _DAYS},
    "time_trunc time_diff": {0: _TIME_UNITS},
    "from_utc_timestamp to_utc_timestamp": {1: _ZONE},
    "convert_timezone": {0: _of_zones},
    "vector_norm vector_normalize": {1: Range(1, 2)},
    "sequence": {2: _of_step},
    "make_timestamp make_timestamp_ltz": {6: _ZONE},
    "date_format from_unixtime": {1: _PRINTED},
    "to_date to_timestamp to_timestamp_ltz to_timestamp_ntz try_to_date try_to_timestamp": {1: _READ},
    "unix_timestamp to_unix_timestamp": {1: _READ},
    "rlike regexp regexp_like regexp_count regexp_instr regexp_substr split": {1: _REGEX},
    "regexp_extract regexp_extract_all": {1: _REGEX, 0: _of_group},
    "regexp_replace": {1: _REGEX, 2: _of_replacement, 3: _of_start},
    "str_to_map": {1: _REGEX, 2: _REGEX},
    "variant_get variant_set variant_insert variant_array_append": {1: _PATH},
    "try_variant_get try_variant_set try_variant_insert try_variant_array_append": {1: _PATH},
    "variant_delete": {-1: _PATH},
    "collate": {1: lambda call, position: check_collation(call.text(position) or "unicode")},
}  # fmt: skip
"""The demands on the arguments of functions, by their positions; -1 is the second and all behind it."""
_JUDGES = {name: judges for names, judges in _TABLE.items() for name in names.split()}
