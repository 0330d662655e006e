"""Intervals of fixed length: from every spelling that Spark SQL has to a `timedelta`.

Months and years have no fixed length; an interval that names them, or that isn't a constant, has no `timedelta`. Whole
days, months and years are lengths of the *calendar*.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from sqlglot import exp

_MICROSECONDS = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAY = timedelta(days=1)
_SPAN_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_NUMBER = re.compile(r"\s*[+-]?\s*[0-9]*\.?[0-9]+\s*")
_PART = re.compile(r"\s*([+-]?\s*[0-9]*\.?[0-9]+)\s*([A-Za-z]+)\s*")
_SPAN_SEPARATORS = re.compile(r"[ :]+")


def interval(node: exp.Expr | None) -> timedelta | None:
    """The length of a constant interval, or None if the node isn't one or its length isn't fixed.

    >>> from headwater.sql import parse_expression
    >>> interval(parse_expression("INTERVAL '1 10' DAY TO HOUR")) == timedelta(days=1, hours=10)
    True
    >>> interval(parse_expression("INTERVAL '1' MONTH")) is None
    True
    """
    microseconds = _length(node)
    if microseconds is None:
        return None
    try:
        return timedelta(microseconds=int(microseconds))
    except OverflowError:
        return None


def calendar(node: exp.Expr | None) -> tuple[int, Literal["day", "month"]] | None:
    """The number of days or of months in a constant interval of either; None if the node isn't one.

    >>> from headwater.sql import parse_expression
    >>> calendar(parse_expression("INTERVAL '1' YEAR")), calendar(parse_expression("INTERVAL '2 weeks'"))
    ((12, 'month'), (14, 'day'))
    """
    length = interval(node)
    if length is not None:
        return (length.days, "day") if length >= _DAY and not length % _DAY else None
    count = months(node)
    return (count, "month") if count is not None and count > 0 else None


def months(node: exp.Expr | None) -> int | None:
    """The number of months in a constant interval of months, quarters and years; None if the node isn't one.

    >>> from headwater.sql import parse_expression
    >>> months(parse_expression("INTERVAL '-2 quarters'"))
    -6
    """
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = node.args.get("unit")
    text = f"{node.this.name} {unit.name}" if isinstance(unit, exp.Var) else node.this.name
    parts = [(number, name.upper().removesuffix("S")) for number, name in _PART.findall(text)]
    whole = "".join(_PART.sub("", text).split()) == "" and all(re.fullmatch(r"-?\d+", number) for number, _ in parts)
    if not parts or not whole or any(name not in _MONTHS for _, name in parts):
        return None
    return sum(int(number) * _MONTHS[name] for number, name in parts)


def _length(node: exp.Expr | None) -> Decimal | None:
    if isinstance(node, exp.Paren):
        return _length(node.this)
    if isinstance(node, exp.Neg):
        inner = _length(node.this)
        return None if inner is None else -inner
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = _length(node.this), _length(node.expression)
        if left is None or right is None:
            return None
        return left + right if isinstance(node, exp.Add) else left - right
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal):
        return _literal_length(node.this.name, node.args.get("unit"))
    return None


def _literal_length(text: str, unit: exp.Expr | None) -> Decimal | None:
    if isinstance(unit, exp.IntervalSpan):
        return _span_length(text, unit.this.name.upper(), unit.expression.name.upper())
    if unit is None:
        return _parts_length(text)
    if not _NUMBER.fullmatch(text):
        return None
    return _times(text, unit.name)


def _parts_length(text: str) -> Decimal | None:
    text = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    total, at = Decimal(0), 0
    while at < len(text):
        part = _PART.match(text, at)
        length = _times(part[1], part[2]) if part else None
        if part is None or length is None:
            return None
        total, at = total + length, part.end()
    return total if at else None


def _span_length(text: str, first: str, last: str) -> Decimal | None:
    if first not in _SPAN_UNITS or last not in _SPAN_UNITS:
        return None
    units = _SPAN_UNITS[_SPAN_UNITS.index(first) : _SPAN_UNITS.index(last) + 1]
    sign = Decimal(-1 if text.lstrip().startswith("-") else 1)
    fields = _SPAN_SEPARATORS.split(text.strip().lstrip("+-").strip())
    if len(fields) != len(units):
        return None
    lengths = [
        _times(field, unit) if _NUMBER.fullmatch(field) else None for field, unit in zip(fields, units, strict=True)
    ]
    return sign * sum((length for length in lengths if length is not None), Decimal(0)) if None not in lengths else None


def _times(number: str, unit: str) -> Decimal | None:
    name = unit.upper()
    microseconds = _MICROSECONDS.get(name) or _MICROSECONDS.get(name.removesuffix("S"))
    return None if microseconds is None else Decimal(re.sub(r"\s", "", number)) * microseconds


def spell_interval(length: timedelta) -> str:
    """A constant interval in its canonical spelling: one number of the largest unit that divides it.

    >>> spell_interval(timedelta(minutes=90))
    "INTERVAL '90' MINUTE"
    """
    number, unit = _number_of(length)
    return f"INTERVAL '{number}' {unit}"


def interval_node(length: timedelta) -> exp.Interval:
    """A constant interval as it is read from its canonical spelling."""
    number, unit = _number_of(length)
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.var(unit))


def _number_of(length: timedelta) -> tuple[int, str]:
    """A length as a number of the largest unit that divides it."""
    microseconds = length // timedelta(microseconds=1)
    if microseconds == 0:
        return 0, "SECOND"
    unit = next(name for name, size in _MICROSECONDS.items() if name != "WEEK" and microseconds % size == 0)
    return microseconds // _MICROSECONDS[unit], unit
