"""The values of options of WITH: read from their text, or a ValueError that says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headwater.installed import installed
from headwater.model import CONTENT, Emit, parse_duration

INTAKES = "headwater.intakes"
"""The entry points of packages that bring kinds of intakes along; the name of one is that of its connector."""
CONNECTORS = ("kafka", "folder", "postgres", "mysql")
"""The kinds of intakes that are ours."""
_OFFSETS = re.compile(r"\s*\d+\s*:\s*\d+\s*(,\s*\d+\s*:\s*\d+\s*)*")
_NAME_IN_LIST = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^,`]+?))\s*(?:,|$)")


def read_duration(text: str) -> timedelta:
    """A duration like `10 minutes`."""
    try:
        return parse_duration(text)
    except OverflowError:
        raise ValueError(f"{text!r} is longer than any duration can be") from None


def read_distance(text: str) -> timedelta | None:
    """A duration, or `none` for any distance."""
    return None if text.strip().lower() == "none" else read_duration(text)


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, in backquotes where they hold a comma.

    >>> read_names("card_id, `a,b`")
    ('card_id', 'a,b')
    """
    names, at = [], 0
    while at < len(text):
        part = _NAME_IN_LIST.match(text, at)
        if part is None:
            raise ValueError(f"{text!r} is not a list of columns: write names separated by commas")
        names.append(part["plain"] if part["quoted"] is None else part["quoted"].replace("``", "`"))
        at = part.end()
    if not names or text.rstrip().endswith(","):
        raise ValueError(f"{text!r} is not a list of columns: write names separated by commas")
    return tuple(names)


def read_identity(text: str) -> tuple[str, ...]:
    """Names, or `*` for the whole content."""
    return CONTENT if text.strip() == "*" else read_names(text)


def one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text.lower()

    return read


def read_emit(text: str) -> Emit:
    """`changes` or `final`."""
    return Emit(one_of("changes", "final")(text))


def read_store(text: str) -> str:
    """The name of a store, or several with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError("the name of a store is empty")
    if len(set(names)) < len(names):
        raise ValueError("it names a store twice")
    return ", ".join(names)


def read_indexes(text: str) -> tuple[tuple[str, ...], ...]:
    """Lists of names, with semicolons between them.

    >>> read_indexes("card_id; spent, `a;b`")
    (('card_id',), ('spent', 'a;b'))
    """
    parts = re.findall(r"(?:`(?:[^`]|``)*`|[^;`])+", text)
    return tuple(read_names(part) for part in parts) or (read_names(text),)


def read_name(text: str) -> str:
    """A name that is not empty."""
    if not text.strip():
        raise ValueError("the name is empty")
    return text.strip()


def read_count(text: str) -> int:
    """A whole number from 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number from 1")
    return int(text)


def read_topics(text: str) -> str:
    """The name of a topic, several with commas between them, or a pattern that begins with `^`."""
    names = [name.strip() for name in text.split(",")]
    if text.strip().startswith("^"):
        try:
            re.compile(text)
        except re.error as problem:
            raise ValueError(f"{text!r} is not a regular expression: {problem}") from None
        return text.strip()
    if not all(names) or len(set(names)) < len(names):
        raise ValueError("the name of a topic is empty, or there twice")
    return ", ".join(names)


def read_slot(text: str) -> str:
    """A name that PostgreSQL takes for a slot, with room for a snapshot's."""
    if not re.fullmatch(r"[a-z0-9_]{1,54}", text.strip()):
        raise ValueError(f"{text!r} is no name of a slot: it has at most 54 lower-case letters, digits and '_'")
    return text.strip()


def read_start(text: str) -> str | datetime | tuple[tuple[int, int], ...]:
    """`earliest`, `latest`, offsets of partitions, or an instant in ISO 8601; without a zone it is UTC.

    >>> read_start("0: 42, 1: 17")
    ((0, 42), (1, 17))
    """
    if text.strip().lower() in ("earliest", "latest"):
        return text.strip().lower()
    if _OFFSETS.fullmatch(text):
        pairs = (part.split(":") for part in text.split(","))
        return tuple(sorted((int(partition), int(offset)) for partition, offset in pairs))
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{text!r} is none of 'earliest', 'latest', an instant like 2026-01-31T12:00Z, offsets like 0:42, 1:17"
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def read_version_source(text: str) -> str:
    """`registry`, or `header` or `field` with its name."""
    way, _, name = text.strip().partition(" ")
    if way.lower() == "registry" and not name:
        return "registry"
    if way.lower() not in ("header", "field") or not name.strip():
        raise ValueError(f"{text!r} doesn't say where a message tells its version")
    return f"{way.lower()} {name.strip()}"


def read_unknown_fields(text: str) -> str:
    """`ignore`, `dead`, or `keep`, perhaps with the name of a column.

    >>> read_unknown_fields("KEEP rest")
    'keep rest'
    """
    way, _, name = text.strip().partition(" ")
    if way.lower() not in ("ignore", "dead", "keep") or (name.strip() and way.lower() != "keep"):
        raise ValueError(f"{text!r} is none of 'ignore', 'dead', 'keep', 'keep COLUMN'")
    return f"{way.lower()} {name.strip()}".strip()


def read_share(text: str) -> float | None:
    """A percentage, or `none` for any share.

    >>> read_share("12.5%")
    0.125
    """
    if text.strip().lower() == "none":
        return None
    try:
        share = float(Decimal(text.strip().removesuffix("%")) / 100)
    except ArithmeticError:
        share = -1.0
    if not text.strip().endswith("%") or not 0 <= share <= 1:
        raise ValueError(f"{text!r} is not a percentage like 50%")
    return share


def read_delimiter(text: str) -> str:
    """One character of ASCII, or `tab`."""
    character = "\t" if text.lower() == "tab" else text
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise ValueError(f"{text!r} is not one character that may stand between fields")
    return character


def read_connector(text: str) -> str:
    """A kind of intake: one of ours, or one that an installed package brings along."""
    name = text.strip().lower()
    known = [*CONNECTORS, *installed(INTAKES)]
    if name not in known:
        raise ValueError(f"{text!r} is not one of {', '.join(known)}")
    return name
