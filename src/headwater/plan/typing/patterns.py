"""Patterns that Spark reads when a query runs: of times, of texts, of what is printed.

Each function here gives the reason why Spark refuses a pattern, as a sentence, and None where it takes it or nobody can
tell before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from zoneinfo import available_timezones

_COUNTS = {
    **dict.fromkeys("GMLEQq", (1, 2, 3, 4)),
    **dict.fromkeys("dhHkKms", (1, 2)),
    **dict.fromkeys("XxZ", (1, 2, 3, 4, 5)),
    "y": tuple(range(1, 7)), "D": (1, 2, 3), "F": (1,), "a": (1,), "S": tuple(range(1, 10)),
    "V": (2,), "z": (1, 2, 3, 4), "O": (1, 4),
}  # fmt: skip
"""The letters of a pattern of times, and how often each may stand in a row."""
_PRINTED_ONLY = "EFQq"
_OFTEN_MEANT = {"Y": "yyyy is the year", "u": "E is the day of the week", "T": "a T is written 'T'"}
_ZONE = re.compile(r"(Z|(UTC|GMT|UT)?[+-](0?\d|1[0-7])(:?[0-5]\d){0,2}|(UTC|GMT|UT)?[+-]18(:?00){0,2}|UTC|GMT|UT)")
_SHORT_ZONES = "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST"
_SHORT_ZONES += " EST MST HST"
_CONVERSION = re.compile(r"%(?:(?P<place>\d+)\$)?[-#+ 0,(<]*\d*(?:\.\d+)?(?P<kind>[tT]?[a-zA-Z%]|$)?")
_REPEATED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_GROUP = re.compile(r"\?(?:[:=!>]|<[=!]|<[a-zA-Z][a-zA-Z0-9]*>|[a-zA-Z]*(?:-[a-zA-Z]+)?[:)])")


def of_times(pattern: str, *, printed: bool) -> str | None:
    """A pattern that times are `printed` by, or read."""
    plain, depth = re.sub(r"'[^']*'", "", pattern), 0
    if "'" in plain:
        return "A quote in it has no end."
    for match in re.finditer(r"([a-zA-Z])\1*|[{}#\[\]]", plain):
        run, letter = match[0], match[0][0]
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter in "{}#" or depth < 0:
            return f"It has no place for {letter}."
        if letter.isalpha() and letter not in _COUNTS:
            meant = f": {_OFTEN_MEANT[letter]}" if letter in _OFTEN_MEANT else ""
            return f"Spark has no field {run}{meant}."
        if letter.isalpha() and len(run) not in _COUNTS[letter]:
            return f"{run} has another number of letters than Spark takes."
        if letter in _PRINTED_ONLY and not printed:
            return f"{run} can be printed, but not read."
    return None


def of_zone(name: str) -> str | None:
    """The name of a time zone, or an offset."""
    known = name in _SHORT_ZONES.split() or name in _zones() or _ZONE.fullmatch(name)
    return None if known else f"There is no time zone {name!r}."


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def of_regex(pattern: str) -> str | None:
    """A regular expression, as Java reads it."""
    if re.search(r"\(\?[a-zA-Z]*x", pattern):  # in which blanks and comments mean nothing
        return None
    groups, can_repeat, at = 0, False, 0
    while at < len(pattern):
        character, rest = pattern[at], pattern[at:]
        if rest.startswith("\\Q"):
            end = pattern.find("\\E", at)
            at, can_repeat = (end + 2 if end >= 0 else len(pattern)), True
            continue
        step = 1
        if character == "\\":
            if len(rest) == 1:
                return "It ends with a backslash."
            step, can_repeat = 2, True
        elif character == "[":
            length = _class_length(rest)
            if length is None:
                return "A [ in it has no ]."
            step, can_repeat = length, True
        elif character == "(":
            if rest.startswith("(?P<"):
                return "A group's name is written (?<name>…)."
            if rest.startswith("(?") and not _GROUP.match(rest, 1):
                return "What stands behind (? is none of Java's groups."
            groups, can_repeat = groups + 1, False
            flags = re.match(r"\(\?[a-zA-Z]*(-[a-zA-Z]+)?\)", rest)
            opening = _GROUP.match(rest, 1)
            if flags:
                groups, step = groups - 1, len(flags[0])
            elif opening:
                step = 1 + len(opening[0])
        elif character == ")":
            groups, can_repeat = groups - 1, True
            if groups < 0:
                return "A ) in it has no (."
        elif character in "*+?{":
            length = _repetition(rest)
            if not can_repeat or length is None:
                return f"There is nothing that {character} could repeat." if not can_repeat else "A { in it has no end."
            step, can_repeat = length, False
        else:
            can_repeat = character != "|"
        at += step
    return "A ( in it has no )." if groups else None


def _class_length(text: str) -> int | None:
    """The length of [a character class]; None if it has no end."""
    depth, at = 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            depth += 1
            at += 1 if text[at + 1 : at + 2] == "^" else 0
            at += 1 if text[at + 1 : at + 2] == "]" else 0
        elif text[at] == "]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _repetition(text: str) -> int | None:
    """The length of a repetition with what may stand behind it; None if it isn't one."""
    length = 1
    if text[0] == "{":
        repeated = _REPEATED.match(text)
        if repeated is None or (repeated[2] and int(repeated[2]) < int(repeated[1])):
            return None
        length = len(repeated[0])
    return length + (1 if text[length : length + 1] in ("?", "+") and len(text) > length else 0)


def groups_of(pattern: str) -> int:
    """The number of groups of a regular expression that can be asked for."""
    plain = re.sub(r"\\Q.*?(\\E|$)|\\.|\[(?:\\.|[^\]\\])+\]", "", pattern, flags=re.DOTALL)
    return len(re.findall(r"\((?!\?)|\(\?<[a-zA-Z]", plain))


def of_like(pattern: str, escape: str) -> str | None:
    """A pattern of LIKE."""
    at = 0
    while at < len(pattern):
        if pattern[at] == escape:
            behind = pattern[at + 1 : at + 2]
            if not behind or behind not in ("_", "%", escape):
                return f"Behind {escape} there must be _, % or another {escape}."
            at += 1
        at += 1
    return None


def of_path(path: str) -> str | None:
    """A path into a VARIANT."""
    if not path.startswith("$"):
        return "A path begins with $."
    return "A [ in it has no ]." if path.count("[") > path.count("]") else None


def of_number(pattern: str) -> str | None:
    """A pattern of numbers, as to_number and to_char take it."""
    shape = r"(MI|S)?L?\$?[09,G]*([.D][09]*)?\$?L?(PR|MI|S)?"
    known = re.fullmatch(shape, pattern.upper()) and re.search(r"[09]", pattern)
    return None if known else "A number is made of 0, 9, the point, commas, $, S, MI and PR, like '999,990.00'."


def of_print(pattern: str, kinds: Sequence[str]) -> str | None:
    """A pattern of printf, and the kinds of its arguments: text, whole, decimal, floating, another."""
    for kind, place, written in _conversions(pattern):
        if kind in ("%", "n"):
            continue
        if kind is None or kind[0] not in "bBhHsScCdoxXeEfgGaAtT":
            return f"Java's format has no {written}."
        if place >= len(kinds):
            return f"There is no argument for {written}."
        argument = kinds[place]
        whole = kind in "doxXcC" and argument != "whole"
        if argument != "another" and (whole or (kind in "eEfgGaA" and argument != "floating")):
            wanted = "a whole number" if whole else "a FLOAT or DOUBLE (cast it), or %s"
            return f"{written} takes {wanted}."
    return None


def _conversions(pattern: str) -> Iterator[tuple[str | None, int, str]]:
    place = 0
    for conversion in _CONVERSION.finditer(pattern):
        kind = conversion["kind"] or None
        if kind in ("%", "n"):
            yield kind, place, conversion[0]
        elif conversion["place"]:
            yield kind, int(conversion["place"]) - 1, conversion[0]
        else:
            yield kind, place, conversion[0]
            place += 1
