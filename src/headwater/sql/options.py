"""The options of WITH: which declaration has which, what they take, and what they mean.

One table, read by the parser, by "did you mean" and by the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from headwater.errors import DeclarationError
from headwater.findings import OptionRefused, UnknownOption
from headwater.model import LAYOUTS, parse_retention
from headwater.sql.foreign import CONNECTORS as FOREIGN_CONNECTORS
from headwater.sql.foreign import OPTIONS as FOREIGN_OPTIONS
from headwater.sql.intake_options import INTAKE, OptionKind
from headwater.sql.nodes import Option
from headwater.sql.option_values import (
    one_of,
    read_count,
    read_distance,
    read_duration,
    read_emit,
    read_identity,
    read_indexes,
    read_name,
    read_names,
    read_store,
    read_unknown_fields,
)
from headwater.sql.parser import first_offset
from headwater.sql.refusal import Refusal, did_you_mean

_IDLE = OptionKind(
    "idle",
    "duration or 'none'",
    read_distance,
    "how long a source may be silent before the watermark stops waiting for it",
    "'none': it always waits",
)
_MAX_AHEAD = OptionKind(
    "max_ahead",
    "duration or 'none'",
    read_distance,
    "how far an event time may lie ahead of its arrival; what lies further is a dead letter",
    "'1 day'",
)

_VERSION = OptionKind(
    "version",
    "whole number",
    read_count,
    "counts declarations whose rows mean something else; those of earlier ones come to it by upcasts",
    "1",
)

_UNKNOWN_FIELDS = OptionKind(
    "unknown_fields",
    "'ignore', 'dead' or 'keep'",
    read_unknown_fields,
    "what becomes of fields that no column declares: they are counted, make the event a dead letter, or are kept in a "
    "column of type MAP<STRING, STRING> ('keep COLUMN' if there are several)",
    "'ignore'",
)

SERVING = (
    OptionKind(
        "layout",
        "'json', 'hash', 'sorted set' or 'stream'",
        one_of(*LAYOUTS),
        "how Redis shows the rows, beside their JSON",
        "that of the store",
    ),
    OptionKind("score", "column", read_name, "what the rows of a sorted set are ordered by"),
    OptionKind("group", "columns", read_names, "the part of the key that says which sorted set a row is in"),
    OptionKind("ttl", "duration", read_duration, "how long Redis shows a hash or a sorted set after its last change"),
    OptionKind("index", "columns; columns; …", read_indexes, "what a database is to find rows by"),
)
"""The options that say how a view is laid out in its stores."""

OPTIONS: Mapping[str, tuple[OptionKind, ...]] = {
    "stream": (
        OptionKind("key", "columns", read_names, "whom an event is about"),
        OptionKind("unique", "columns or '*'", read_identity, "what identifies an event; '*' is its whole content"),
        OptionKind(
            "within",
            "duration",
            read_duration,
            "for how long after an event another one with the same unique columns is a copy of it",
            "an event and its copies have the same event time",
        ),
        _IDLE,
        _MAX_AHEAD,
        _VERSION,
        _UNKNOWN_FIELDS,
        *INTAKE,
    ),
    "table": (_IDLE, _MAX_AHEAD, _VERSION, _UNKNOWN_FIELDS, *INTAKE),
    "materialized view": (
        OptionKind(
            "grace", "duration", read_duration, "how long after its end a window still takes rows", "'0 seconds'"
        ),
        OptionKind(
            "late",
            "'keep' or 'drop'",
            one_of("keep", "drop"),
            "offer late rows as a stream, or only count them",
            "'keep'",
        ),
        OptionKind(
            "emit",
            "'changes' or 'final'",
            read_emit,
            "write rows as they change, or once when they are settled",
            "changes where the operators can keep it, else final",
        ),
        OptionKind(
            "every",
            "duration",
            read_duration,
            "how often, in the time of the watermark, rows that are not final are shown anew",
            "whenever they change",
        ),
        OptionKind(
            "store", "name", read_store, "the stores of headwater.toml that serve the view", "the default store"
        ),
        OptionKind(
            "key",
            "columns",
            read_names,
            "the primary key of the view in its store; a view with two rows of one key stops",
            "the GROUP BY columns",
        ),
        OptionKind(
            "horizon",
            "duration",
            read_duration,
            "how far back an input can matter, where it doesn't follow from the query",
        ),
        OptionKind(
            "retention",
            "duration or 'forever'",
            parse_retention,
            "how long a row counts in groups, and in joins, that no window or time ends",
        ),
        OptionKind(
            "execution",
            "'live', 'settle' or 'batch'",
            one_of("live", "settle", "batch"),
            "how it is kept up to date: by Spark's streaming, by slices of event time, or from the whole log each time",
            "as the planner chooses",
        ),
        *SERVING,
    ),
    "view": (),
    "outlet": (
        OptionKind(
            "envelope",
            "'change', 'row', 'upsert' or 'debezium'",
            one_of("change", "row", "upsert", "debezium"),
            "what is sent of a change",
            "'change'",
        ),
        OptionKind(
            "format",
            "'json', 'avro', 'protobuf' or 'json-schema'",
            one_of("json", "avro", "protobuf", "json-schema"),
            "how a message is written",
            "'json'",
        ),
        OptionKind(
            "registry",
            "address",
            read_name,
            "the schema registry that takes the schemas of Avro, Protobuf and JSON Schema",
            "that of the cluster, else the project's own",
        ),
        OptionKind(
            "accumulation",
            "'accumulate' or 'discard'",
            one_of("accumulate", "discard"),
            "send new totals, or how they differ from what was sent before",
            "'accumulate'",
        ),
        OptionKind(
            "start",
            "'earliest' or 'latest'",
            one_of("earliest", "latest"),
            "what the first run begins with: all that the view has, or what changes from then on",
            "'earliest'",
        ),
        OptionKind("key", "columns", read_names, "what a message is keyed by", "what tells the rows of the view apart"),
        OptionKind("brokers", "addresses", read_name, "brokers to begin with: 'host:port, …'", "those of the cluster"),
        OptionKind(
            "cluster", "name", read_name, "the section of headwater.toml that says how to reach Kafka", "'main'"
        ),
        OptionKind(
            "per_request", "number", read_count, "how many changes share a request; more than 1 as an array", "1"
        ),
        OptionKind("attempts", "number", read_count, "how often a request is sent that is answered 'not now'", "10"),
        OptionKind("timeout", "duration", read_duration, "how long the answer to a request may take", "'10 seconds'"),
        OptionKind("headers", "name", read_name, "the section of headwater.toml with headers for the requests"),
    ),
}
"""The options of each kind of declaration."""


def read_options(kind: str, name: str, options: Sequence[Option]) -> tuple[dict[str, Any], list[Refusal]]:
    """The values of a declaration's options by name, and what is wrong with the others."""
    known = {option.name: option for option in OPTIONS[kind]}
    values: dict[str, Any] = {}
    refusals: list[Refusal] = []
    for option in options:
        word = option.name.lower()
        if word not in known:
            refusals.append(_unknown(kind, name, option, list(known)))
        elif word in values:
            summary = f'{kind} "{name}" gives option "{word}" twice'
            refusals.append(_refused(option, OptionRefused, summary, hint="Leave one of them out."))
        else:
            try:
                values[word] = known[word].read(option_text(option.expression))
            except ValueError as problem:
                values[word] = None
                summary = f'{kind} "{name}" gives option "{word}" a value that it can\'t take'
                hint = _remedy(known[word], option_text(option.expression))
                refusals.append(_refused(option.expression, OptionRefused, summary, _sentence(str(problem)), hint))
    return {
        word: value for word, value in values.items() if value is not None or word in ("idle", "max_ahead", "max_dead")
    }, refusals


_EXAMPLES = {
    "duration": "a duration, like '10 minutes'",
    "duration or 'none'": "a duration, like '10 minutes', or 'none'",
    "columns": "names of columns, like 'id, customer'",
    "columns or '*'": "names of columns, like 'id, customer', or '*'",
    "name": "a name",
    "number": "a whole number from 1",
    "whole number": "a whole number from 1",
    "character": "one character, or 'tab'",
}
"""The values that options take, with an example."""


def _remedy(option: OptionKind, text: str) -> str:
    """The value to write instead of one that an option can't take."""
    if option.name == "connector" and text.strip().lower() in FOREIGN_CONNECTORS:
        return FOREIGN_CONNECTORS[text.strip().lower()]
    near = did_you_mean(text, re.findall(r"'([^']+)'", option.takes))
    return near or f"{option.name} takes {_EXAMPLES.get(option.takes, option.takes)}."


def option_text(value: exp.Expr) -> str:
    """The value of an option as text."""
    return str(value.this).lower() if isinstance(value, exp.Boolean) else value.name


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _unknown(kind: str, name: str, option: Option, known: list[str]) -> Refusal:
    has = f"A {kind} has the options {', '.join(known)}." if known else f"Leave WITH out: a {kind} has no options."
    if kind == "view":
        has += " CREATE MATERIALIZED VIEW has some."
    hint = (FOREIGN_OPTIONS.get(option.name.lower()) or did_you_mean(option.name, known) if known else None) or has
    return _refused(option, UnknownOption, f'{kind} "{name}" has no option "{option.name}"', hint=hint)


def _refused(
    node: exp.Expr, kind: type[DeclarationError], summary: str, detail: str | None = None, hint: str | None = None
) -> Refusal:
    return Refusal(first_offset(node) or 0, summary, detail, hint, kind)
