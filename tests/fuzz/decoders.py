"""A program that decodes mutated bytes until its time is over, and says what it has seen that must not be.

    python -m tests.fuzz.decoders FORMAT,… SEED SECONDS FILE [FIRST]

Each input follows from the seed and its number alone. The number is in FILE before the input is looked at: where the
process dies, it is the one to blame, and `FIRST` begins with it again.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fastavro import parse_schema, schemaless_writer, writer

from headwater.errors import HeadwaterError
from headwater.intake import Decoded, Decoder, read_file, read_stream
from headwater.intake.kafka.avro import AvroCodec
from headwater.intake.kafka.debezium import DebeziumCodec
from headwater.intake.kafka.json_schema import JsonSchemaCodec
from headwater.intake.kafka.plain import JsonCodec
from headwater.intake.kafka.protobuf import ProtobufCodec
from headwater.intake.messages import Messages
from headwater.json_text import json_lines_of
from headwater.model import INSTANT, Column, Kafka, Stream
from headwater.schemas.written import Language, Written
from headwater.serve.streams import _lines
from tests.fuzz.mutation import mutate

BUDGET = 1024 * 1024 * 1024
"""How many bytes the process may grow by."""
LONGEST = 10.0
"""How many seconds one small input may take."""
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int32()),
        ("big", pa.int64()),
        ("x", pa.float64()),
        ("money", pa.decimal128(12, 2)),
        ("fine", pa.decimal128(38, 18)),
        ("at", INSTANT),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("ok", pa.bool_()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("x", pa.float64()), ("name", pa.string())])),
        ("prices", pa.map_(pa.string(), pa.decimal128(8, 2))),
    ]
)
STREAM = Stream(
    name="fuzzed",
    columns=tuple(Column(field.name, field.type, nullable=field.name != "id") for field in SCHEMA),
    intake=Kafka(topic="fuzzed", format="json"),
)
ROW = {
    "id": "a-1",
    "n": 7,
    "big": 2**40,
    "x": 0.5,
    "money": Decimal("12.50"),
    "fine": Decimal("0.000000000000000001"),
    "at": datetime(2024, 1, 1, 12, tzinfo=UTC),
    "local": datetime(2024, 1, 1),
    "day": date(2024, 2, 29),
    "ok": True,
    "raw": b"\x00\xff",
    "tags": ["x", None, "äöü" * 5],
    "place": {"x": 1.5, "name": "here"},
    "prices": {"eur": Decimal("1.25")},
}
FLAT = ("id", "n", "big", "x", "money", "fine", "at", "local", "day", "ok")


def table(rows: int) -> pa.Table:
    odd = dict.fromkeys(ROW) | {"id": ""}
    return pa.Table.from_pylist([ROW if number % 3 else odd for number in range(rows)], SCHEMA)


def arrow(found: pa.Table, compression: str | None = None, *, as_file: bool = False) -> bytes:
    held = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_file if as_file else pa.ipc.new_stream
    with make(held, found.schema, options=options) as stream:
        stream.write_table(found, max_chunksize=20)
    written: bytes = held.getvalue().to_pybytes()
    return written


def arrows(*, as_file: bool = False) -> list[bytes]:
    plain, many = table(3), table(60)
    others = pa.table(
        {
            "id": pa.array(["a", "b", "a"]).dictionary_encode(),
            "n": pa.array([1, 2, 3], pa.uint8()),
            "money": pa.array([Decimal("1.5"), None, Decimal("2")], pa.decimal256(50, 4)),
            "raw": pa.array([b"12", b"34", b"56"], pa.binary(2)),
            "tags": pa.array([["a"], [], None], pa.large_list(pa.large_string())),
            "at": pa.array([1, 2, None], pa.timestamp("ns")),
            "day": pa.array([0, 86_400_000, None], pa.date64()),
            "x": pa.array([0.5, 1, 2], pa.float16()),
        }
    )
    views = pa.table(
        {
            "id": pa.array(["a" * 30, "b", None], pa.string_view()),
            "raw": pa.array([b"x" * 20, None, b""], pa.binary_view()),
            "n": pa.RunEndEncodedArray.from_arrays([2, 3], [7, 8]),
            "place": pa.array([{"name": "x"}, None, {"name": "y" * 40}]),
            "big": pa.nulls(3),
        }
    )
    large = pa.table(
        {"id": pa.array(["a", "ä", None], pa.large_string()), "raw": pa.array([b"x", None, b""], pa.large_binary())}
    )
    found = [plain, many, others, views, large]
    return [arrow(one, compression, as_file=as_file) for one in found for compression in (None, "zstd", "lz4")]


class Known:
    """The schemas that messages name."""

    def __init__(self, *texts: str) -> None:
        self._texts = dict(enumerate(texts, 1))

    def schema(self, number: int, language: Language) -> Written | None:
        """The schema of a number."""
        return Written(language, self._texts[number]) if number in self._texts else None

    def version_of(self, number: int, subject: str) -> int | None:
        """None: they are versions of nothing."""
        return None


AVRO = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": ["null", "int"]},
        {"name": "x", "type": "double"},
        {"name": "money", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {
            "name": "prices",
            "type": {"type": "map", "values": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        },
        {
            "name": "place",
            "type": ["null", {"type": "record", "name": "p", "fields": [{"name": "x", "type": "double"}]}],
        },
    ],
}
AVRO_ROW = {
    "id": "a",
    "n": None,
    "x": 0.5,
    "money": Decimal("12.50"),
    "at": ROW["at"],
    "tags": ["x", "y"],
    "day": ROW["day"],
    "prices": {"eur": Decimal("1.25")},
    "place": {"x": 1.0},
}
PROTOBUF = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message R { string id = 1; int32 n = 2; repeated string tags = 3; map<string, string> prices = 4; R inner = 5;
  google.protobuf.Timestamp at = 6; double x = 7; bytes raw = 8; }
"""
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}})


def framed(*bodies: bytes) -> list[bytes]:
    return [b"\0\0\0\0\1" + body for body in bodies]


def avros() -> list[bytes]:
    bodies = []
    for row in (AVRO_ROW, AVRO_ROW | {"n": 7, "place": None, "tags": []}):
        body = io.BytesIO()
        schemaless_writer(body, parse_schema(AVRO), row)
        bodies.append(body.getvalue())
    return framed(*bodies)


def avro_files() -> list[bytes]:
    found = []
    for codec in ("null", "deflate"):
        body = io.BytesIO()
        writer(body, parse_schema(AVRO), [AVRO_ROW] * 3, codec)
        found.append(body.getvalue())
    return found


def parquets() -> list[bytes]:
    found = []
    for options in (
        {"compression": "none"},
        {"compression": "snappy"},
        {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 10},
        {"compression": "none", "use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}},
        {"compression": "lz4", "data_page_size": 10},
    ):
        body = io.BytesIO()
        pq.write_table(table(30), body, **options)
        found.append(body.getvalue())
    return found


def protobufs() -> list[bytes]:
    flat = (
        b"\x0a\x03a-1\x10\x07\x1a\x01x\x22\x08\x0a\x03eur\x12\x011\x32\x04\x08\x01\x10\x02\x39"
        + b"\0" * 8
        + b"\x42\x01z"
    )
    nested = flat
    for _ in range(5):
        nested = b"\x2a" + bytes([len(nested)]) + nested if len(nested) < 128 else nested
    return framed(b"\0" + flat, b"\0" + nested, b"\x02\x00" + flat)


def csvs() -> list[bytes]:
    lines = (
        [",".join(FLAT)]
        + [",".join(str(ROW[name]) for name in FLAT)] * 40
        + ['"a, ""b""",,,,,,,,,', "x,1,2,3,4,5,,,2024-01-01,true"]
    )
    return ["\n".join(lines).encode(), "\r\n".join(lines[:3]).encode()]


def documents() -> list[bytes]:
    lines = json_lines_of(table(40)).splitlines()
    return [b"[" + b",\n".join(lines) + b"]", lines[1], b"[" + lines[1] + b"]"]


def changes() -> list[bytes]:
    row = json.loads(json_lines_of(table(2)).splitlines()[1])
    schema = {
        "fields": [
            {
                "field": "after",
                "fields": [
                    {"field": "at", "name": "io.debezium.time.MicroTimestamp"},
                    {"field": "money", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
                ],
            }
        ]
    }
    change: dict[str, Any] = {"op": "c", "after": row, "source": {"ts_ms": 1704110400000}}
    raw = change | {"after": row | {"at": 1704110400000000, "money": "BOI="}}
    return [json.dumps(one).encode() for one in (change, {"schema": schema, "payload": raw})]


Decode = Callable[[bytes], Decoded]
DECODER = Decoder(STREAM)


def messages(body: bytes) -> Messages:
    return Messages(pa.array([body, None, body], pa.binary()), [0, 1, 2])


def of_file(form: Any) -> Decode:
    def decode(body: bytes) -> Decoded:
        found = Decoded(DECODER.schema.empty_table(), pa.table({}))
        source = pa.BufferReader(body) if form in ("parquet", "arrow") else io.BytesIO(body)
        for chunk in read_file(source, form):
            found = DECODER.decode(chunk)
        return found

    return decode


FORMATS: dict[str, tuple[Callable[[], Sequence[bytes]], Decode, bool]] = {
    "arrow": (arrows, lambda body: DECODER.decode(read_stream(body)), True),
    "arrow-file": (lambda: arrows(as_file=True), of_file("arrow"), True),
    "json": (documents, lambda body: DECODER.decode(_lines(body)), False),
    "lines": (lambda: [json_lines_of(table(50)), json_lines_of(table(3))], DECODER.decode, False),
    "csv": (csvs, of_file("csv"), False),
    "avro": (avros, lambda body: DECODER.decode(AvroCodec(Known(json.dumps(AVRO)), {}).read(messages(body))), True),
    "avro-file": (avro_files, of_file("avro"), True),
    "parquet": (parquets, of_file("parquet"), True),
    "protobuf": (
        protobufs,
        lambda body: DECODER.decode(ProtobufCodec(Known(PROTOBUF), None).read(messages(body))),
        True,
    ),
    "json-schema": (
        lambda: framed(*json_lines_of(table(3)).splitlines()),
        lambda body: DECODER.decode(JsonSchemaCodec(Known(JSON_SCHEMA)).read(messages(body))),
        False,
    ),
    "debezium": (changes, lambda body: DECODER.decode(DebeziumCodec(STREAM, JsonCodec()).read(messages(body))), False),
}


def look(decode: Decode, body: bytes) -> str | None:
    """What is wrong with how an input was taken; None if nothing is."""
    began = time.monotonic()
    try:
        decoded = decode(body)
        decoded.rows.validate(full=True)
        decoded.dead.validate(full=True)
    except HeadwaterError:
        pass
    except BaseException:
        return traceback.format_exc()
    took = time.monotonic() - began
    return f"it took {took:.1f} s" if took > LONGEST else None


def fuzz(form: str, seed: str, seconds: float, file: Path, number: int) -> str | None:
    """What was wrong with one of the inputs of a format, from a number on; None if nothing was while there was time."""
    make, decode, binary = FORMATS[form]
    corpus = make()
    for body in corpus:
        problem = look(decode, body)
        if problem or not decode(body).rows.num_rows:
            return f"a valid input is not taken: {problem}"
    before, until = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic() + seconds
    while time.monotonic() < until:
        body = mutate(Random(f"{seed}:{number}"), corpus, binary=binary)
        file.write_text(f"{form} {number}")
        problem = look(decode, body)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if problem or grown > BUDGET:
            return f"input {number} of seed {seed}: {problem or f'the process grew by {grown:,} bytes'}"
        number += 1
    print(f"{form}: {number} inputs")
    return None


def main() -> int:
    """Look at inputs of each format until its time is over; 1 if something was wrong with one."""
    forms, seed, seconds, file = sys.argv[1].split(","), sys.argv[2], float(sys.argv[3]), Path(sys.argv[4])
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    for form in forms:
        problem = fuzz(form, seed, seconds, file, first)
        if problem:
            print(f"{form}: {problem}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
