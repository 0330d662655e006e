"""Protobuf schemas: a file and those that it imports, built into descriptors that messages are read with."""

from __future__ import annotations

import base64
import binascii
import importlib
import re
from collections.abc import Iterable

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from headwater.schemas.proto_text import parse_proto
from headwater.schemas.written import Written

MAIN = "default.proto"
"""The name of a schema's own file: a registry doesn't keep its name."""
_KNOWN = {"google/": "google.", "confluent/": "confluent_kafka.schema_registry.confluent."}
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


def compile_protobuf(schema: Written) -> FileDescriptor:
    """The file that a schema is; ValueError if it, or one that it refers to, isn't Protobuf."""
    pool = DescriptorPool()
    try:
        _add(pool, MAIN, schema, set())
        return pool.FindFileByName(MAIN)
    except (TypeError, KeyError) as problem:  # what the pool raises on a file that contradicts itself
        raise ValueError(str(problem).strip("'\"")) from problem


def describe_protobuf(schema: Written) -> FileDescriptorProto:
    """The descriptor of the file that a schema is, with the names of types in full; ValueError as above."""
    file = FileDescriptorProto()
    compile_protobuf(schema).CopyToProto(file)
    return file


def file_of(name: str, text: str) -> FileDescriptorProto:
    """A file by its text, or by its descriptor in base64, which is how some clients register it."""
    if is_descriptor(text):
        try:
            file = FileDescriptorProto.FromString(base64.b64decode(text))
        except (binascii.Error, DecodeError) as problem:
            raise ValueError(f"is neither the text of a .proto file nor its descriptor: {problem}") from problem
        file.name = name
        return file
    return parse_proto(name, text)


def is_descriptor(text: str) -> bool:
    """Tells whether a schema is given by its descriptor, in base64: no .proto file has so few kinds of characters."""
    return _BASE64.fullmatch(text) is not None


def message_at(file: FileDescriptor, path: Iterable[int]) -> Descriptor:
    """The message type at this place of a file: its place among the outermost, then among those nested, and so on."""
    first, *rest = path
    message: Descriptor = list(file.message_types_by_name.values())[first]
    for index in rest:
        message = message.nested_types[index]
    return message


def _add(pool: DescriptorPool, name: str, schema: Written, added: set[str]) -> None:
    added.add(name)
    file = file_of(name, schema.text)
    references = dict(schema.references)
    for needed in file.dependency:
        if needed in added:
            continue
        if needed in references:
            _add(pool, needed, references[needed], added)
        else:
            _add_known(pool, needed, added)
    pool.Add(file)


def _add_known(pool: DescriptorPool, name: str, added: set[str]) -> None:
    """Add a file that comes with Protobuf itself, with Google's common types, or with Confluent's client."""
    added.add(name)
    file = FileDescriptorProto()
    _known_file(name).CopyToProto(file)
    for needed in file.dependency:
        if needed not in added:
            _add_known(pool, needed, added)
    pool.Add(file)


def _known_file(name: str) -> FileDescriptor:
    prefix = next((prefix for prefix in _KNOWN if name.startswith(prefix)), None)
    if prefix is not None:
        module = name.removesuffix(".proto").removeprefix(prefix).replace("/", ".")
        try:
            file: FileDescriptor = importlib.import_module(f"{_KNOWN[prefix]}{module}_pb2").DESCRIPTOR
        except ModuleNotFoundError:
            pass
        else:
            return file
    raise ValueError(f'it imports "{name}", which it doesn\'t refer to')
