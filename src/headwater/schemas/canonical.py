"""The form of a schema by which two are the same: whitespace doesn't count, nor in which form Protobuf came."""

from __future__ import annotations

import base64
import json

from headwater.schemas.written import Written


def canonical(schema: Written) -> str:
    """The canonical form of a schema; ValueError says why it is none."""
    if schema.language == "AVRO":
        from headwater.schemas.avro_reading import parse_avro

        parse_avro(schema)
        return _compact(schema.text)
    if schema.language == "JSON":
        from headwater.schemas.json_reading import parse_json_schema

        parse_json_schema(schema)
        return _compact(schema.text)
    from headwater.schemas.proto_print import print_proto
    from headwater.schemas.protobuf import describe_protobuf

    return print_proto(describe_protobuf(schema))


def readable(schema: Written) -> str:
    """The text of a schema; that of a Protobuf file also if it was given by its descriptor."""
    if schema.language != "PROTOBUF":
        return schema.text
    from headwater.schemas.protobuf import is_descriptor

    return canonical(schema) if is_descriptor(schema.text) else schema.text


def serialized(schema: Written) -> str:
    """The descriptor of a Protobuf file in base64, with the names of types in full."""
    from headwater.schemas.protobuf import describe_protobuf

    return base64.b64encode(describe_protobuf(schema).SerializeToString()).decode()


def _compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
