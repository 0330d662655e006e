"""The options of WITH that say where the events of a stream or table are fetched from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headwater.sql.option_values import (
    one_of,
    read_connector,
    read_delimiter,
    read_duration,
    read_name,
    read_names,
    read_share,
    read_slot,
    read_start,
    read_topics,
    read_version_source,
)


@dataclass(frozen=True)
class OptionKind:
    """An option: its name, what it takes, in words and as a reader of text, what it means, and its default in words."""

    name: str
    takes: str
    read: Callable[[str], Any]
    meaning: str
    default: str = "none"


INTAKE = (
    OptionKind(
        "connector",
        "'kafka', 'folder', 'postgres', 'mysql', or a name that an installed package brings along",
        read_connector,
        "where events are fetched from",
        "they are appended by calls",
    ),
    OptionKind(
        "topic",
        "names, or a pattern like '^payments-.*'",
        read_topics,
        "the topics of Kafka",
        "required with 'kafka'",
    ),
    OptionKind("brokers", "addresses", read_name, "brokers to begin with: 'host:port, …'", "those of the cluster"),
    OptionKind("cluster", "name", read_name, "the section of headwater.toml that says how to reach Kafka", "'main'"),
    OptionKind(
        "format",
        "'json', 'avro', 'protobuf', 'json-schema', 'csv' or 'raw'; in a folder also 'tsv', 'parquet' or 'arrow'",
        one_of("json", "avro", "protobuf", "json-schema", "csv", "raw", "tsv", "parquet", "arrow"),
        "how a message, or a file, is written",
        "'json'; in a folder what a file's name says",
    ),
    OptionKind(
        "path", "path or URL", read_name, "the folder, or the prefix of an object store", "required with 'folder'"
    ),
    OptionKind(
        "pattern",
        "names with '*', '?' or '[…]'",
        read_name,
        "which files of a folder are read; '**' stands for folders in between",
        "'*'",
    ),
    OptionKind(
        "order",
        "'name' or 'modified'",
        one_of("name", "modified"),
        "which of several files that are ready comes first: by name, or by the time of its last change",
        "'name'",
    ),
    OptionKind(
        "settle", "duration", read_duration, "how long a file must not have changed before it is read", "'2 seconds'"
    ),
    OptionKind(
        "poll",
        "duration",
        read_duration,
        "how often a folder is looked at; or an outbox, which is then read by queries in place of a slot",
        "'1 second', and an outbox is read by a slot",
    ),
    OptionKind(
        "url",
        "address like '${SHOP_DB}'",
        read_name,
        "the database; it may name variables of the environment, and a password is always in one",
        "required with 'postgres' and 'mysql'",
    ),
    OptionKind(
        "table",
        "name",
        read_name,
        "the table of the database, 'public.customers'",
        "required with 'postgres' and 'mysql'",
    ),
    OptionKind(
        "outbox",
        "type of aggregates",
        read_name,
        "a stream takes in the events of such aggregates from the table, which is an outbox",
        "required for a stream with 'postgres'",
    ),
    OptionKind(
        "slot",
        "name of lower-case letters, digits and '_'",
        read_slot,
        "where PostgreSQL keeps for us what we have not read; the tables of a slot are read together",
        "'headwater_' and the name of the project",
    ),
    OptionKind(
        "publication", "name", read_name, "the tables whose changes PostgreSQL gives to the slot", "that of the slot"
    ),
    OptionKind(
        "columns",
        "'evolve', 'ignore' or 'stop'",
        one_of("evolve", "ignore", "stop"),
        "what to do about columns that a table of a database has otherwise than declared: follow it, and stop at one "
        "that is gone; take that for NULL; or stop at one that is added or has got another type as well",
        "'evolve'",
    ),
    OptionKind(
        "registry",
        "address",
        read_name,
        "the schema registry that Avro, Protobuf and JSON Schema are read with",
        "that of the cluster, else the project's own",
    ),
    OptionKind("envelope", "'debezium'", one_of("debezium"), "what a row comes in", "nothing: the message is the row"),
    OptionKind("fields", "columns", read_names, "the fields of a record of CSV, in their order", "all columns"),
    OptionKind("delimiter", "character", read_delimiter, "what stands between the fields of CSV", "','"),
    OptionKind(
        "start",
        "'earliest', 'latest', instant, or offsets like '0:42, 1:17'",
        read_start,
        "where the first run begins; later ones go on from where the log is",
        "'earliest'",
    ),
    OptionKind(
        "gaps",
        "'stop' or 'skip', of PostgreSQL 'stop' or 'snapshot'",
        one_of("stop", "skip", "snapshot"),
        "what to do about offsets, files or changes that are gone before they were read; skipped ones become a dead "
        "letter, and a new snapshot tells what has changed",
        "'stop'",
    ),
    OptionKind(
        "commit_every",
        "duration",
        read_duration,
        "how long a message may wait for others to share its commit",
        "'500 milliseconds'",
    ),
    OptionKind(
        "max_dead",
        "share like '50%', or 'none'",
        read_share,
        "if more than this share of a minute's messages can't be read, the intake pauses",
        "'50%'",
    ),
    OptionKind("dead_topic", "name", read_name, "a topic of Kafka that gets a copy of each dead letter"),
    OptionKind(
        "message_value", "column", read_name, "a STRING or BINARY that takes the value of each message as it is"
    ),
    OptionKind(
        "message_key",
        "column",
        read_name,
        "a STRING or BINARY that takes the key of each message, or the id of the aggregate of an outbox's event",
    ),
    OptionKind(
        "message_id",
        "column",
        read_name,
        "a STRING that takes the id of an outbox's event, which is then what identifies it",
        "required with 'outbox'",
    ),
    OptionKind("message_type", "column", read_name, "a STRING that takes the type of an outbox's event"),
    OptionKind(
        "message_time",
        "column",
        read_name,
        "a TIMESTAMP that takes Kafka's time of each message, or the time of the commit in PostgreSQL; of an outbox "
        "that is read by queries, the time at which its row was written",
    ),
    OptionKind(
        "transaction", "column", read_name, "a STRING that takes the id of the transaction in PostgreSQL of each change"
    ),
    OptionKind("message_headers", "column", read_name, "a MAP<STRING, BINARY> that takes the headers of each message"),
    OptionKind(
        "version_from",
        "'header NAME', 'field NAME' or 'registry'",
        read_version_source,
        "what tells which version of the stream or table a message is of",
        "all are of today's",
    ),
    OptionKind(
        "archive",
        "path or URL",
        read_name,
        "where events of the topic are that Kafka no longer has, to be loaded first",
    ),
    OptionKind(
        "archive_format",
        "'json', 'csv', 'tsv', 'parquet', 'arrow', 'avro' or 'delta'",
        one_of("json", "csv", "tsv", "parquet", "arrow", "avro", "delta"),
        "how the archive is written",
        "what the names of its files say",
    ),
    OptionKind(
        "archive_offset",
        "two columns",
        read_names,
        "the columns of the archive that have the partition and the offset of each row",
        "reading goes on at 'start', an instant",
    ),
)
"""The options that say where a topic's events are fetched from."""
