"""Schemas that messages are written with: Avro, JSON Schema and Protobuf, as a registry keeps them."""
