"""The words of other systems that aren't ours: recognised, refused by name, with what to write instead.

Flink, RisingWave, ksqlDB, Materialize, Spark, PostgreSQL and Snowflake have clauses, statements and options of their
own, and people write them every day. A *phrase* is a sequence of words by which such a clause is known: `*` stands for
any word, `#` for a number. Phrases are looked for only in a statement that can't be parsed otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

Words = Sequence[str]
_QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)


@dataclass(frozen=True)
class Phrase:
    """A clause of others: its words, how it is called, and what to write instead, which may look at its statement.

    `later` says that the thing itself is understood and will come; what begins with one of `unless` isn't meant.
    """

    words: tuple[str, ...]
    called: str
    instead: str | Callable[[Words, int], str]
    later: bool = False
    unless: tuple[str, ...] = ()

    def hint(self, words: Words, at: int) -> str:
        """The words to write instead of the phrase at this word."""
        return self.instead if isinstance(self.instead, str) else self.instead(words, at)


@dataclass(frozen=True)
class FoundPhrase:
    """A phrase in a statement: where, what it is called, what to write instead, and whether it will come."""

    token: Token
    called: str
    hint: str
    later: bool


def find_phrase(tokens: Sequence[Token]) -> FoundPhrase | None:
    """The first phrase of others in a statement."""
    words = [_word(token) for token in tokens]
    matches = [
        (at, phrase)
        for phrase in PHRASES
        for at in range(len(words))
        if words[at] not in phrase.unless and _is_at(phrase.words, words, at)
    ]
    if not matches:
        return None
    at, phrase = min(matches, key=lambda pair: pair[0])
    return FoundPhrase(tokens[at], phrase.called, phrase.hint(words, at), phrase.later)


def _word(token: Token) -> str:
    """A token as phrases spell it; a number is `#3`, and what is quoted is never part of a phrase but as `*`."""
    if token.token_type == TokenType.NUMBER:
        return f"#{token.text}"
    return f"'{token.text}" if token.token_type in _QUOTED else token.text.upper()


def _is_at(phrase: tuple[str, ...], words: Words, at: int) -> bool:
    part = words[at : at + len(phrase)]
    return len(part) == len(phrase) and all(
        wanted == "*" or word == wanted or (wanted == "#" and word[0] == "#")
        for wanted, word in zip(phrase, part, strict=True)
    )


# What to write instead, with words of the statement


def _interval(words: Words, at: int) -> str:
    """The interval of `SIZE 5 MINUTES` at its number; one minute where there is none."""
    if at + 1 < len(words) and words[at][:1] == "#":
        return f"INTERVAL '{words[at][1:]}' {words[at + 1].rstrip(',').removesuffix('S')}"
    return "INTERVAL '1' MINUTE"


def _behind(words: Words, at: int, word: str) -> int:
    """The index behind a word that follows, or of the end."""
    return next((index + 1 for index in range(at, len(words)) if words[index] == word), len(words))


def _read_before(words: Words, at: int) -> str:
    """The name behind the last FROM before an index, in lower case."""
    froms = [index for index in range(len(words) - 1) if words[index] == "FROM"]
    before = [index for index in froms if index < at] or froms
    return words[before[-1] + 1].lower().lstrip("'") if before else "…"


def _tumbling(words: Words, at: int) -> str:
    size = _interval(words, _behind(words, at, "SIZE"))
    return _window(f"TUMBLE(TABLE {_read_before(words, at)}, DESCRIPTOR(at), {size})")


def _hopping(words: Words, at: int) -> str:
    size, slide = _interval(words, _behind(words, at, "SIZE")), _interval(words, _behind(words, at, "BY"))
    return _window(f"HOP(TABLE {_read_before(words, at)}, DESCRIPTOR(at), {slide}, {size})")


def _session(words: Words, at: int) -> str:
    keys = words[_behind(words, at, "GROUP BY") : _behind(words, at, "GROUP BY") + 1]
    partition = f" PARTITION BY {keys[0].lower()}" if keys else ""
    gap = _interval(words, _behind(words, at, "("))
    return _window(f"SESSION(TABLE {_read_before(words, at)}{partition}, DESCRIPTOR(at), {gap})")


def _window(call: str) -> str:
    return f"Write FROM {call}, with the event time in place of at, and GROUP BY … window_start, window_end."


def _unknown_window(words: Words, at: int) -> str:
    near = {"T": "TUMBLE", "H": "HOP", "S": "HOP", "C": "CUMULATE"}
    name = "SESSION" if words[at].startswith("SESS") else near.get(words[at][0], "TUMBLE")
    lengths = {"HOP": "INTERVAL '1' MINUTE, INTERVAL '5' MINUTE", "CUMULATE": "INTERVAL '1' HOUR, INTERVAL '1' DAY"}
    call = f"{name}(TABLE {words[at + 3].lower()}, DESCRIPTOR(at), {lengths.get(name, _MINUTE)})"
    return f"Did you mean {name}? Write FROM {call}; there are TUMBLE, HOP, CUMULATE and SESSION."


_MINUTE = "INTERVAL '1' MINUTE"


def _within(words: Words, at: int) -> str:
    reach = _interval(words, at + 1)
    return f"Write the bound into ON: AND r.at BETWEEN l.at - {reach} AND l.at + {reach}."


def _top(words: Words, at: int) -> str:
    return f"Write ORDER BY … LIMIT {words[at + 2][1:]} at the end of the query."


def _path(words: Words, at: int) -> str:
    return f"Write get_json_object({words[at].lower()}, '$.{words[at + 2].lower()}')."


def _matches(words: Words, at: int) -> str:
    return f"Write {words[at].lower()} RLIKE '…', with (?i) at the start of the pattern to ignore case."


def _no_format(words: Words, at: int) -> str:
    known = ("JSON", "AVRO", "PROTOBUF", "CSV")
    form = next((word.lower() for word in words[at:] if word in known), "json")
    return f"Write WITH (connector = 'kafka', topic = '…', format = '{form}')."


def _group_window(words: Words, at: int) -> str:
    source, time = _read_before(words, at), words[at + 2].lower()
    text = words[at + 4] if len(words) > at + 4 else ""
    size = f"INTERVAL {text}'" if text[:1] == "'" else "INTERVAL '10' MINUTE"
    call = f"TUMBLE(TABLE {source}, DESCRIPTOR({time}), {size})"
    if words[at] == "SESSION":
        size = f"INTERVAL {words[at + 5]}' {words[at + 6]}" if len(words) > at + 6 and words[at + 5][0] == "'" else size
        call = f"SESSION(TABLE {source} PARTITION BY …, DESCRIPTOR({time}), {size})"
    return f"Write FROM {call} and GROUP BY … window_start, window_end."


_AS_OF = "Write JOIN … FOR SYSTEM_TIME AS OF l.at AS r ON l.key = r.key, of a table with a PRIMARY KEY and a WATERMARK."

PHRASES: tuple[Phrase, ...] = (
    # Windows of ksqlDB, Spark and old Flink
    Phrase(("WINDOW", "TUMBLING", "("), "WINDOW TUMBLING, as ksqlDB has it", _tumbling),
    Phrase(("WINDOW", "HOPPING", "("), "WINDOW HOPPING, as ksqlDB has it", _hopping),
    Phrase(("WINDOW", "SESSION", "("), "WINDOW SESSION, as ksqlDB has it", _session),
    Phrase(("SESSION", "(", "*", ",", "INTERVAL"), "SESSION as a group, as old Flink has it", _group_window),
    Phrase(
        ("*", "(", "TABLE", "*", ",", "DESCRIPTOR", "("),
        "a window that isn't there",
        _unknown_window,
        unless=("TUMBLE", "HOP", "CUMULATE", "SESSION"),
    ),
    Phrase(
        ("MUTUALLY", "RECURSIVE"),
        "WITH MUTUALLY RECURSIVE, as Materialize has it",
        "Write one view for each step, each reading the one before it.",
    ),
    Phrase(
        ("GAP_FILL", "("),
        "GAP_FILL",
        "Fill gaps when you query the view.",
        later=True,
    ),
    Phrase(
        ("WATERMARK", "*", "DELAY", "OF"),
        "WATERMARK in a query, as Spark has it",
        "Declare it with the stream: WATERMARK FOR at AS at - INTERVAL '5' SECOND.",
    ),
    # Joins
    Phrase(("WITHIN", "#"), "WITHIN in a join, as ksqlDB has it", _within),
    Phrase(("WITHIN", "(", "#"), "WITHIN in a join, as ksqlDB has it", lambda words, at: _within(words, at + 1)),
    Phrase(("ASOF", "JOIN"), "ASOF JOIN", _AS_OF),
    Phrase(("MATCH_CONDITION", "("), "ASOF JOIN", _AS_OF),
    # Clauses at the end of a query
    Phrase(("EMIT", "ON", "UPDATE"), "EMIT ON UPDATE", "Write EMIT CHANGES, or leave it out."),
    Phrase(("EMIT", "AFTER"), "EMIT AFTER", "Write EMIT CHANGES or EMIT FINAL; every = '…' sets a cadence."),
    Phrase(("WITH", "NO", "DATA"), "WITH NO DATA", "Leave it out: a view is built by `headwater catch-up` or `run`."),
    Phrase(("WITH", "DATA"), "WITH DATA", "Leave it out: a view is built by `headwater catch-up` or `run`."),
    Phrase(("OPTIONS", "("), "OPTIONS", "Leave it out; options of a view are in WITH (…) before AS."),
    Phrase(
        ("FROM", "*", "PARTITION BY"),
        "PARTITION BY of a stream, as ksqlDB has it",
        "Leave it out: rows of a view are not partitioned; whom events are about is key = '…' of the stream.",
    ),
    Phrase(("SELECT", "TOP", "#"), "TOP", _top),
    Phrase(("FOR", "UPDATE"), "FOR UPDATE", "Leave it out: nothing is written by a query."),
    # Operators
    Phrase(("*", "~"), "~", _matches),
    Phrase(("*", "~*"), "~*", _matches),
    Phrase(("*", ":", "*", "::"), "a path into JSON, as Snowflake has it", _path),
    Phrase(("@", ">"), "@>", "Compare what is inside: get_json_object(body, '$.city') = '…'."),
    Phrase(("<", "@"), "<@", "Compare what is inside: get_json_object(body, '$.city') = '…'."),
    Phrase(
        ("JSON_OBJECT", "("), "JSON_OBJECT", "Write to_json(named_struct('id', id)), with a name before each value."
    ),
    # Streams and tables
    Phrase(("FORMAT", "*", "ENCODE"), "FORMAT … ENCODE, as RisingWave has it", _no_format),
    Phrase(("FORMAT", "*"), "FORMAT", _no_format),
    Phrase(
        ("INCLUDE", "*", "AS"),
        "INCLUDE, as RisingWave has it",
        "Declare a column for it, and write WITH (message_key = '…'); there are message_time and message_headers too.",
    ),
    Phrase(("APPEND", "ONLY"), "APPEND ONLY", "Write CREATE STREAM: its events are only added."),
    Phrase(("ON", "CONFLICT"), "ON CONFLICT", "Leave it out: of rows with the same PRIMARY KEY the latest one counts."),
    Phrase(
        ("ENVELOPE", "UPSERT"),
        "ENVELOPE UPSERT, as Materialize has it",
        "Write CREATE TABLE … PRIMARY KEY (…): of rows with the same key the latest one counts.",
    ),
    Phrase(("ENVELOPE", "*"), "ENVELOPE", "Write it as an option: WITH (envelope = 'debezium')."),
    Phrase(("PARTITIONED BY",), "PARTITIONED BY", "Leave it out: the log decides how it lays its files out."),
    Phrase(("CLUSTERED", "BY"), "CLUSTERED BY", "Leave it out: the log decides how it lays its files out."),
    Phrase(("TBLPROPERTIES", "("), "TBLPROPERTIES", "Write WITH (name = '…') with options of the stream or table."),
    Phrase(("LOCATION", "*"), "LOCATION", "Leave it out: where the log is, is data = '…' in headwater.toml."),
    Phrase(("STORED", "AS"), "STORED AS", "Leave it out: the log is a table of Delta Lake."),
    Phrase((")", "USING", "*"), "USING", "Leave it out: the log is a table of Delta Lake."),
    Phrase(("IN", "CLUSTER"), "IN CLUSTER", "Leave it out: whoever runs `headwater run` keeps the view."),
    Phrase(
        ("FROM", "KAFKA", "CONNECTION"),
        "FROM KAFKA CONNECTION, as Materialize has it",
        "Declare columns, and WITH (connector = 'kafka', topic = '…'); brokers are in headwater.toml.",
    ),
)

KINDS: Mapping[str, str] = {
    "SINK": "Write CREATE OUTLET totals FROM view TO 'kafka://topic'; TO may be 'delta://path' or 'https://host/hook'.",
    "CONNECTION": 'Put it into headwater.toml: [kafka.main] with "bootstrap.servers" = "host:9092".',
    "SECRET": "Put it into the environment, and name it in headwater.toml as ${NAME}.",
    "CATALOG": "Leave it out: a project is one catalog, its folder.",
    "DATABASE": "Leave it out: a project is one database, its folder.",
    "SCHEMA": "Leave it out: a project is one schema, its folder.",
    "INDEX": "Say what a store finds rows by with the view: WITH (index = 'customer').",
    "DEFAULT": "Say what a store finds rows by with the view: WITH (index = 'customer').",
    "UNIQUE": "Say what identifies an event with the stream: WITH (unique = 'id').",
    "TYPE": "Write the type where it is used, like address STRUCT<city: STRING>.",
    "DOMAIN": "Write the type where it is used.",
    "CLUSTER": "Leave it out: `headwater run` keeps the views, as many processes as you start.",
    "CONNECTOR": "Write CREATE STREAM … WITH (connector = 'kafka', topic = '…'), or 'folder' with a path.",
    "TRIGGER": "Write CREATE OUTLET … FROM view TO 'https://host/hook': it is called with every change of the view.",
    "SEQUENCE": "Leave it out: the position of an event in the log is _commit and _row.",
    "USER": "Make a token with `headwater token create`.",
    "ROLE": "Make a token with `headwater token create`.",
    "STREAMING": "Write CREATE MATERIALIZED VIEW … AS SELECT …: it is kept up to date as events come.",
    "LIVE": "Write CREATE MATERIALIZED VIEW … AS SELECT …: it is kept up to date as events come.",
    "DYNAMIC": "Write CREATE MATERIALIZED VIEW … AS SELECT …: it is kept up to date as events come.",
    "MODEL": "Write a function in Python, with @hw.function.",
    "AGGREGATE": "Aggregate with functions of Spark; a function of yours computes from one row.",
    "PROCEDURE": "Write a view, or a function that computes from one row.",
    "MATERIALIZED": "Write CREATE MATERIALIZED VIEW and a name.",
    "OR": "Write CREATE: the project is what its files say, so that a declaration is changed by editing it.",
}
"""The kinds of things that others create, and what to do instead."""

VERBS: Mapping[str, str] = {
    "ALTER": "Edit the declaration; a run takes it over with `headwater promote`.",
    "ANALYZE": "Leave it out: there are no statistics to gather.",
    "BEGIN": "Leave it out: declarations have no transactions.",
    "COMMIT": "Leave it out: declarations have no transactions.",
    "COPY": "Append a file with `headwater append STREAM FILE`; rows of a view come from `headwater rows VIEW`.",
    "DELETE": "Events are never deleted; leave rows out of a view with WHERE, or let old ones go: `headwater trim`.",
    "DESCRIBE": "Ask `headwater explain VIEW`, or `headwater graph` for all of them.",
    "DROP": "Delete the declaration from its file.",
    "EXECUTE": "Leave it out: a view is kept up to date by `headwater run`.",
    "EXPLAIN": "Ask `headwater explain VIEW`.",
    "GRANT": "Make a token with `headwater token create`; its role says what it allows.",
    "INSERT": "Write CREATE MATERIALIZED VIEW name AS SELECT …: it is kept up to date by itself. "
    "Events are appended with `headwater append`.",
    "MERGE": "Write CREATE MATERIALIZED VIEW … AS SELECT …: its rows are merged by its key.",
    "PRINT": "Ask `headwater tail STREAM`, or `headwater watch VIEW`.",
    "REFRESH": "Leave it out: a view is kept up to date by `headwater run` or `headwater catch-up`.",
    "RESET": "Leave it out: settings are in headwater.toml.",
    "REVOKE": "Forget a token with `headwater token revoke`.",
    "SELECT": "Write CREATE MATERIALIZED VIEW name AS before it; a view is asked with `headwater query`.",
    "SET": "Put settings into headwater.toml.",
    "SHOW": "Ask `headwater status`, or `headwater graph`.",
    "SUBSCRIBE": "Ask `headwater watch VIEW`.",
    "TAIL": "Ask `headwater watch VIEW`.",
    "TERMINATE": "Ask `headwater pause VIEW`.",
    "TRUNCATE": "Events are never deleted; let old ones go with `headwater trim`.",
    "UPDATE": "Events are never changed; append an event that says what has changed, to a table with a PRIMARY KEY.",
    "USE": "Leave it out: a project is one catalog, its folder.",
    "VALUES": "Append rows with `headwater append`.",
    "WITH": "Write CREATE MATERIALIZED VIEW name AS before it.",
}
"""The words with which others begin a statement, and what to do instead."""

OPTIONS: Mapping[str, str] = {
    "kafka_topic": "Write connector = 'kafka', topic = '…'.",
    "topics": "Write topic = '…'; several have commas between them.",
    "value_format": "Write format = 'json'.",
    "key_format": "Leave it out: write message_key = '…' with a column that takes the key.",
    "value.format": "Write format = 'json'.",
    "key.format": "Leave it out: write message_key = '…' with a column that takes the key.",
    "timestamp": "Write WATERMARK FOR at AS at - INTERVAL '5' SECOND among the columns.",
    "timestamp_format": "Leave it out: instants are read in ISO 8601.",
    "partitions": "Leave it out: the topic has the partitions that it has.",
    "replicas": "Leave it out: that is a matter of the topic.",
    "bootstrap.servers": "Write brokers = 'host:9092', or [kafka.main] in headwater.toml.",
    "properties.bootstrap.server": "Write brokers = 'host:9092', or [kafka.main] in headwater.toml.",
    "properties.bootstrap.servers": "Write brokers = 'host:9092', or [kafka.main] in headwater.toml.",
    "properties.group.id": "Leave it out: where reading goes on is kept in the log.",
    "group.id": "Leave it out: where reading goes on is kept in the log.",
    "scan.startup.mode": "Write start = 'earliest' or 'latest', or an instant.",
    "startingoffsets": "Write start = 'earliest' or 'latest', or an instant.",
    "schema.registry": "Write registry = 'http://host:8081'.",
    "primary_key": "Write key = '…'.",
    "primary key": "Write key = '…'.",
    "state_ttl": "Write retention = '…': how long a row counts.",
    "table.exec.state.ttl": "Write retention = '…': how long a row counts.",
    "state.ttl": "Write retention = '…': how long a row counts.",
    "allowed_lateness": "Write grace = '…': how long after its end a window still takes rows.",
    "lateness": "Write grace = '…': how long after its end a window still takes rows.",
    "watermark": "Write WATERMARK FOR at AS at - INTERVAL '5' SECOND among the columns.",
    "parallelism": "Leave it out: Spark uses the cores that it has.",
    "refresh": "Leave it out: a view is kept up to date as events come; every = '…' sets a cadence.",
    "refresh_interval": "Leave it out: a view is kept up to date as events come; every = '…' sets a cadence.",
    "output_mode": "Write emit = 'changes' or 'final'.",
    "outputmode": "Write emit = 'changes' or 'final'.",
    "checkpointlocation": "Leave it out: checkpoints are kept with the data of the project.",
    "deduplicate": "Write unique = '…' with the stream.",
}
"""Options of others, and what to write instead."""

CONNECTORS: Mapping[str, str] = {
    "filesystem": "Write connector = 'folder', path = '…'.",
    "file": "Write connector = 'folder', path = '…'.",
    "s3": "Write connector = 'folder', path = 's3://…'.",
    "posix_fs": "Write connector = 'folder', path = '…'.",
    "upsert-kafka": "Write connector = 'kafka', and CREATE TABLE … PRIMARY KEY (…).",
    "datagen": "Leave it out, and make events up with `headwater generate STREAM`.",
    "mysql-cdc": "Let Debezium write to Kafka: connector = 'kafka', envelope = 'debezium'.",
    "postgres-cdc": "Let Debezium write to Kafka: connector = 'kafka', envelope = 'debezium'.",
    "jdbc": "Let Debezium write to Kafka: connector = 'kafka', envelope = 'debezium'.",
    "redpanda": "Write connector = 'kafka': Redpanda speaks the same protocol.",
}
"""Connectors of others, and what to write instead."""

TYPES: Mapping[str, str] = {
    "TXT": "Write STRING.", "CLOB": "Write STRING.", "UUID": "Write STRING.", "ENUM": "Write STRING.",
    "CITEXT": "Write STRING.", "NVARCHAR": "Write STRING.", "INET": "Write STRING.",
    "JSON": "Write STRING, and read it in a view with get_json_object(…), or declare a STRUCT.",
    "JSONB": "Write STRING, and read it in a view with get_json_object(…), or declare a STRUCT.",
    "OBJECT": "Write MAP<STRING, STRING>, or a STRUCT.",
    "SERIAL": "Write BIGINT: the events carry their numbers.", "BIGSERIAL": "Write BIGINT.",
    "MONEY": "Write DECIMAL(18, 2).", "NUMBER": "Write DECIMAL(18, 2), or BIGINT.",
    "DATETIME": "Write TIMESTAMP.", "TIMESTAMPZ": "Write TIMESTAMP.", "BLOB": "Write BINARY.",
    "BYTEA": "Write BINARY.", "UINT": "Write BIGINT.", "INT4": "Write INT.", "INT8": "Write BIGINT.",
    "FLOAT8": "Write DOUBLE.", "FLOAT4": "Write FLOAT.",
}  # fmt: skip
"""Types of others, and what to write instead."""
