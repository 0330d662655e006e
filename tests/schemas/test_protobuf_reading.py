"""The rules for Protobuf, and that a descriptor printed as text is read as the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from headwater.schemas.proto_print import print_proto
from headwater.schemas.proto_text import parse_proto
from headwater.schemas.protobuf_reading import protobuf_problems
from headwater.schemas.written import Written

GOLDEN = Path(__file__).parents[1] / "intake" / "kafka" / "golden" / "protoc.binpb"


def a(fields: str = "", more: str = "", syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; {more} message A {{ {fields} }}'


def problems(reader: str, writer: str) -> list[str]:
    return protobuf_problems(Written("PROTOBUF", reader), Written("PROTOBUF", writer))


OTHERS = "message B {} message C {}"


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (a("string x = 1;"), a(), []),
        (a(), a("string x = 1;"), []),
        (a("string y = 1;"), a("string x = 1;"), []),
        (a("int64 x = 1;"), a("int32 x = 1;"), []),
        (a("bytes x = 1;"), a("string x = 1;"), []),
        (a("E x = 1;", "enum E { Z = 0; }"), a("int32 x = 1;"), []),
        (a("sint32 x = 1;"), a("int32 x = 1;"), ["A.x (number 1) is int32, which can't be read as sint32"]),
        (a("string x = 1;"), a("int32 x = 1;"), ["A.x (number 1) is int32, which can't be read as string"]),
        (a("repeated int32 x = 1;"), a("int32 x = 1;"), ["A.x (number 1) is repeated on one side only"]),
        (a("repeated string x = 1;"), a("string x = 1;"), []),
        (a(), a(more="message B {}"), ['message "B" is gone']),
        (a(), a("message B {}"), ['message "A.B" is gone']),
        (a("B x = 1;", OTHERS), a("C x = 1;", OTHERS), ['A.x (number 1) is a "C", which can\'t be read as a "B"']),
        (
            a("map<string, string> m = 1;"),
            a("map<string, int32> m = 1;"),
            ["A.MEntry.value (number 2) is int32, which can't be read as string"],
        ),
        (
            a("oneof o { int32 x = 1; } int32 y = 2;"),
            a("oneof o { int32 x = 1; int32 y = 2; }"),
            ["A.y (number 2) has left the oneof o"],
        ),
        (
            a("oneof o { int32 x = 1; int32 y = 2; }"),
            a("int32 x = 1; int32 y = 2;"),
            ["A: x, y came into the oneof o together"],
        ),
        (a("oneof o { int32 x = 1; }"), a("int32 x = 1;"), []),
        (a("optional int32 x = 1;"), a("int32 x = 1;"), []),
        (a(more="package p;"), a(), ['the package is "", and the reader\'s is "p"']),
        (
            a("required int32 x = 1;", syntax="proto2"),
            a(syntax="proto2"),
            ["A.x (number 1) is required, and only the reader has it"],
        ),
        (a("A next = 1;"), a("A next = 1; string x = 2;"), []),
    ],
)
def test_a_number_keeps_its_meaning(reader: str, writer: str, expected: list[str]) -> None:
    assert problems(reader, writer) == expected


def test_a_descriptor_printed_is_read_as_the_same() -> None:
    files = FileDescriptorSet.FromString(GOLDEN.read_bytes()).file
    pool = DescriptorPool()
    for file in files:
        pool.Add(parse_proto(file.name, print_proto(file)))
        found = FileDescriptorProto()
        pool.FindFileByName(file.name).CopyToProto(found)
        del file.service[:]
        for each in (found, file):
            for message in each.message_type:
                message.field.sort(key=lambda field: field.number)
        assert found == file


def test_a_nested_message_keeps_its_place_behind_a_map() -> None:
    text = 'syntax = "proto3"; message A { map<string, int32> m = 1; message B {} string x = 2; }'
    file = parse_proto("a.proto", text)
    again = parse_proto("a.proto", print_proto(file))
    assert [nested.name for nested in again.message_type[0].nested_type] == ["MEntry", "B"]
